//! The watches of the controller: its objects, their Secrets, and everything that they refer to.

use super::{Context, marks};
use boson_api::QuarksSecret;
use boson_cluster::reconcile::Running;
use boson_cluster::reconcile::watches::Watches;
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kube::Api;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use std::sync::Arc;

const NAME: &str = "quarks-secret";
const ROTATION: &str = "secret-rotation";

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    context.keys.fill();
    let secrets = objects(context.clone(), running.clone(), namespace.clone());
    let rotations = rotations(context, running, namespace);
    futures::join!(secrets, rotations);
}

async fn objects(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let queue = watches(&context, &namespace).queue();
    let forgetting = context.clone();
    let forget = move |namespace: &str, name: &str| {
        forgetting.interest.forget((namespace, name));
        forgetting.note_end(namespace, name, None);
    };
    let reconcile = |object: Arc<QuarksSecret>, context: Arc<Context>| async move { context.reconcile(object).await };
    running
        .drive_queue(NAME, &namespace, queue, context, reconcile, forget)
        .await;
}

/// Requeues QuarksSecrets when they or objects that they refer to change.
fn watches(context: &Arc<Context>, namespace: &Option<String>) -> Watches<QuarksSecret> {
    let client = context.cluster.client();
    let users = || {
        let context = context.clone();
        move |meta: &ObjectMeta| {
            let namespace = meta.namespace.as_deref().unwrap_or_default();
            context.interest.of(namespace, meta.name.as_deref().unwrap_or_default())
        }
    };
    let watches = Watches::of(&client, namespace, Config::default())
        .and::<Secret>(Config::default(), users())
        .and::<Service>(Config::default(), users())
        // Consent comes from objects of the same kind in other namespaces.
        .and::<QuarksSecret>(Config::default(), users());
    if context.signer.name.is_none() {
        return watches;
    }
    // They are cluster-scoped; annotations name their QuarksSecret.
    let requests: Api<PartialObjectMeta<CertificateSigningRequest>> = Api::all(client.clone());
    let ours = Config::default().labels(&format!("{MANAGED_BY}={BOSON}"));
    watches.and_all(requests, ours, asker)
}

/// The QuarksSecret that a CertificateSigningRequest is for.
fn asker(meta: &ObjectMeta) -> Vec<ObjectRef<QuarksSecret>> {
    let annotation = |key: &str| meta.annotations.as_ref().and_then(|all| all.get(key));
    let asker = annotation(marks::REQUEST_NAME).zip(annotation(marks::REQUEST_NAMESPACE));
    let asker = asker.map(|(name, namespace)| ObjectRef::new(name).within(namespace));
    asker.into_iter().collect()
}

async fn rotations(context: Arc<Context>, mut running: Running, namespace: Option<String>) {
    running.concurrency = 1;
    let labelled = Config::default().labels(boson_manifest::labels::SECRET_ROTATION);
    let queue = Watches::<ConfigMap>::of(&context.cluster.client(), &namespace, labelled).queue();
    let reconcile = |map: Arc<ConfigMap>, context: Arc<Context>| async move { context.rotate(&map).await };
    let nothing = |_: &str, _: &str| {};
    running
        .drive_queue(ROTATION, &namespace, queue, context, reconcile, nothing)
        .await;
}
