//! Services of single instances: with an address if the group has ports, headless if it has none.

use crate::operator_process::OperatorProcess;
use crate::small_deployment::Small;
use serde_json::{Value, json};

fn manifest(quarks: &str) -> String {
    let small = Small {
        quarks,
        ..Small::default()
    };
    small.manifest()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_port_gives_instances_an_address_and_removing_the_last_removes_it() {
    let operator = OperatorProcess::set("headless", false, &[]).await;
    let tenant = operator.tenant("headless");
    let port = "ports: [{name: http, protocol: TCP, internal: 8080}]";
    let is_headless = |service: &Value| service["spec"]["clusterIP"] == "None";
    let has_port = |service: &Value| service["spec"]["ports"][0]["port"] == 8080;
    tenant.deployed("d", &manifest("")).await;
    for quarks in ["", port, ""] {
        tenant.apply_manifest("d", &manifest(quarks)).await;
        let ported = !quarks.is_empty();
        let one = ["v1", "Service", "d-web-0"];
        tenant
            .wait_for_object(&format!("'{quarks}'"), one, |service| {
                service["spec"].is_object() && is_headless(service) != ported && has_port(service) == ported
            })
            .await;
        // The Service of all instances is changed in place.
        let all = tenant
            .wait_for_object("the Service of all", ["v1", "Service", "d-web"], |service| {
                has_port(service) == ported
            })
            .await;
        assert!(is_headless(&all));
        tenant.wait_until_applied("d").await;
    }
    let events = tenant.events().await;
    assert!(
        events.iter().all(|(reason, _)| !reason.contains("Refused")),
        "{events:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_of_a_group_with_active_passive_probes_selects_the_active_pod_and_that_of_an_instance_does_not() {
    let operator = OperatorProcess::set("active", false, &[]).await;
    let tenant = operator.tenant("active");
    let quarks = "ports: [{name: http, protocol: TCP, internal: 8080}], activePassiveProbes: {app-app: {exec: {command: [/bin/true]}}}";
    tenant.deployed("d", &manifest(quarks)).await;
    for (name, value) in [("d-web", json!("active")), ("d-web-0", Value::Null)] {
        let service = tenant
            .wait_for_object("the Service", ["v1", "Service", name], Value::is_object)
            .await;
        let selected = &service["spec"]["selector"]["quarks.cloudfoundry.org/pod-active"];
        assert_eq!(*selected, value, "{name}");
    }
}
