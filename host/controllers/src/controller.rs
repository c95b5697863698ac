//! The parts of a controller, and the driver that calls them in their order. The compiler checks that every controller
//! has them, and that those without `self` are pure: they get no client and nothing to await.

use boson_cluster::client::{Error, Events, Identity, Kind, Notice};
use boson_cluster::namespaces::Scope;
use boson_cluster::reconcile::Running;
use boson_cluster::reconcile::watches::{Queue, Requeued};
use futures::future::BoxFuture;
use futures::stream::Stream;
use futures::{FutureExt, StreamExt};
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::runtime::controller::Action;
use kube::runtime::reflector::Store;
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// A controller of one kind of objects. A reconcile has one or more passes, each through all parts.
pub(crate) trait Controller: Send + Sync + Sized + 'static {
    /// In logs, metrics and health.
    const NAME: &'static str;
    /// Most objects that are reconciled at a time.
    const MAX_CONCURRENCY: u16 = u16::MAX;
    /// Most passes of one reconcile.
    const MAX_PASSES: usize = 1;
    /// Whether the object is read before each pass. Otherwise it is taken as the watch has it.
    const READS_OBJECT: bool = false;
    /// After a lost race.
    const CONFLICT_RETRY_DELAY: Duration = Duration::from_millis(200);

    type Object: Kind + Send + Sync + 'static;
    /// The state of the cluster that the plan depends on.
    type Observed: Send + Sync;
    /// What else must be observed before there is a plan; [`std::convert::Infallible`]: never anything.
    type Need: Send;
    type Plan: Send;
    /// What the status depends on.
    type Outcome: Send;
    /// `()`: the controller writes none.
    type Status: Serialize + Send + Sync;

    fn events(&self) -> &Events;

    /// Requeues the objects that a change concerns.
    fn watch(self: &Arc<Self>, namespace: &Option<String>) -> Watched<Self::Object>;

    /// Reads what the plan depends on. Breaks if there is nothing to do for the object now.
    fn observe(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = Result<ControlFlow<Action, Self::Observed>, Error>> + Send;

    /// Adds what the plan needs.
    fn complete(
        &self,
        _: &Self::Object,
        _: &mut Self::Observed,
        _: Self::Need,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// Decides what to do.
    ///
    /// # Errors
    /// A defect.
    fn plan(object: &Self::Object, observed: &Self::Observed, now: Timestamp) -> Result<Planned<Self>, Error>;

    /// Carries out the plan, in its order.
    fn act(
        &self,
        object: &Arc<Self::Object>,
        observed: Self::Observed,
        plan: Self::Plan,
    ) -> impl Future<Output = Result<Self::Outcome, Error>> + Send;

    /// What to report about the object, and how the reconcile goes on.
    fn status(object: &Self::Object, outcome: Self::Outcome, now: Timestamp) -> Report<Self>;

    /// Writes the status.
    #[expect(clippy::disallowed_methods, reason = "the driver calls it")]
    fn write_status(
        &self,
        object: &Self::Object,
        status: &Self::Status,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        async move {
            let events = self.events();
            let written = events.cluster().set_status(events.controller(), object, status);
            written.await.map(drop)
        }
    }

    /// A reconcile failed, and is retried.
    fn failed(&self, _: &Self::Object, _: &Error) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// The operator does not serve the namespace of the object.
    fn unserved(&self, _: &Self::Object) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// The object is deleted.
    fn forget(&self, _namespace: &str, _name: &str) {}
}

/// The watches of a controller.
pub(crate) struct Watched<K: Kind + 'static> {
    queue: Queue<K>,
    /// What else the controller does while it runs; it never ends.
    beside: BoxFuture<'static, ()>,
}

/// The result of [`Controller::plan`].
pub(crate) enum Planned<C: Controller> {
    Act(C::Plan),
    Observe(C::Need),
}

/// The result of [`Controller::status`].
pub(crate) struct Report<C: Controller> {
    /// To emit before the status is written, which tells that they were.
    pub events_before: Vec<Notice>,
    pub status: Option<C::Status>,
    /// To emit once the status is written.
    pub events_after: Vec<Notice>,
    pub next: Next<C::Object>,
}

/// How a reconcile goes on after a pass.
pub(crate) enum Next<K> {
    /// With another pass, of the object as it was read since.
    Pass(Option<Arc<K>>),
    Wait(Action),
    Fail(Error),
}

/// A controller of any kind of objects.
pub(crate) trait AnyController: Send + Sync {
    /// Runs until the operator ends, for one namespace or for all.
    fn run(self: Arc<Self>, running: Running, namespace: Option<String>) -> BoxFuture<'static, ()>;
}

// === impl Watched ===

impl<K: Kind + 'static> Watched<K> {
    pub fn new(store: Store<K>, queue: impl Stream<Item = Requeued<K>> + Send + 'static) -> Self {
        let requeued = queue.boxed();
        Self {
            queue: Queue { store, requeued },
            beside: std::future::pending().boxed(),
        }
    }

    /// Also does this, which never ends.
    pub fn beside(mut self, work: impl Future<Output = ()> + Send + 'static) -> Self {
        self.beside = work.boxed();
        self
    }
}

// === impl Report ===

impl<C: Controller> Report<C> {
    /// Only how the reconcile goes on.
    pub fn next(next: Next<C::Object>) -> Self {
        Self {
            events_before: Vec::new(),
            status: None,
            events_after: Vec::new(),
            next,
        }
    }

    /// Emits the events, and writes the status. An event that is lost has no effect.
    #[expect(clippy::disallowed_methods, reason = "the driver calls it")]
    pub async fn publish(self, controller: &C, object: &C::Object) -> Result<Next<C::Object>, Error> {
        controller.events().emit_all(object, &self.events_before).await;
        if let Some(status) = &self.status {
            controller.write_status(object, status).await?;
        }
        controller.events().emit_all(object, &self.events_after).await;
        Ok(self.next)
    }
}

// === impl AnyController ===

impl<C: Controller> AnyController for C {
    fn run(self: Arc<Self>, mut running: Running, namespace: Option<String>) -> BoxFuture<'static, ()> {
        running.concurrency = running.concurrency.min(C::MAX_CONCURRENCY);
        let work = async move {
            let Watched { queue, beside } = self.watch(&namespace);
            let (controller, scope) = (self.clone(), running.scope.clone());
            let reconcile = move |object| {
                let (controller, scope) = (controller.clone(), scope.clone());
                async move { reconcile(&*controller, &scope, object).await }
            };
            let forget = |namespace: &str, name: &str| self.forget(namespace, name);
            tokio::select! {
                () = running.drive_queue(C::NAME, &namespace, queue, reconcile, forget) => {}
                () = beside => {}
            }
        };
        work.boxed()
    }
}

/// Reconciles one object. It comes from a watch, so it may be outdated.
async fn reconcile<C: Controller>(controller: &C, scope: &Scope, object: Arc<C::Object>) -> Result<Action, Error> {
    // What a deleted object owns is deleted by Kubernetes.
    if object.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    if !scope.holds(Identity::of(&*object)?.namespace) {
        controller.unserved(&object).await?;
        return Ok(Action::await_change());
    }
    let done = passes(controller, object.clone()).await;
    if let Err(error) = &done {
        controller.failed(&object, error).await;
    }
    match done {
        // An object changed after it was read; the next reconcile decides from its new state.
        Err(error) if error.is_race() => {
            tracing::debug!(%error, "lost a race");
            Ok(Action::requeue(C::CONFLICT_RETRY_DELAY))
        }
        done => done,
    }
}

#[expect(clippy::disallowed_methods, reason = "plans and statuses get the time from here")]
async fn passes<C: Controller>(controller: &C, mut object: Arc<C::Object>) -> Result<Action, Error> {
    for _ in 0..C::MAX_PASSES {
        if C::READS_OBJECT {
            let Identity { namespace, name, .. } = Identity::of(&*object)?;
            let read: Option<C::Object> = controller.events().cluster().get(namespace, name).await?;
            match read.filter(|read| read.meta().deletion_timestamp.is_none()) {
                Some(read) => object = Arc::new(read),
                None => return Ok(Action::await_change()),
            }
        }
        let mut observed = match controller.observe(&object).await? {
            ControlFlow::Continue(observed) => observed,
            ControlFlow::Break(action) => return Ok(action),
        };
        let plan = loop {
            match C::plan(&object, &observed, Timestamp::now())? {
                Planned::Act(plan) => break plan,
                Planned::Observe(need) => controller.complete(&object, &mut observed, need).await?,
            }
        };
        let outcome = controller.act(&object, observed, plan).await?;
        let report = C::status(&object, outcome, Timestamp::now());
        match report.publish(controller, &object).await? {
            Next::Pass(read) => object = read.unwrap_or(object),
            Next::Wait(action) => return Ok(action),
            Next::Fail(error) => return Err(error),
        }
    }
    Ok(Action::requeue(C::CONFLICT_RETRY_DELAY))
}
