//! Certificates of the webhooks: they are replaced while pods that ask for links are created, and none is refused.

use crate::links::{BROKER, annotations, deployed, pod, wait_until_created};
use crate::operator::Environment;
use anyhow::{Context, ensure};
use boson_tests::{WAIT_TIMEOUT, wait_until_ok};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// Creates a pod that asks for a link, which must not fail.
fn admitted(env: &Environment, name: &str) {
    let pod = pod(name, &annotations("nats", BROKER));
    env.cluster.create(&env.namespace, &pod).unwrap();
}

/// Creates pods that ask for a link until `after` of them came after the certificate was replaced. None may fail.
/// `before`: the Secret of the webhook with the earlier certificate.
fn create_until_replaced(env: &Environment, before: &Value, after: usize, timeout: Duration) {
    let (mut created, mut replaced) = (0, 0);
    let look = || {
        admitted(env, &format!("during-{created}"));
        created += 1;
        let secret = env.get("secret/boson-webhook")?;
        replaced += usize::from(secret["data"]["tls.crt"] != before["data"]["tls.crt"]);
        ensure!(
            replaced >= after,
            "{replaced} of {created} pods with another certificate"
        );
        Ok(())
    };
    env.operator
        .wait_for_value("another certificate", timeout, look)
        .unwrap();
}

#[test]
fn certificates_rotate_without_a_failed_admission() {
    let env = deployed("link-certificates", "link-certificates-none");
    wait_until_created(&env, &pod("first", &annotations("nats", BROKER)));
    let secret = || env.get("secret/boson-webhook").unwrap();
    let before = secret();
    // The operator replaces a certificate whose names differ; the authority and the key of digests stay.
    env.kubectl(&[
        "patch",
        "secret/boson-webhook",
        r#"--patch={"stringData": {"names": "other"}}"#,
    ])
    .unwrap();
    create_until_replaced(&env, &before, 5, WAIT_TIMEOUT);
    for same in ["ca.crt", "path", "digest-key"] {
        assert_eq!(secret()["data"][same], before["data"][same], "{same}");
    }
}

/// Makes an authority of certificates that is valid from `$FROM` to `$TO`.
const AUTHORITY: &str = "set -e
printf '%s\\n' '[ca]' default_ca=own '[own]' database=index.txt serial=serial new_certs_dir=. default_md=sha256 \
    policy=names x509_extensions=extensions '[names]' commonName=supplied '[extensions]' \
    basicConstraints=critical,CA:TRUE keyUsage=critical,keyCertSign subjectKeyIdentifier=hash > ca.conf
touch index.txt
echo 01 > serial
openssl genrsa -traditional -out key.pem 2048
openssl req -new -key key.pem -subj '/CN=next authority' -out request.pem
openssl ca -batch -selfsign -notext -config ca.conf -keyfile key.pem -in request.pem -out ca.pem \
    -startdate $(date -u -d \"$FROM\" +%Y%m%d%H%M%SZ) -enddate $(date -u -d \"$TO\" +%Y%m%d%H%M%SZ)";

/// Certificate and key of an authority that is valid between these times, as `date` reads them.
fn authority(from: &str, to: &str) -> [String; 2] {
    let directory = tempfile::tempdir().unwrap();
    let made = Command::new("sh")
        .args(["-c", AUTHORITY])
        .envs([("FROM", from), ("TO", to)])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    ["ca.pem", "key.pem"].map(|name| std::fs::read_to_string(directory.path().join(name)).unwrap())
}

/// Gives the operator this authority as the next one.
fn hand_over(env: &Environment, [certificate, key]: &[String; 2]) {
    let patch = json!({"stringData": {"next-ca.crt": certificate, "next-ca.key": key}});
    env.kubectl(&["patch", "secret/boson-webhook", &format!("--patch={patch}")])
        .unwrap();
}

/// The authorities that API servers trust for each webhook.
fn trusted(env: &Environment) -> [String; 2] {
    ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"].map(|kind| {
        let configuration = env.get(&format!("{kind}/boson.{}", env.namespace)).unwrap();
        let bundle = &configuration["webhooks"][0]["clientConfig"]["caBundle"];
        env.decoded(bundle).unwrap()
    })
}

#[test]
fn the_authority_rotates_without_a_failed_admission() {
    let env = deployed("link-authority", "link-authority-none");
    wait_until_created(&env, &pod("first", &annotations("nats", BROKER)));
    let secret = || env.get("secret/boson-webhook").unwrap();
    let before = secret();
    // As if the operator had made the next authority, backdated by an hour because clocks differ. It publishes the
    // authority first, and lets it sign a minute later.
    let next = authority("1 hour ago", "1000 days");
    hand_over(&env, &next);
    create_until_replaced(&env, &before, 10, WAIT_TIMEOUT * 2);
    let data = secret()["data"].clone();
    assert_eq!(env.decoded(&data["ca.crt"]).unwrap(), next[0]);
    assert_eq!(data["previous-ca.crt"], before["data"]["ca.crt"]);
    assert_eq!(data["next-ca.crt"], Value::Null);
    for same in ["path", "digest-key"] {
        assert_eq!(data[same], before["data"][same], "{same}");
    }
    // API servers trust both as long as a process may serve the earlier certificate.
    for bundle in trusted(&env) {
        for authority in [&data["ca.crt"], &data["previous-ca.crt"]] {
            assert!(bundle.contains(env.decoded(authority).unwrap().trim()));
        }
    }
}

/// The next authority, if API servers trust it for each webhook while the certificate is still this one.
fn announced(env: &Environment, certificate: &Value) -> Option<String> {
    let bundles = trusted(env);
    // Read after the configurations: the certificate is not newer than it was when they were read.
    let data = env.get("secret/boson-webhook").unwrap()["data"].clone();
    let next = env.decoded(data.get("next-ca.crt")?).unwrap();
    let is_in_all = bundles.iter().all(|bundle| bundle.contains(next.trim()));
    (is_in_all && &data["tls.crt"] == certificate).then_some(next)
}

#[test]
fn a_new_authority_is_announced_before_its_certificate_is_served_and_no_admission_fails() {
    let env = deployed("link-announced", "link-announced-none");
    wait_until_created(&env, &pod("first", &annotations("nats", BROKER)));
    // An authority in the last third of its life. The operator uses it at once, because it is not new, and replaces it.
    let worn = authority("1000 days ago", "100 days");
    hand_over(&env, &worn);
    let data = || env.get("secret/boson-webhook").unwrap()["data"].clone();
    wait_until_ok("the worn authority", || Ok(env.decoded(&data()["ca.crt"])? == worn[0]));
    wait_until_created(&env, &pod("second", &annotations("nats", BROKER)));

    // The operator makes its successor, and publishes it. From here on, no pod may be refused.
    let before = env.get("secret/boson-webhook").unwrap();
    let mut early = 0;
    let look = || {
        admitted(&env, &format!("early-{early}"));
        early += 1;
        announced(&env, &before["data"]["tls.crt"]).context("none")
    };
    let next = env
        .operator
        .wait_for_value("an announced authority", WAIT_TIMEOUT, look)
        .unwrap();
    create_until_replaced(&env, &before, 10, WAIT_TIMEOUT * 2);
    let data = data();
    assert_eq!(env.decoded(&data["ca.crt"]).unwrap(), next, "the announced one signs");
    assert_eq!(env.decoded(&data["previous-ca.crt"]).unwrap(), worn[0]);
    for same in ["path", "digest-key"] {
        assert_eq!(data[same], before["data"][same], "{same}");
    }
    for bundle in trusted(&env) {
        assert!([&next, &worn[0]].iter().all(|one| bundle.contains(one.trim())));
    }
}
