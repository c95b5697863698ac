//! The requests that links cost while pods come and go: pods that no link depends on, pods behind a native Service, and
//! pods that consume a link.

use crate::connection::{Connection, Death};
use crate::example::{Example, Request, is_applied, requests};
use crate::kubelet::report;
use crate::link_deaths::{has_linked_pod, workload};
use crate::links::{DIGEST, consumer};
use crate::operator_tasks::OperatorTask;
use anyhow::ensure;
use boson_document::json as text;
use boson_pipeline::convert::stored_documents;
use boson_tests::{wait_for_value, wait_until};
use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::{Pod, Secret, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Pods that change at a time.
const CONCURRENT_PODS: usize = 8;
/// Pods that come, change twice and go: 300 changes.
const PODS: usize = 75;
/// Longer than the operator collects changes.
const IDLE_DURATION: Duration = Duration::from_secs(12);
/// Changes wait at least so long until they pause.
const CHANGE_INTERVAL: Duration = Duration::from_millis(700);
const GROUP: &str = "quarks.cloudfoundry.org";
const LINK: &str = "secrets//link-nats-broker-main-broker";

/// All requests of the operator so far.
fn all(example: &Example) -> Vec<Request> {
    requests(&[&example.env.namespace])
}

/// The requests after so many others.
fn since(example: &Example, before: usize) -> Vec<Request> {
    all(example).split_off(before)
}

/// How many requests have this verb, and are about what begins so: a resource, or an object.
fn count(requests: &[Request], verb: &str, what: &str) -> usize {
    let matches = |one: &&Request| one.1 == verb && one.2.starts_with(what);
    requests.iter().filter(matches).count()
}

/// Waits until the operator has made no request for some time. Returns how many it has made.
async fn wait_until_idle(example: &Example) -> usize {
    let last = AtomicUsize::new(all(example).len());
    wait_for_value("an idle operator", async || {
        sleep(IDLE_DURATION).await;
        let now = all(example).len();
        let before = last.swap(now, Ordering::SeqCst);
        ensure!(now == before, "{:#?}", since(example, before));
        Ok(now)
    })
    .await
}

/// The example, whose gateway takes its link from a native Secret and the pods of a native Service.
async fn with_native(name: &str) -> (Example, OperatorTask) {
    let example = Example::set(name).await;
    let operator = example.operator_with_links(&Connection::default(), Death::Never, "first");
    let annotations = json!({
        format!("{GROUP}/deployment-name"): "nats", format!("{GROUP}/link-provider-name"): "native",
        format!("{GROUP}/provides"): r#"{"name":"native","type":"broker"}"#,
    });
    let meta = json!({"name": "native", "annotations": annotations});
    let values = ["user", "password", "port", "tls.ca"].map(|key| (format!("broker.{key}"), Value::from("4222")));
    let values: Value = values.into_iter().collect();
    example
        .tenant
        .apply(json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": values}))
        .await;
    // No pod has a node here: Kubernetes leaves such pods out of the endpoints otherwise.
    let spec = json!({"selector": {"app": "native"}, "ports": [{"port": 4222}], "publishNotReadyAddresses": true});
    example
        .tenant
        .apply(json!({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}))
        .await;
    let consumes = |job: &str, from: &str| {
        let path = format!("/instance_groups/name={job}/jobs/name={job}/consumes/broker?");
        format!("- {{type: replace, path: {path}, value: {{from: {from}}}}}\n")
    };
    // The broker itself is both a provider and a consumer.
    let links = [consumes("gateway", "native"), consumes("broker", "main-broker")];
    let ops = Example::ops(0) + &links.concat();
    wait_until("the account of pods", async || {
        let accounts = example.env.api::<ServiceAccount>();
        accounts.get_opt("default").await.unwrap().is_some()
    })
    .await;
    for (name, address) in STABLE_PODS {
        arrives(&example.env.api(), name, "native", address).await;
    }
    example.deploy_with(&ops).await;
    wait_until("the link", async || {
        is_applied(&example.deployment().await) && addresses(&example).await == STABLE_PODS.map(|(_, address)| address)
    })
    .await;
    (example, operator)
}

/// The pods behind the Service that stay: name and address.
const STABLE_PODS: [(&str, &str); 2] = [("staying-0", "10.9.0.1"), ("staying-1", "10.9.0.2")];

/// A pod as the kubelet reports it.
async fn arrives(pods: &Api<Pod>, name: &str, app: &str, address: &str) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": "example.com/image:1"}]}
    });
    let pod = serde_json::from_value(pod).unwrap();
    let pod = pods.create(&PostParams::default(), &pod).await.unwrap();
    let status = json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]});
    report(pods, &pod.metadata, status).await.unwrap();
}

async fn label(pods: &Api<Pod>, name: &str, value: &str) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"team": value}}}));
    pods.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Pods come, change and go, several at a time.
async fn pass(example: &Example, app: &str, third: usize) {
    let pods = example.env.api::<Pod>();
    let passing = stream::iter(0..PODS).map(|nth| {
        let (pods, name) = (pods.clone(), format!("{app}-{nth}"));
        async move {
            arrives(&pods, &name, app, &format!("10.3.{third}.{nth}")).await;
            label(&pods, &name, "x").await;
            let now = DeleteParams::default().grace_period(0);
            pods.delete(&name, &now).await.unwrap();
        }
    });
    passing.buffer_unordered(CONCURRENT_PODS).collect::<Vec<()>>().await;
}

/// The version of a group's resolved document that its pods mount: it changes when they are replaced.
async fn mounted(example: &Example, group: &str) -> usize {
    let sets = example
        .tenant
        .api("quarks.cloudfoundry.org/v1alpha1", "QuarksStatefulSet");
    let set = sets.get(&format!("nats-{group}")).await.unwrap();
    let spec = set.data["spec"].to_string();
    let (_, rest) = spec.split_once(&format!("nats.ig-resolved.{group}-v")).unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The addresses of the native pods in the link of the gateway.
async fn addresses(example: &Example) -> Vec<String> {
    let name = format!("nats.ig-resolved.gateway-v{}", mounted(example, "gateway").await);
    let Some(secret) = example.env.api::<Secret>().get_opt(&name).await.unwrap() else {
        return Vec::new();
    };
    let data = secret.data.unwrap_or_default();
    let document = stored_documents::read(&name, &data[stored_documents::RESOLVED].0).unwrap();
    let document: Value = serde_json::from_str(&text::to_text(&document.tree)).unwrap();
    let link = &document["instance_groups"][0]["jobs"][0]["properties"]["quarks"]["consumes"]["broker"];
    let instances = link["instances"].as_array().into_iter().flatten();
    let addresses = instances.filter_map(|instance| instance["address"].as_str());
    addresses.map(str::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_behind_a_native_service_are_read_together_and_others_not_at_all() {
    let (example, operator) = with_native("link-requests").await;
    let before = wait_until_idle(&example).await;
    let pods = example.env.api::<Pod>();
    let all_mounted = async || [mounted(&example, "gateway").await, mounted(&example, "broker").await];
    let first = all_mounted().await;

    // Pods that no link depends on.
    pass(&example, "unrelated", 1).await;
    assert_eq!(
        wait_until_idle(&example).await,
        before,
        "{:#?}",
        since(&example, before)
    );

    // What changes the endpoints, but not the link: pods that are not ready count, too.
    for round in 0..20 {
        let status = if round % 2 == 0 { "True" } else { "False" };
        for (name, _) in STABLE_PODS {
            let pod = pods.get(name).await.unwrap();
            let status = json!({"conditions": [{"type": "Ready", "status": status}]});
            report(&pods, &pod.metadata, status).await.unwrap();
        }
    }
    let before = wait_until_idle(&example).await;
    assert_eq!(all_mounted().await, first, "nobody is replaced");

    // Pods behind the Service: what a conversion costs does not depend on their number.
    let conversions = || example.conversions.load(Ordering::SeqCst);
    let (converted, began) = (conversions(), Instant::now());
    pass(&example, "native", 2).await;
    // Changes that arrive after the last pod has gone, and garbage that is collected later, cost some, too.
    let most = 5 + usize::try_from(began.elapsed().as_millis() / CHANGE_INTERVAL.as_millis()).unwrap();
    wait_until_idle(&example).await;
    let (made, converted) = (since(&example, before), conversions() - converted);
    assert!((1..=most).contains(&converted), "{converted} conversions, {made:#?}");
    for (verb, what) in [
        ("list", "endpointslices/"),
        ("get", "services//native"),
        ("get", "secrets//native"),
    ] {
        let times = count(&made, verb, what);
        assert!((1..=converted).contains(&times), "{times} times {what}: {made:#?}");
    }
    assert_eq!(addresses(&example).await, STABLE_PODS.map(|(_, address)| address));
    let [gateway, broker] = all_mounted().await;
    assert!(gateway - first[0] <= converted, "{gateway} after {first:?}");
    assert_eq!(broker, first[1], "it does not consume the link");
    operator.stop().await;
}

/// The Deployment with this number of pods that consume a link.
async fn scale(example: &Example, replicas: usize) {
    let mut web = consumer("web", "nats");
    web["spec"]["replicas"] = replicas.into();
    example.tenant.apply(web).await;
    wait_until("the pods", async || linked_pods(example).await.len() == replicas).await;
}

/// The names of the consumer's pods.
async fn linked_pods(example: &Example) -> Vec<String> {
    let list = example
        .env
        .api::<Pod>()
        .list(&ListParams::default().labels("app=web"))
        .await;
    let there = |pod: &Pod| pod.metadata.deletion_timestamp.is_none();
    let linked = |pod: &Pod| pod.metadata.annotations.iter().flatten().any(|(key, _)| key == DIGEST);
    let pods = list.unwrap().items.into_iter();
    let pods = pods.filter(|pod| there(pod) && linked(pod));
    pods.filter_map(|pod| pod.metadata.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_consume_a_link_cost_one_read_each_and_a_change_one_rollout() {
    const REPLICAS: usize = 40;
    let example = Example::set("link-consumers").await;
    let operator = example.operator_with_links(&Connection::default(), Death::Never, "first");
    example.deploy().await;
    example.wait_until_applied().await;
    example.tenant.apply(consumer("web", "nats")).await;
    wait_until("a pod with links", async || has_linked_pod(&example).await).await;
    scale(&example, 1).await;

    // The webhook reads the Secret of the link for each new pod. Nothing else does.
    let before = wait_until_idle(&example).await;
    scale(&example, REPLICAS).await;
    let after = wait_until_idle(&example).await;
    let made = since(&example, before);
    assert_eq!(count(&made, "get", LINK), made.len(), "{made:#?}");
    assert!(made.len() < REPLICAS, "{}", made.len());

    // Pods that change, and that go.
    let (pods, names) = (example.env.api::<Pod>(), linked_pods(&example).await);
    for value in ["x", "y", "z"] {
        let changing = stream::iter(&names).map(|name| label(&pods, name, value));
        changing.buffer_unordered(CONCURRENT_PODS).collect::<Vec<()>>().await;
    }
    scale(&example, 1).await;
    assert_eq!(wait_until_idle(&example).await, after, "{:#?}", since(&example, after));

    // A change: two reads and one patch for all pods of the workload.
    scale(&example, REPLICAS).await;
    let before = wait_until_idle(&example).await;
    let path = "/instance_groups/name=broker/jobs/name=broker/properties/broker/user";
    let ops = format!("{}- {{type: replace, path: {path}, value: other}}\n", Example::ops(0));
    example.edit(&ops).await;
    let digest = async || workload(&example).await["spec"]["template"]["metadata"]["annotations"][DIGEST].clone();
    wait_until("the rollout", async || digest().await.is_string()).await;
    wait_until_idle(&example).await;
    let made = since(&example, before);
    for (verb, what) in [
        ("get", "replicasets/"),
        ("get", "deployments/"),
        ("patch", "deployments/"),
    ] {
        assert_eq!(count(&made, verb, what), 1, "{verb} {what}: {made:#?}");
    }
    assert_eq!(
        workload(&example).await["metadata"]["generation"],
        5,
        "scaled three times, and rolled once"
    );
    operator.stop().await;
}
