//! Forms of pods that ask for links: several links, variables and volumes of their own.

use crate::links::{annotations, create, deployed, pod, wait_until_created};
use serde_json::{Value, json};

const BOTH: &str = r#"[{"name": "main-broker", "type": "broker"}, {"name": "gateway", "type": "gateway"}]"#;

#[test]
fn a_pod_gets_several_links_and_keeps_its_own_variables() {
    let env = deployed("link-several-in-pod", "link-several-in-pod-none");
    wait_until_created(&env, &pod("first", &annotations("nats", BOTH)));
    let mut both = pod("both", &annotations("nats", BOTH));
    let own = json!([
        {"name": "LINK_BROKER_USER", "value": "mine"}, {"name": "URL", "value": "nats://$(LINK_BROKER_PASSWORD)"},
    ]);
    both["spec"]["containers"][0]["env"] = own.clone();
    let answer = create(&env, &env.namespace, &both);
    let warning = "Warning: container 'main' sets LINK_BROKER_USER itself; the value of the link is a file only";
    assert!(answer.success && answer.stderr.contains(warning), "{answer:?}");
    let both = env.get("pod/both").unwrap();
    let container = &both["spec"]["containers"][0];
    let texts = |list: &Value, member: &str| -> Vec<String> {
        let items = list.as_array().unwrap().iter();
        items
            .filter_map(|item| item[member].as_str().map(str::to_string))
            .collect()
    };
    let paths = texts(&container["volumeMounts"], "mountPath");
    for path in [
        "/quarks/link/nats/broker-main-broker",
        "/quarks/link/nats/gateway-gateway",
    ] {
        assert!(paths.iter().any(|found| found == path), "no {path} in {paths:?}");
    }
    // Those of the links come first: its own can refer to them.
    let names = [
        "LINK_BROKER_PASSWORD",
        "LINK_BROKER_PORT",
        "LINK_BROKER_TLS_CA",
        "LINK_GATEWAY_DOMAIN",
        "LINK_BROKER_USER",
        "URL",
    ];
    assert_eq!(texts(&container["env"], "name"), names);
    assert_eq!(container["env"][4], own[0]);
    assert_eq!(
        container["env"][3]["valueFrom"]["secretKeyRef"],
        json!({"name": "link-nats-gateway-gateway", "key": "gateway.domain"})
    );
}

#[test]
fn a_pod_whose_own_volumes_are_in_the_way_of_a_link_is_refused() {
    let env = deployed("link-in-the-way", "link-in-the-way-none");
    wait_until_created(&env, &pod("first", &annotations("nats", BOTH)));
    let first = env.get("pod/first").unwrap();
    let volumes = first["spec"]["volumes"].as_array().unwrap();
    let volume = volumes
        .iter()
        .find(|volume| volume["secret"]["secretName"] == "link-nats-gateway-gateway")
        .unwrap();
    let path = "/quarks/link/nats/broker-main-broker";
    for (name, volume, mounted, words) in [
        (
            "mount",
            json!("own"),
            path,
            format!("container 'main' mounts another volume at {path}, where a link belongs; mount it elsewhere"),
        ),
        (
            "volume",
            volume["name"].clone(),
            "/elsewhere",
            format!(
                "it has another volume {}, which a link needs; rename that volume",
                volume["name"]
            ),
        ),
    ] {
        let mut pod = pod(name, &annotations("nats", BOTH));
        pod["spec"]["volumes"] = json!([{"name": volume, "emptyDir": {}}]);
        pod["spec"]["containers"][0]["volumeMounts"] = json!([{"name": volume, "mountPath": mounted}]);
        let answer = create(&env, &env.namespace, &pod);
        assert!(
            !answer.success && answer.stderr.contains("is invalid") && answer.stderr.contains(&words),
            "{answer:?}"
        );
        assert!(env.get(&format!("pod/{name}")).is_err(), "{name}");
    }
}
