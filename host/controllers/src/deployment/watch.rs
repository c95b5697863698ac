//! What wakes the controller: deployments, what they own, and what they refer to.

use super::Context;
use super::interest::interested;
use super::pulls::Source;
use crate::api::{BoshDeployment, QuarksSecret, QuarksStatefulSet, ReferenceType};
use crate::running::{Running, api};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount};
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Config;
use kube::runtime::{Controller, watcher};
use std::sync::Arc;

const NAME: &str = "deployment";
/// Deployments at a time: each may hold the memory of a conversion.
const CONCURRENCY: u16 = 2;

/// Runs until it is asked to stop, for one namespace or for all.
pub(crate) async fn run(context: Arc<Context>, running: Running, namespace: Option<String>) {
    let client = context.cluster.client();
    let everything = watcher::Config::default;
    let concurrency = running.concurrency.min(CONCURRENCY);
    let controller = Controller::new(api::<BoshDeployment>(&client, &namespace), everything())
        .with_config(Config::default().concurrency(concurrency));
    let (pulling, accounts, ended) = (context.clone(), context.clone(), context.clone());
    let (maps, secrets) = (controller.store(), controller.store());
    let controller = controller
        .owns(api::<QuarksSecret>(&client, &namespace), everything())
        .owns(api::<QuarksStatefulSet>(&client, &namespace), everything())
        .owns(api::<PartialObjectMeta<Service>>(&client, &namespace), everything())
        .owns(api::<PartialObjectMeta<Secret>>(&client, &namespace), everything())
        // Only what is around the data: the content of all ConfigMaps and Secrets of a cluster does not pass through here.
        .watches(
            api::<PartialObjectMeta<ConfigMap>>(&client, &namespace),
            everything(),
            move |map| interested(&maps.state(), &map, ReferenceType::Configmap),
        )
        .watches(
            api::<PartialObjectMeta<Secret>>(&client, &namespace),
            everything(),
            move |secret| {
                let source = Source::Secret(secret.name_any());
                let mut all = interested(&secrets.state(), &secret, ReferenceType::Secret);
                all.extend(pulling.pulls.users(secret.namespace(), &source));
                all
            },
        )
        .watches(
            api::<PartialObjectMeta<ServiceAccount>>(&client, &namespace),
            everything(),
            move |account| {
                let source = Source::Account(account.name_any());
                accounts.pulls.users(account.namespace(), &source)
            },
        );
    let reconcile =
        |object: Arc<BoshDeployment>, context: Arc<Context>| async move { context.reconcile(&object).await };
    running
        .drive(NAME, &namespace, controller, context, reconcile, |namespace, name| {
            ended.pulls.forget(namespace, name);
        })
        .await;
}
