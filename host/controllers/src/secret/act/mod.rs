//! Carries out the plan: the only module that writes, and the only one with randomness.
//!
//! # Guarantees
//! No value is overwritten that was not read: a new Secret is created, never applied, and a replaced one must still be
//! the version that was planned for. After a lost race it is read again.

mod certify;

use super::plan::copies::CopyStep;
use super::plan::draft::{Draft, Value};
use super::plan::{Plan, Step};
use super::stored::{desired, marks};
use super::value::generate::{generated, text};
use super::value::image;
use super::value::keys::{KEY_GENERATION_DELAY, Keys};
use super::value::recipe::Recipe;
use super::{ActError, Context, MANAGER, position, status};
use crate::controller::Next;
use boson_api::{BoshDeployment, QuarksSecret, word};
use boson_cluster::client::{Cluster, Error, Identity};
use boson_cluster::metrics::Generated;
use boson_credentials::System;
use boson_document::Tree;
use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::{PartialObjectMeta, PartialObjectMetaExt};
use kube::runtime::controller::Action;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::SystemTime;

/// Carries out the plan. The QuarksSecret comes from a cache, so it is read again before anything is written. Returns
/// the plan if it has nothing left to write.
///
/// # Errors
/// See [`Error`].
pub(super) async fn act(
    context: &Context,
    object: &Arc<QuarksSecret>,
    plan: Plan,
) -> Result<ControlFlow<Next<QuarksSecret>, Plan>, Error> {
    let Identity { namespace, name, .. } = Identity::of(&**object)?;
    let writes = plan.step != Step::Keep || !plan.copies.is_empty();
    if writes || status::status(object, &plan, SystemTime::now()).is_some() {
        let Some(fresh) = context.cluster.get::<QuarksSecret>(namespace, name).await? else {
            return Ok(ControlFlow::Break(Next::Wait(Action::await_change())));
        };
        if fresh.metadata.resource_version != object.metadata.resource_version {
            return Ok(ControlFlow::Break(Next::Pass(Some(Arc::new(fresh)))));
        }
    }
    let plan = match write(context, object, &plan).await {
        Ok(()) if writes => return Ok(ControlFlow::Break(Next::Pass(None))),
        Ok(()) => plan,
        Err(ActError::Api(error)) => return Err(error),
        Err(ActError::Request(message)) => refused_plan(&plan, object, &message),
    };
    if let Some(notice) = status::generated_again_notice(object, &plan) {
        let notice = [notice];
        context.events.emit_all(&**object, &notice).await;
        if let Some(deployment) = deployment(object) {
            context.events.emit_all(&deployment, &notice).await;
        }
    }
    context.note_end(namespace, name, plan.not_after);
    Ok(ControlFlow::Continue(plan))
}

/// The BOSHDeployment of a QuarksSecret, as the subject of an event.
fn deployment(object: &QuarksSecret) -> Option<PartialObjectMeta<BoshDeployment>> {
    let owners = object.metadata.owner_references.iter().flatten();
    let kind = BoshDeployment::kind(&());
    let owner = owners.into_iter().find(|owner| owner.kind == kind)?;
    let meta = ObjectMeta {
        name: Some(owner.name.clone()),
        namespace: object.metadata.namespace.clone(),
        uid: Some(owner.uid.clone()),
        ..ObjectMeta::default()
    };
    Some(meta.into_response_partial())
}

/// The plan after its value could not be generated.
fn refused_plan(plan: &Plan, object: &QuarksSecret, message: &str) -> Plan {
    let generated = !matches!(plan.step, Step::Create(_));
    let message = format!("cannot create Secret '{}': {message}", object.spec.secret_name);
    Plan::blocked("BadRequest", message, generated)
}

/// Takes the steps of the plan. If there are any, the caller must observe again.
async fn write(context: &Context, object: &Arc<QuarksSecret>, plan: &Plan) -> Result<(), ActError> {
    let (cluster, keys) = (&context.cluster, &context.keys);
    match &plan.step {
        Step::Keep => {}
        Step::Mark(secret) | Step::Edit(secret) => drop(cluster.replace(MANAGER, secret.as_ref()).await?),
        Step::Prior(prior) => certify::act(cluster, &context.signer, object, prior).await?,
        Step::Create(draft) => {
            let mut made = make_secret(keys, object, draft).await?;
            if was_generated(object) {
                let annotations = made.metadata.annotations.get_or_insert_default();
                annotations.insert(marks::GENERATED_AGAIN.into(), "true".into());
            }
            create(cluster, &made, draft, object).await?;
        }
        Step::Replace(draft, old) | Step::Begin(draft, old) => {
            let made = make_secret(keys, object, draft).await?;
            let next = match &plan.step {
                Step::Begin(..) => position::begin(object, old, &made, &draft.marks),
                _ => desired::replaced_secret(object, old, made, &draft.marks),
            };
            cluster.replace(MANAGER, &next.map_err(ActError::Request)?).await?;
            count_generated(cluster, draft, object);
        }
        Step::Recreate(draft, old) => {
            // Create before delete, so that a request that cannot be met changes nothing.
            let made = make_secret(keys, object, draft).await?;
            cluster.delete(old.as_ref()).await?;
            create(cluster, &made, draft, object).await?;
        }
    }
    for step in &plan.copies {
        match step {
            CopyStep::Create(copy) => drop(cluster.create(MANAGER, copy.as_ref()).await?),
            CopyStep::Replace(copy) => drop(cluster.replace(MANAGER, copy.as_ref()).await?),
        }
    }
    Ok(())
}

/// Whether a Secret existed before, and was deleted.
fn was_generated(object: &QuarksSecret) -> bool {
    object.status.as_ref().and_then(|status| status.generated) == Some(true)
}

/// The Secret may exist by now, from another operator or from an earlier try whose answer was lost: the next reconcile
/// finds it.
async fn create(cluster: &Cluster, made: &Secret, draft: &Draft, object: &QuarksSecret) -> Result<(), ActError> {
    if cluster.create(MANAGER, made).await?.is_some() {
        count_generated(cluster, draft, object);
    }
    Ok(())
}

fn count_generated(cluster: &Cluster, draft: &Draft, object: &QuarksSecret) {
    let label = Generated {
        kind: word(object.spec.kind),
        cause: word(draft.cause),
    };
    cluster.metrics().generated.get_or_create(&label).inc();
    tracing::info!(kind = label.kind, cause = label.cause, "generated");
}

/// The Secret, with a value.
async fn make_secret(keys: &Arc<Keys>, object: &Arc<QuarksSecret>, draft: &Draft) -> Result<Secret, ActError> {
    let (shared, object, draft) = (keys.clone(), object.clone(), draft.clone());
    let made = certify::blocking(move || {
        let value = value(&shared.source, &object.spec.secret_name, &draft.value)?;
        desired::new_secret(&object, &value, &draft.marks)
    });
    let made = made.await;
    keys.fill_after(KEY_GENERATION_DELAY);
    made
}

fn value(source: &System, name: &str, value: &Value) -> Result<Tree, String> {
    match value {
        Value::Known(value) => Ok(value.clone()),
        Value::Generated(recipe) => generated(source, name, recipe),
        Value::Image {
            asked,
            username,
            password,
        } => {
            let recipe = Recipe::new("password", Tree::Null);
            let given = |given: &Option<String>| match given {
                Some(given) => Ok(given.clone()),
                None => generated(source, name, &recipe).and_then(|value| text(&value)),
            };
            let file = image::file(asked, &given(username)?, &given(password)?)?;
            Ok(Tree::object().with(image::FILE_KEY, file))
        }
    }
}
