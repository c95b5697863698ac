//! What wakes the controller: its objects, their Secrets, and everything that they look at.

use super::Context;
use crate::api::QuarksSecret;
use crate::client::Error;
use crate::running::{Running, key};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kube::Api;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{self, Action, Config};
use kube::runtime::{Controller, watcher};
use std::sync::Arc;
use std::time::Instant;
use tracing::Instrument;

const NAME: &str = "quarks-secret";
const ROTATION: &str = "secret-rotation";

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let secrets = objects(context.clone(), running.clone(), namespace.clone());
    let rotations = rotations(context, running, namespace);
    futures::join!(secrets, rotations);
}

async fn objects(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let controller = woken(&context, &namespace)
        .with_config(Config::default().concurrency(running.concurrency))
        .reconcile_all_on(running.scope_changes())
        .graceful_shutdown_on(running.stopped());
    let store = controller.store();
    running.ready_when(NAME, &namespace, async move { store.wait_until_ready().await.is_ok() });
    let (shared, policy, forgetting) = (running.clone(), running.clone(), context.clone());
    let runs = controller.run(
        move |object: Arc<QuarksSecret>, context: Arc<Context>| {
            let running = shared.clone();
            async move { observed(&running, NAME, &key(object.as_ref()), context.reconcile(object.clone())).await }
        },
        move |object: Arc<QuarksSecret>, error: &Error, _| policy.again(NAME, object.as_ref(), error),
        context,
    );
    runs.for_each(|run| {
        if let Err(controller::Error::ObjectNotFound(gone)) = run {
            let namespace = gone.namespace.unwrap_or_default();
            forgetting.interest.forget((&namespace, &gone.name));
            running.gone(NAME, &format!("{namespace}/{}", gone.name));
        }
        std::future::ready(())
    })
    .await;
    running.ended(NAME, &namespace);
}

/// Woken by QuarksSecrets, and by everything that they look at.
fn woken(context: &Arc<Context>, namespace: &Option<String>) -> Controller<QuarksSecret> {
    let client = context.cluster.client();
    let everything = watcher::Config::default;
    let lookers = || {
        let context = context.clone();
        move |meta: ObjectMeta| {
            let (namespace, name) = (meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default());
            context.interest.of(&namespace, &name)
        }
    };
    let (of_secret, of_service, of_consent) = (lookers(), lookers(), lookers());
    // Only what is around the data is watched: the values of all Secrets of a cluster do not pass through here.
    let secrets = api::<PartialObjectMeta<Secret>>(&client, namespace);
    let services = api::<PartialObjectMeta<Service>>(&client, namespace);
    // Consent comes from objects of the same kind in other namespaces.
    let consents = api::<PartialObjectMeta<QuarksSecret>>(&client, namespace);
    Controller::new(api::<QuarksSecret>(&client, namespace), everything())
        .watches(secrets, everything(), move |secret| of_secret(secret.metadata))
        .watches(services, everything(), move |service| of_service(service.metadata))
        .watches(consents, everything(), move |object| of_consent(object.metadata))
}

async fn rotations(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let client = context.cluster.client();
    let labelled = watcher::Config::default().labels(boson_deployment::labels::SECRET_ROTATION);
    let controller = Controller::new(api::<ConfigMap>(&client, &namespace), labelled)
        .with_config(Config::default().concurrency(1))
        .reconcile_all_on(running.scope_changes())
        .graceful_shutdown_on(running.stopped());
    let store = controller.store();
    running.ready_when(
        ROTATION,
        &namespace,
        async move { store.wait_until_ready().await.is_ok() },
    );
    let shared = running.clone();
    let policy = running.clone();
    let runs = controller.run(
        move |map: Arc<ConfigMap>, context: Arc<Context>| {
            let running = shared.clone();
            async move { observed(&running, ROTATION, &key(map.as_ref()), context.rotate(&map)).await }
        },
        move |map: Arc<ConfigMap>, error: &Error, _| policy.again(ROTATION, map.as_ref(), error),
        context,
    );
    runs.for_each(|_| std::future::ready(())).await;
    running.ended(ROTATION, &namespace);
}

/// Runs one reconcile, and counts it.
async fn observed(
    running: &Running,
    controller: &'static str,
    key: &str,
    work: impl Future<Output = Result<Action, Error>>,
) -> Result<Action, Error> {
    let began = Instant::now();
    let span = tracing::info_span!("reconcile", controller, object = key);
    let result = work.instrument(span).await;
    running.counted(controller, key, result.is_ok(), began.elapsed());
    result
}

fn api<K>(client: &kube::Client, namespace: &Option<String>) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}
