//! The watches of the controller: deployments, the Secrets of their links, and the pods that consume them.

use super::Context;
use super::found;
use boson_api::BoshDeployment;
use boson_cluster::reconcile::Running;
use boson_cluster::reconcile::watches::Watches;
use boson_manifest::labels::{CONSUMER, DEPLOYMENT, ENTANGLEMENT};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::ObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use std::sync::Arc;

const NAME: &str = "links";

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let links = Config::default().labels(&format!("{ENTANGLEMENT}=true"));
    let watches = Watches::<BoshDeployment>::of(&context.cluster.client(), &namespace, Config::default())
        .and::<Secret>(links, |meta| named(meta, found::owner(meta)))
        // A pod that was admitted before a link changed may be stored after the reconcile of that change.
        .and::<Pod>(Config::default().labels(CONSUMER), |meta| {
            let name = meta.annotations.as_ref().and_then(|all| all.get(DEPLOYMENT));
            named(meta, name.cloned())
        });
    let reconcile =
        |deployment: Arc<BoshDeployment>, context: Arc<Context>| async move { context.reconcile(&deployment).await };
    let concurrency = running.concurrency;
    running
        .drive_queue(
            NAME,
            &namespace,
            watches.queue(),
            context,
            reconcile,
            (concurrency, |_, _| {}),
        )
        .await;
}

/// The deployment of this name in the namespace of the object.
fn named(meta: &ObjectMeta, deployment: Option<String>) -> Vec<ObjectRef<BoshDeployment>> {
    let found = deployment.zip(meta.namespace.as_deref());
    let found = found.map(|(name, namespace)| ObjectRef::new(&name).within(namespace));
    found.into_iter().collect()
}
