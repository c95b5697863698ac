//! What wakes the controller: its objects, their Secrets, and everything that they look at.

use super::{Context, marks};
use crate::api::QuarksSecret;
use crate::running::{Running, api};
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kube::Api;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Config;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, watcher};
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
    let controller = woken(&context, &namespace).with_config(Config::default().concurrency(running.concurrency));
    let forgetting = context.clone();
    let reconcile = |object: Arc<QuarksSecret>, context: Arc<Context>| async move { context.reconcile(object).await };
    running
        .drive(NAME, &namespace, controller, context, reconcile, |namespace, name| {
            forgetting.interest.forget((namespace, name));
        })
        .await;
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
    // They live in no namespace; whose they are is written on them.
    let requests: Api<PartialObjectMeta<CertificateSigningRequest>> = Api::all(client.clone());
    let ours = everything().labels(&format!("{MANAGED_BY}={BOSON}"));
    Controller::new(api::<QuarksSecret>(&client, namespace), everything())
        .watches(secrets, everything(), move |secret| of_secret(secret.metadata))
        .watches(services, everything(), move |service| of_service(service.metadata))
        .watches(consents, everything(), move |object| of_consent(object.metadata))
        .watches(requests, ours, |request| asker(&request.metadata))
}

/// The QuarksSecret that a CertificateSigningRequest is for.
fn asker(meta: &ObjectMeta) -> Option<ObjectRef<QuarksSecret>> {
    let annotations = meta.annotations.as_ref()?;
    let namespace = annotations.get(marks::REQUEST_NAMESPACE)?;
    Some(ObjectRef::new(annotations.get(marks::REQUEST_NAME)?).within(namespace))
}

async fn rotations(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let client = context.cluster.client();
    let labelled = watcher::Config::default().labels(boson_deployment::labels::SECRET_ROTATION);
    let controller =
        Controller::new(api::<ConfigMap>(&client, &namespace), labelled).with_config(Config::default().concurrency(1));
    let reconcile = |map: Arc<ConfigMap>, context: Arc<Context>| async move { context.rotate(&map).await };
    running
        .drive(ROTATION, &namespace, controller, context, reconcile, |_, _| {})
        .await;
}
