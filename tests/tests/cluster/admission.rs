//! The webhook from the user's view: `kubectl apply` reports errors, and nothing is blocked while the operator is
//! unavailable.

use crate::objects::config_map;
use crate::operator::Environment;
use anyhow::ensure;
use boson_tests::cluster::Answer;
use boson_tests::ports::free_port;
use boson_tests::{WAIT_TIMEOUT, wait_until_ok};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How soon a webhook has a place again: before the 120 s after which an idle API server would free one.
const PLACE_TIMEOUT: Duration = Duration::from_secs(45);

/// An environment whose operator runs the webhook.
fn env(name: &str) -> Environment {
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let url = format!("https://{address}");
    Environment::with(name, &["--webhook-listen", &address, "--webhook-url", &url]).unwrap()
}

/// The API server's answer to this object; nothing is stored.
fn try_out(env: &Environment, object: &Value) -> Answer {
    apply(env, object, &["--dry-run=server"])
}

fn apply(env: &Environment, object: &Value, more: &[&str]) -> Answer {
    let arguments = ["--namespace", &env.namespace, "apply", "--server-side", "--filename=-"];
    let arguments = arguments.iter().chain(more);
    env.cluster.try_kubectl(arguments, &object.to_string()).unwrap()
}

/// Tries until the answer is as expected: API servers notice a changed configuration a moment later.
fn wait_for_answer(env: &Environment, object: &Value, what: &str, good: impl Fn(&Answer) -> bool) -> Answer {
    let look = || {
        let answer = try_out(env, object);
        ensure!(good(&answer), "{answer:?}");
        Ok(answer)
    };
    env.operator.wait_for_value(what, WAIT_TIMEOUT, look).unwrap()
}

/// Number of reviews.
fn reviews(env: &Environment) -> u64 {
    let text = env.operator.ask("/metrics").unwrap();
    let lines = text.lines().filter(|line| line.starts_with("boson_reviews_total"));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

#[test]
fn errors_are_reported_before_an_object_is_stored() {
    let mut env = env("admission");
    let ops = |name: &str, text: &str| config_map(name, "ops", text);
    let broken = env.deployment(&["broken"]);
    env.apply(&[
        ops("broken", "- type: remove\n  path: /instance_gruops/0\n"),
        config_map("cloud", "cloud-config", "azs: [{name: other}]\n"),
        ops("warned", "- type: replace\n  path: /director_uuid?\n  value: x\n"),
        ops(
            "quoting",
            "- type: replace\n  path: /releases/0/version\n  value: ((word))\n",
        ),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-word"},
                "stringData": {"value": "CANARY-in-a-secret.latest"}}),
    ])
    .unwrap();
    // All objects of a first `kubectl apply`, before any of its ConfigMaps exists.
    let early = wait_for_answer(&env, &broken, "a warning", |answer| {
        answer.stderr.contains("there is no ConfigMap 'nats-manifest'")
    });
    assert!(early.success, "{early:?}");
    env.deploy().unwrap();
    mistakes_are_reported_with_their_places(&env, &broken);
    changes_outside_of_the_spec_are_not_reviewed(&env);
    certificates_of_another_authority_are_trusted(&env, &broken);

    env.apply(&[ops("broken", "- type: replace\n  path: /tags?/x\n  value: y\n")])
        .unwrap();
    let fixed = try_out(&env, &broken);
    assert!(fixed.success, "{fixed:?}");

    // An unavailable operator blocks no request, and its configuration is deleted with its namespace.
    env.apply(&[ops("broken", "- type: remove\n  path: /instance_gruops/0\n")])
        .unwrap();
    // API servers notice a changed configuration a moment later.
    wait_for_answer(&env, &broken, "a refusal", |answer| !answer.success);
    env.operator.kill();
    let stored = apply(&env, &broken, &[]);
    assert!(stored.success, "{stored:?}");
    is_deleted_with_its_namespace(&env);
}

/// A review that would take too long, on a busy machine, lets a mistake pass with a warning: it is asked for again.
fn mistakes_are_reported_with_their_places(env: &Environment, broken: &Value) {
    let denied = wait_for_answer(env, broken, "a refusal", |answer| !answer.success);
    assert!(denied.stderr.contains("configmap/broken/ops:2:9"), "{denied:?}");
    assert!(
        denied.stderr.contains("Expected to find a map key 'instance_gruops'"),
        "{denied:?}"
    );
    let quoting = env.deployment(&["quoting"]);
    let quoting = wait_for_answer(env, &quoting, "a refusal of a value", |answer| !answer.success);
    assert!(quoting.stderr.contains("<redacted>"), "{quoting:?}");
    assert!(!quoting.stderr.contains("CANARY"), "{quoting:?}");
    let mut clouded = env.deployment(&[]);
    clouded["spec"]["cloudConfig"] = json!({"type": "configmap", "name": "cloud"});
    let clouded = wait_for_answer(env, &clouded, "a refusal of a cloud config", |answer| !answer.success);
    let words = "references unknown availability zone 'z1'";
    assert!(
        clouded.stderr.contains(words) && clouded.stderr.contains("configmap/nats-manifest/manifest:"),
        "{clouded:?}"
    );
    let warned = wait_for_answer(env, &env.deployment(&["warned"]), "a warning of a check", |answer| {
        answer.stderr.contains("Warning: configmap/warned/ops:3:") && answer.stderr.contains("director_uuid")
    });
    assert!(warned.success, "{warned:?}");
}

fn changes_outside_of_the_spec_are_not_reviewed(env: &Environment) {
    let before = reviews(env);
    assert!(before >= 3);
    env.kubectl(&["label", "boshdeployment/nats", "some=label"]).unwrap();
    let status = [
        "patch",
        "boshdeployment/nats",
        "--subresource=status",
        "--type=merge",
        "--patch={\"status\":{\"message\":\"x\"}}",
    ];
    env.kubectl(&status).unwrap();
    assert_eq!(reviews(env), before);
}

/// New ones, while the operator runs.
fn certificates_of_another_authority_are_trusted(env: &Environment, broken: &Value) {
    replace_authority(env);
    wait_for_answer(env, broken, "a refusal with another certificate", |answer| {
        !answer.success
    });
}

/// Waits until API servers are told of another authority.
fn replace_authority(env: &Environment) {
    let configuration = format!("validatingwebhookconfiguration/boson.{}", env.namespace);
    let authority = || env.get(&configuration).unwrap()["webhooks"][0]["clientConfig"]["caBundle"].clone();
    let old = authority();
    env.kubectl(&["delete", "secret/boson-webhook"]).unwrap();
    wait_until_ok("another authority", || Ok(authority() != old));
}

fn is_deleted_with_its_namespace(env: &Environment) {
    let configuration = format!("validatingwebhookconfiguration/boson.{}", env.namespace);
    let owner = &env.get(&configuration).unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"]),
        (&json!("Namespace"), &json!(env.namespace))
    );
    let namespace = format!("namespace/{}", env.namespace);
    env.cluster.kubectl(["delete", &namespace, "--wait=false"]).unwrap();
    wait_until_ok("the end of the configuration", || Ok(env.get(&configuration).is_err()));
}

#[test]
fn two_operators_agree_on_one_authority_and_strangers_learn_nothing() {
    let first = env("authority");
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    // It waits for the lease of the first, but answers reviews.
    let second = first.beside(&[
        "--webhook-listen",
        &address,
        "--webhook-url",
        &format!("https://{address}"),
    ]);
    let second = second.unwrap();
    let answers = || {
        let ready = second.operator.ask("/ready")?;
        ensure!(ready.contains("admission: ok"), ready);
        Ok(())
    };
    second
        .operator
        .wait_for_value("admission", WAIT_TIMEOUT, answers)
        .unwrap();
    let secret = first.get("secret/boson-webhook").unwrap();
    let authority = first.file("ca.crt", &secret["data"]["ca.crt"]).unwrap();
    let ask = |path: &str| {
        let url = format!("https://{address}/{path}");
        let mut curl = std::process::Command::new("curl");
        // Whoever does not know the path, or asks nothing, has to connect again.
        let answer = "%{http_code} %header{connection}";
        curl.args(["--silent", "--write-out", answer, "--data", "{}", "--cacert"]);
        let output = curl.arg(&authority).arg(url).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(ask("validate"), "404 close");
    let path = first.decoded(&secret["data"]["path"]).unwrap();
    assert_eq!(
        ask(&format!("{path}/deployments")),
        "400 close",
        "known, but that is no question"
    );
    assert_eq!(
        [ask(&path), ask(&format!("{path}/deployments/x"))],
        ["404 close", "400 close"]
    );
}

/// A connection that asks nothing.
async fn idle(address: &str, authority: &[u8]) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authority).map(Result::unwrap));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap()
}

#[test]
fn idle_connections_lock_nobody_out() {
    let env = env("idle-clients");
    env.apply(&[config_map(
        "broken",
        "ops",
        "- type: remove\n  path: /instance_gruops/0\n",
    )])
    .unwrap();
    env.deploy().unwrap();
    let broken = env.deployment(&["broken"]);
    wait_for_answer(&env, &broken, "a refusal", |answer| !answer.success);
    let configuration = format!("validatingwebhookconfiguration/boson.{}", env.namespace);
    let url = &env.get(&configuration).unwrap()["webhooks"][0]["clientConfig"]["url"];
    let address = url.as_str().unwrap().split('/').nth(2).unwrap().to_string();
    let secret = env.get("secret/boson-webhook").unwrap();
    let authority = env.decoded(&secret["data"]["ca.crt"]).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut clients = runtime.block_on(async {
        let mut clients = Vec::new();
        // More than it has places.
        for _ in 0..300 {
            let client = timeout(PLACE_TIMEOUT, idle(&address, authority.as_bytes())).await;
            clients.push(client.expect("a place for a new client"));
        }
        clients
    });
    // With another authority, the API server has to connect again.
    replace_authority(&env);
    wait_for_answer(&env, &broken, "a refusal with another certificate", |answer| {
        !answer.success
    });
    // The last one gives its place back by itself, too.
    let last = clients.last_mut().unwrap();
    let closed = runtime.block_on(async { timeout(PLACE_TIMEOUT, last.read(&mut [0])).await });
    assert!(closed.is_ok(), "{closed:?}");
}
