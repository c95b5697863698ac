//! What the forms of native Secrets and Services give to a link. Kubernetes' own controllers write the endpoints. For
//! changes and races, see `native_links`.

use crate::native_links::{Consumer, GROUP, MANIFEST, addresses, annotations, secret, service, set};
use boson_tests::cluster::shared;
use serde_json::{Value, json};

/// Writes Endpoints, which users of old clients still do, as `kubectl` does.
fn endpoints(consumer: &Consumer, addresses: &Value) {
    let object = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "nats-service"},
        "subsets": [{"addresses": addresses, "ports": [{"port": 4222}]}]});
    let arguments = ["--namespace", &consumer.tenant.namespace, "apply", "--filename=-"];
    let answer = shared().unwrap().try_kubectl(arguments, &object.to_string()).unwrap();
    assert!(answer.success, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_of_a_secret_are_properties_that_their_dots_nest() {
    let operator = set("link-keys-of-secrets").await;
    let consumer = Consumer::new(&operator, "keys").await;
    let mut keys = secret("nats-secret", "mysecret", json!({}));
    let more = json!({"nats.port": "4222", "nats.tls.ca": "authority", "plain": "[1]"});
    keys["stringData"]
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().cloned().unwrap());
    consumer.tenant.apply(keys).await;
    consumer.tenant.deployment("d", &[]).await;
    let link = consumer.wait_for_link("the Secret", |link| !link.is_null()).await;
    let nested = json!({"password": "mysecret", "port": "4222", "tls": {"ca": "authority"}});
    assert_eq!(link["properties"], json!({"nats": nested, "plain": "[1]"}));
    // A Secret alone gives no address and no instances.
    assert_eq!((&link["address"], &link["instances"]), (&Value::Null, &json!([])));
    assert_eq!(link["azs"], Value::Null);
    assert_eq!(consumer.rendered("PASSWORD").await, "mysecret");
    assert_eq!(consumer.rendered("PORT").await, r#""4222""#);

    // The same keys as JSON.
    let mut typed = secret(
        "nats-secret",
        r#""mysecret""#,
        json!({format!("{GROUP}/json-value"): "true"}),
    );
    typed["stringData"]["nats.tls.ca"] = r#""authority""#.into();
    typed["stringData"]["nats.port"] = "4222".into();
    typed["stringData"]["plain"] = "[1]".into();
    consumer.tenant.apply(typed).await;
    let link = consumer
        .wait_for_link("a number", |link| link["properties"]["nats"]["port"].is_i64())
        .await;
    let nested = json!({"password": "mysecret", "port": 4222, "tls": {"ca": "authority"}});
    assert_eq!(link["properties"], json!({"nats": nested, "plain": [1]}));
    assert_eq!(consumer.rendered("PORT").await, "4222");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pods_of_a_service_are_instances_in_the_order_of_their_names() {
    let operator = set("link-pods-of-services").await;
    let consumer = Consumer::new(&operator, "pods").await;
    let tenant = &consumer.tenant;
    tenant.apply(secret("nats-secret", "mysecret", json!({}))).await;
    tenant.apply(service("nats-service")).await;
    for (name, address) in [
        ("mynats-10", "10.3.0.1"),
        ("mynats-2", "10.3.0.2"),
        ("mynats-0", "10.3.0.3"),
    ] {
        consumer.pod(name, address).await;
    }
    tenant.deployment("d", &[]).await;
    consumer
        .wait_for_link("three pods", |link| {
            addresses(link) == ["10.3.0.3", "10.3.0.2", "10.3.0.1"]
        })
        .await;
    // What templates see: name, index, id, az, address, bootstrap.
    let mut lines = Vec::new();
    for (index, (name, address)) in [
        ("mynats-0", "10.3.0.3"),
        ("mynats-2", "10.3.0.2"),
        ("mynats-10", "10.3.0.1"),
    ]
    .into_iter()
    .enumerate()
    {
        let pod = tenant.get("v1", "Pod", name).await.unwrap();
        let uid = pod["metadata"]["uid"].as_str().unwrap();
        lines.push(format!("{name} {index} {uid} nil {address} {}", index == 0));
    }
    assert_eq!(consumer.rendered("INSTANCES").await, lines.join(", "));
    assert_eq!(consumer.rendered("ADDRESS").await, "nats-service");

    // A pod that is being deleted does not count, although it still exists.
    let finalizers = json!({"metadata": {"finalizers": ["example.com/stays"]}}).to_string();
    let kubectl = |arguments: &[&str]| {
        let namespaced = ["--namespace", &tenant.namespace];
        shared().unwrap().kubectl(namespaced.iter().chain(arguments)).unwrap()
    };
    kubectl(&["patch", "pod/mynats-0", "--type=merge", "--patch", &finalizers]);
    kubectl(&["delete", "pod/mynats-0", "--wait=false"]);
    consumer
        .wait_for_link("two pods", |link| addresses(link) == ["10.3.0.2", "10.3.0.1"])
        .await;
    assert!(tenant.get("v1", "Pod", "mynats-0").await.is_some());
    kubectl(&[
        "patch",
        "pod/mynats-0",
        "--type=json",
        r#"--patch=[{"op": "remove", "path": "/metadata/finalizers"}]"#,
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_a_selector_gives_its_endpoints_and_an_external_name_itself() {
    let operator = set("link-endpoints").await;
    let consumer = Consumer::new(&operator, "endpoints").await;
    let tenant = &consumer.tenant;
    let with = |spec: Value| {
        let mut service = service("nats-service");
        service["spec"] = spec;
        service
    };
    tenant.apply(secret("nats-secret", "mysecret", json!({}))).await;
    tenant.apply(with(json!({"ports": [{"port": 4222}]}))).await;
    endpoints(
        &consumer,
        &json!([{"ip": "192.0.2.7", "hostname": "outside"}, {"ip": "192.0.2.8"}]),
    );
    tenant.deployment("d", &[]).await;
    let instance = |name: &str, index: u32, address: &str| {
        json!({"name": name, "index": index, "id": address, "address": address,
            "bootstrap": index == 0})
    };
    let link = consumer
        .wait_for_link("two endpoints", |link| addresses(link).len() == 2)
        .await;
    let wanted = [
        instance("nats-service", 0, "192.0.2.8"),
        instance("outside", 1, "192.0.2.7"),
    ];
    assert_eq!(link["instances"], json!(wanted));
    assert_eq!(link["address"], "nats-service");
    endpoints(&consumer, &json!([{"ip": "192.0.2.9"}]));
    consumer
        .wait_for_link("the other endpoint", |link| addresses(link) == ["192.0.2.9"])
        .await;

    // EndpointSlices of a user. An endpoint that is not ready counts, one that is terminating does not.
    let arguments = ["--namespace", &tenant.namespace, "delete", "endpoints/nats-service"];
    shared().unwrap().kubectl(arguments).unwrap();
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "outside", "labels": {"kubernetes.io/service-name": "nats-service"}},
        "ports": [{"port": 4222}],
        "endpoints": [{"addresses": ["192.0.2.10"], "conditions": {"ready": false}},
            {"addresses": ["192.0.2.11"], "conditions": {"ready": false, "serving": false, "terminating": true}}]});
    tenant.apply(slice).await;
    consumer
        .wait_for_link("the slice", |link| addresses(link) == ["192.0.2.10"])
        .await;

    // An external name is the address of one instance.
    tenant.delete("discovery.k8s.io/v1", "EndpointSlice", "outside").await;
    tenant.delete("v1", "Service", "nats-service").await;
    tenant
        .apply(with(
            json!({"type": "ExternalName", "externalName": "nats.example.com"}),
        ))
        .await;
    let link = consumer
        .wait_for_link("the name", |link| addresses(link) == ["nats.example.com"])
        .await;
    let service = tenant.get("v1", "Service", "nats-service").await.unwrap();
    let mut outside = instance("nats-service", 0, "nats.example.com");
    outside["id"] = service["metadata"]["uid"].clone();
    assert_eq!(link["instances"], json!([outside]));
    assert_eq!(link["address"], "nats-service");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_the_predecessor_provide_their_link_unchanged() {
    let operator = set("link-predecessor").await;
    let consumer = Consumer::new(&operator, "predecessor").await;
    let tenant = &consumer.tenant;
    // The deployment is in a label, the properties are one YAML map, and the Service names the link.
    let labels = json!({format!("{GROUP}/deployment-name"): "d"});
    let provides = annotations(json!({}))[format!("{GROUP}/provides")].clone();
    tenant
        .apply(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "old", "labels": labels,
            "annotations": {format!("{GROUP}/provides"): provides}},
            "stringData": {"link": "nats.password: mysecret\nnats.port: 4222\n"}}),
        )
        .await;
    let mut old = service("old-service");
    old["metadata"]["labels"] = labels;
    old["metadata"]["annotations"] = json!({format!("{GROUP}/link-provider-name"): "nats"});
    tenant.apply(old).await;
    consumer.pod("mynats-0", "10.4.0.1").await;
    tenant.deployment("d", &[]).await;
    let link = consumer
        .wait_for_link("the link", |link| addresses(link) == ["10.4.0.1"])
        .await;
    assert_eq!(
        link["properties"],
        json!({"nats": {"password": "mysecret", "port": 4222}})
    );
    assert_eq!(link["address"], "old-service");
    // They have the label of objects that the operator creates, and stay.
    assert!(tenant.get("v1", "Secret", "old").await.is_some());
    assert!(tenant.get("v1", "Service", "old-service").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_of_several_objects_is_an_error_that_names_them_and_changes_nothing() {
    let operator = set("link-several").await;
    let consumer = Consumer::new(&operator, "several").await;
    let tenant = &consumer.tenant;
    tenant.apply(secret("nats-secret", "not-shown", json!({}))).await;
    consumer.pod("mynats-0", "10.5.0.1").await;
    tenant.apply(service("nats-service")).await;
    tenant.deployment("d", &[]).await;
    consumer
        .wait_for_link("the link", |link| addresses(link) == ["10.5.0.1"])
        .await;
    let before = consumer.workload("client").await;
    let mistakes = [
        (
            service("other-service"),
            "NativeLinkAmbiguous",
            "the Services 'nats-service', 'other-service' provide the same link 'nats' of the type 'nats'",
        ),
        (
            secret("other-secret", "not-shown", json!({})),
            "NativeLinkAmbiguous",
            "the Secrets 'nats-secret', 'other-secret' provide the same link 'nats' of the type 'nats'",
        ),
        (
            {
                let mut lost = service("lost-service");
                lost["metadata"]["annotations"][format!("{GROUP}/link-provider-name")] = "lost-secret".into();
                lost
            },
            "NativeLinkNoSecret",
            "Service 'lost-service' names Secret 'lost-secret', which provides no link to the deployment",
        ),
    ];
    for (object, reason, words) in mistakes {
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        tenant.apply(object).await;
        let message = consumer.wait_for_failure(reason).await;
        assert!(message.contains(words) && !message.contains("not-shown"), "{message}");
        assert_eq!(consumer.workload("client").await, before, "{reason}");
        tenant.delete("v1", &kind, &name).await;
        tenant.wait_until_applied("d").await;
    }

    // A job provides the same link.
    let broker = "  jobs: [{name: client, release: native}, {name: broker, release: native}]";
    let manifest = MANIFEST.replace("  jobs: [{name: client, release: native}]", broker);
    assert_ne!(manifest, MANIFEST);
    tenant.apply_manifest("d", &manifest).await;
    let message = consumer.wait_for_failure("LinksAmbiguous").await;
    for words in [
        "Link provider 'nats' from job 'broker' in instance group 'client'",
        "Link provider 'nats' from Secret 'nats-secret' and Service 'nats-service'",
    ] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(consumer.workload("client").await, before);
    tenant.apply_manifest("d", MANIFEST).await;
    tenant.wait_until_applied("d").await;
    assert_eq!(consumer.workload("client").await, before);
}
