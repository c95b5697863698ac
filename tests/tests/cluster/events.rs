//! Events of changes: one for each, with groups, versions and causes; and `host wait`, which knows to which generation
//! the conditions belong.

use crate::example::Example;
use crate::objects::config_map;
use crate::operator::Environment;
use boson_tests::wait_until;
use std::path::Path;

async fn changes(example: &Example) -> Vec<String> {
    let events = example.tenant.events().await.into_iter();
    let changes = events.filter(|(reason, _)| reason == "Changed");
    changes.map(|(_, note)| note).collect()
}

async fn wait_for_change(example: &Example, words: &[&str]) {
    let is_it = |reason: &str, note: &str| reason == "Changed" && words.iter().all(|words| note.contains(words));
    example.tenant.wait_for_event(&format!("{words:?}"), is_it).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_names_groups_versions_and_causes() {
    let (example, operator) = Example::running("trail").await;
    wait_for_change(
        &example,
        &[
            "created ",
            "broker (v1)",
            "gateway (v1)",
            "Service (5)",
            "because of the new deployment",
        ],
    )
    .await;
    assert_eq!(changes(&example).await.len(), 1);
    let inputs = example.deployment().await["status"]["inputs"].clone();
    let names: Vec<&str> = inputs
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|input| input["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "configmap/manifest",
            "configmap/ops",
            "broker_password",
            "broker_tls",
            "nats_ca",
            "system_domain"
        ]
    );
    example.edit(&Example::ops(1)).await;
    wait_for_change(
        &example,
        &["changed broker (v1 -> v2)", "because of ops 'configmap/ops'"],
    )
    .await;
    example.delete("Service", "nats-gateway-0").await;
    wait_for_change(
        &example,
        &["created Service (1); because of changes or deletions by others"],
    )
    .await;
    // A comment changes the document, but no object.
    let digest = example.deployment().await["status"]["inputsDigest"].clone();
    example.edit(&format!("# nothing\n{}", Example::ops(1))).await;
    let has_read = async || example.deployment().await["status"]["inputsDigest"] != digest;
    wait_until("another digest", has_read).await;
    assert_eq!(changes(&example).await.len(), 3, "{:#?}", changes(&example).await);
    operator.stop().await;
}

#[test]
fn host_wait_waits_for_the_result_of_an_edited_config_map() {
    let env = Environment::new("wait").unwrap();
    env.deploy().unwrap();
    let run = |words: &[&str]| env.cluster.host(Path::new("/"), &env.namespace, words).unwrap();
    let wait = |more: &[&str]| run(&[&["wait", "nats"], more].concat());
    let applied = ["--for=condition=Applied", "--timeout=3m"];
    let done = wait(&applied);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (0, "boshdeployment.quarks.cloudfoundry.org/nats condition met\n"),
        "{}",
        done.stderr
    );
    let edit = |text: &str| env.apply(&[config_map("nats-scale", "ops", text)]).unwrap();
    // Each of these first reads the outdated conditions, which it must not believe.
    edit("- {type: remove, path: /instance_gruops}\n");
    let failed = wait(&applied);
    assert_eq!(failed.code, 1, "{}", failed.stdout);
    assert!(
        failed.stderr.contains("OpsMissingKey: ") && failed.stderr.contains("configmap/nats-scale/ops:1"),
        "{}",
        failed.stderr
    );
    edit("- {type: replace, path: /instance_groups/name=broker/instances, value: 3}\n");
    assert_eq!(wait(&applied).code, 0);
    // No node: no pod is ever ready.
    let late = wait(&["--timeout=1s"]);
    assert_eq!(late.code, 124, "{}", late.stderr);
    assert!(
        late.stderr.contains("timed out waiting for the condition")
            && late.stderr.contains("waiting for 2 of 2 instance groups"),
        "{}",
        late.stderr
    );
    let missing = run(&["wait", "unknown"]);
    assert_eq!(missing.code, 1);
    assert!(
        missing.stderr.contains("there is no BOSHDeployment 'unknown'"),
        "{}",
        missing.stderr
    );
}
