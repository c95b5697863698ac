//! The operator: one call that runs all controllers until it is asked to stop.

use crate::admission::{self, Keeper, Reviewers};
use crate::controller::AnyController;
use crate::deployment::{self, Conversion};
use crate::job;
use crate::links::{self, DigestKey};
use crate::secret::{self, Signer};
use crate::slots::Slots;
use crate::stateful_set;
use boson_cluster::client::{Cluster, FieldManager, Served, recorded};
use boson_cluster::lease::{self, Election, End};
use boson_cluster::metrics::Metrics;
use boson_cluster::namespaces::{Namespaces, Scope};
use boson_cluster::reconcile::Running;
use boson_cluster::serving::{self, Health, State};
use boson_pipeline::bundle::kinds::Kind;
use boson_plugins::{Loader, PluginPolicy, Plugins, history};
use futures::future::{OptionFuture, join};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Who owns the pages of recorded events.
const EVENTS_MANAGER: FieldManager = FieldManager("boson-events");

/// How to run.
#[derive(Clone)]
pub struct Config {
    /// The namespaces to serve.
    pub namespaces: Namespaces,
    /// The election of the process that works.
    pub election: Election,
    /// Address of `/live`, `/ready` and `/metrics`; none: they are not served.
    pub address: Option<SocketAddr>,
    /// How many objects one controller reconciles at a time.
    pub concurrency: u16,
    /// How many keys for certificates are generated in advance, so that a first deployment does not wait for them.
    pub spare_keys: usize,
    /// Which plugins from ConfigMaps are used.
    pub plugins: PluginPolicy,
    /// How manifests are converted.
    pub conversion: Conversion,
    /// Name of the CertificateSigningRequest signer for certificates with `signerType: cluster`; it may be
    /// [`crate::OWN_SIGNER`]. None: such certificates are refused, and the operator needs no permission for requests.
    pub signer: Option<String>,
    /// The metrics of the process, which `plugin_host` updates, too.
    pub metrics: Arc<Metrics>,
    /// Settings of the webhooks; none: there are no webhooks.
    pub admission: Option<admission::Settings>,
}

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The operator cannot listen at an address, for health and metrics or for reviews.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Another process holds the lease now. Restart, and wait for the lease.
    #[error("the lease was lost")]
    LeaseLost,
    /// An allowed kind has objects in no namespace: a plugin must not create such objects.
    #[error("--allow-kind {0}: objects of this kind are in no namespace, so a deployment cannot own them")]
    ClusterScoped(Kind),
}

/// Runs until `stop`, and then finishes the reconciles in progress. `client`: from [`boson_cluster::client::connect`],
/// because it must not retry calls.
///
/// # Guarantees
/// Afterwards nothing is written any more, and the lease is released.
///
/// # Errors
/// See [`RunError`]. It is no error if the cluster is unavailable or has no custom resource definitions yet: the
/// operator waits for them.
pub async fn run(
    client: kube::Client,
    config: Config,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), RunError> {
    let metrics = config.metrics.clone();
    let health = Health::default();
    // Without any part, health would count as ready.
    health.set(lease::PART, State::Starting);
    let serving = serve(&config, &health, &metrics).await?;
    let cluster = Cluster::new(client, metrics.clone()).with_kinds(config.conversion.permissions.kinds());
    check_kinds(&cluster).await?;
    let plugins = Plugins::new(&config.election.namespace, config.plugins);
    let key = DigestKey::default();
    let review = review(&config, &cluster, &plugins, &key, &health).await?;
    let (keeper, reviewing) = review.unzip();
    let (asked, stopping) = watch::channel(false);
    let asking = tokio::spawn(async move {
        stop.await;
        asked.send_replace(true);
        asked.closed().await;
    });
    let scope = Scope::new(&config.namespaces);
    let running = Running::new(config.concurrency, &cluster, health.clone(), scope.clone(), stopping);
    let work = || async {
        let controlling = controllers(&config, cluster.clone(), scope.clone(), running.clone(), &plugins, &key);
        let keeping = OptionFuture::from(keeper.as_ref().map(Keeper::run));
        let beside = async {
            tokio::select! {
                _ = join(keeping, history::keep(&plugins, &cluster)) => {}
                () = running.stopped() => {}
            }
        };
        let all = async {
            futures::join!(controlling, beside);
        };
        recorded::keep(&cluster, EVENTS_MANAGER, all).await;
    };
    let end = tokio::select! {
        end = config.election.lead(&cluster, &health, running.stopped(), work) => end,
        never = follow_namespaces_and_plugins(&config, &cluster, &scope, &plugins, &health) => match never {},
    };
    for task in serving.into_iter().chain(reviewing).chain([asking]) {
        task.abort();
    }
    match end {
        End::Done => Ok(()),
        End::Lost => Err(RunError::LeaseLost),
    }
}

/// Checks the kinds that an administrator allows in addition, as far as their definitions exist. The operator waits for
/// the others.
async fn check_kinds(cluster: &Cluster) -> Result<(), RunError> {
    let asked = cluster.additional_kinds().iter();
    let asked = asked.map(|kind| async move { (kind, cluster.served(kind).await) });
    for (kind, served) in futures::future::join_all(asked).await {
        match served {
            Ok(Served::ClusterScoped) => return Err(RunError::ClusterScoped(*kind)),
            Ok(Served::OtherPlural(plural)) => {
                tracing::warn!(%kind, plural, "the plural of this kind differs: set it in --allow-kind");
            }
            Ok(Served::No) => tracing::warn!(%kind, "the API server does not know this kind yet"),
            Ok(Served::Namespaced) => {}
            Err(error) => tracing::warn!(%kind, %error, "cannot check this kind"),
        }
    }
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, RunError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| RunError::Listen(address, error))
}

/// Starts to serve health and metrics, if configured.
async fn serve(config: &Config, health: &Health, metrics: &Arc<Metrics>) -> Result<Option<JoinHandle<()>>, RunError> {
    let Some(address) = config.address else {
        return Ok(None);
    };
    let listener = listen(address).await?;
    let serving = serving::serve(listener, health.clone(), metrics.clone());
    Ok(Some(tokio::spawn(serving)))
}

/// Follows the namespaces and loads plugins. Every process does, leader or not, because each answers reviews.
async fn follow_namespaces_and_plugins(
    config: &Config,
    cluster: &Cluster,
    scope: &Scope,
    plugins: &Plugins,
    health: &Health,
) -> Infallible {
    let loader = Loader {
        cluster,
        components: &config.conversion.components,
        host: &config.conversion.plugin_host,
    };
    let permissions = &config.conversion.permissions;
    let loading = plugins.run(loader, &config.namespaces, scope, health, permissions);
    match &config.namespaces {
        Namespaces::Fixed(_) => loading.await,
        Namespaces::Monitored(id) => {
            futures::join!(loading, scope.follow(cluster, id, health));
        }
    }
    std::future::pending().await
}

/// Starts the webhooks, if configured. `key`: see [`links`].
async fn review(
    config: &Config,
    cluster: &Cluster,
    plugins: &Plugins,
    key: &DigestKey,
    health: &Health,
) -> Result<Option<(Keeper, JoinHandle<()>)>, RunError> {
    let Some(settings) = config.admission.clone() else {
        return Ok(None);
    };
    let listener = listen(settings.listen).await?;
    let served = config.namespaces.clone();
    let (conversion, me) = (config.conversion.clone(), &config.election.me);
    let (scope, slots) = (Scope::new(&served), slots(config));
    let context = deployment::Context::new(cluster.clone(), scope, conversion, plugins.clone(), slots, me);
    let reviewers = Reviewers::new(context, served.clone(), key.clone(), settings.links);
    let keeper = Keeper::new(cluster.clone(), settings, served, &config.election.namespace);
    let serving = admission::serve(listener, keeper.clone(), Arc::new(reviewers), health.clone());
    Ok(Some((keeper, tokio::spawn(serving))))
}

async fn controllers(
    config: &Config,
    cluster: Cluster,
    scope: Scope,
    running: Running,
    plugins: &Plugins,
    key: &DigestKey,
) {
    let me = &config.election.me;
    let conversion = config.conversion.clone();
    let (image, keep_versions) = (conversion.operator_image.clone(), conversion.keep_versions);
    let signer = Signer {
        name: config.signer.clone(),
        namespace: config.election.namespace.clone(),
        cluster_domain: conversion.cluster_domain.clone(),
    };
    let (of, scope) = (|| cluster.clone(), || scope.clone());
    let deployments = deployment::Context::new(of(), scope(), conversion, plugins.clone(), slots(config), me);
    let mut controllers: Vec<Arc<dyn AnyController>> = vec![
        Arc::new(deployments),
        job::controller(of(), image.clone(), keep_versions, me),
        secret::controller(of(), signer, config.spare_keys, me),
        secret::rotation_controller(of(), me),
        stateful_set::controller(of(), scope(), image, me),
    ];
    if config.admission.as_ref().is_some_and(|admission| admission.links) {
        controllers.push(links::controller(of(), scope(), key.clone(), me));
    }
    let namespaces: Vec<Option<String>> = match &config.namespaces {
        Namespaces::Fixed(names) => names.iter().cloned().map(Some).collect(),
        Namespaces::Monitored(_) => vec![None],
    };
    let each = namespaces.iter().flat_map(|namespace| {
        let of_namespace = |one: &Arc<dyn AnyController>| one.clone().run(running.clone(), namespace.clone());
        controllers.iter().map(of_namespace)
    });
    futures::future::join_all(each).await;
}

/// The slots for conversions: few, because each may hold the memory of a conversion and keeps a core busy.
fn slots(config: &Config) -> Slots {
    let at_a_time = |most: u16| usize::from(config.concurrency.clamp(1, most));
    match &config.namespaces {
        Namespaces::Fixed(names) if names.len() == 1 => Slots::of_one(at_a_time(2)),
        _ => Slots::shared(at_a_time(4)),
    }
}
