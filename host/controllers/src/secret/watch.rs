//! The watches of the controller: its objects, their Secrets, and everything that they refer to.

use super::Context;
use super::stored::marks;
use crate::controller::Watched;
use boson_api::QuarksSecret;
use boson_cluster::objects::annotation;
use boson_cluster::reconcile::watches::{Watches, named};
use boson_pipeline::bundle::{MANAGED_BY, MANAGER as BOSON};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::Api;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use std::sync::Arc;

/// Requeues QuarksSecrets when they or objects that they refer to change.
pub(super) fn watch(context: &Arc<Context>, namespace: &Option<String>) -> Watched<QuarksSecret> {
    let client = context.cluster.client();
    let users = || {
        let context = context.clone();
        move |meta: &ObjectMeta| {
            let namespace = meta.namespace.as_deref().unwrap_or_default();
            context.interest.of(namespace, meta.name.as_deref().unwrap_or_default())
        }
    };
    let mut watches = Watches::of(&client, namespace, Config::default())
        .and::<Secret>(Config::default(), users())
        .and::<Service>(Config::default(), users())
        // Consent comes from objects of the same kind in other namespaces.
        .and::<QuarksSecret>(Config::default(), users());
    if context.signer.name.is_some() {
        // They are cluster-scoped; annotations name their QuarksSecret.
        let requests: Api<PartialObjectMeta<CertificateSigningRequest>> = Api::all(client.clone());
        let ours = Config::default().labels(&format!("{MANAGED_BY}={BOSON}"));
        watches = watches.and_all(requests, ours, named_secret);
    }
    let (store, queue) = watches.queue();
    Watched::new(store, queue)
}

/// The QuarksSecret that a CertificateSigningRequest is for.
fn named_secret(meta: &ObjectMeta) -> Vec<ObjectRef<QuarksSecret>> {
    let of = |key| annotation(meta, key);
    named(of(marks::REQUEST_NAME), of(marks::REQUEST_NAMESPACE))
}
