//! Certificates from CertificateSigningRequests: by the operator's own signer, and by a signer of Kubernetes with a
//! user's approval.

use crate::objects::MONITORED;
use crate::operator_tasks::OperatorTasks;
use anyhow::ensure;
use boson_api::QuarksSecret;
use boson_cluster::namespaces::Namespaces;
use boson_tests::cluster::shared;
use boson_tests::wait_for_value;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt};
use std::io::Write;
use std::process::Command;

/// For the built-in signer: a name in the test's namespace.
fn own(env: &OperatorTasks) -> String {
    let name = format!("a.{}.svc", env.namespace);
    format!(
        "{{spec: {{type: certificate, secretName: served, secretLabels: {{a: b}}, request: {{certificate: {{commonName: {name}, \
         alternativeNames: [{name}], keyLength: 2048, signerType: cluster}}}}}}, metadata: {{name: served}}}}"
    )
}

const CLIENT: &str = r"
{spec: {type: certificate, secretName: client, request: {certificate: {commonName: client-user, organization: people, keyLength: 2048,
  signerType: cluster, usages: [client auth]}}}, metadata: {name: client}}
";

/// Remaining requests of this namespace.
async fn requests(env: &OperatorTasks) -> Vec<CertificateSigningRequest> {
    let api: Api<CertificateSigningRequest> = Api::all(env.client.clone());
    let all = api.list(&ListParams::default()).await.unwrap().items;
    let here = |request: &CertificateSigningRequest| request.name_any().starts_with(&env.namespace);
    all.into_iter().filter(here).collect()
}

/// Waits until only the certificate is left of a request.
async fn wait_until_cleared(env: &OperatorTasks) {
    wait_for_value("the end of the request and its key", async || {
        let names = env.values().await.into_keys();
        let keys: Vec<String> = names.filter(|name| name.ends_with("-csr-private-key")).collect();
        let requests = requests(env).await;
        ensure!(keys.is_empty() && requests.is_empty(), "{keys:?} {requests:?}");
        Ok(())
    })
    .await;
}

/// openssl's verification of a certificate by an authority.
fn verified(certificate: &str, authority: &str) -> bool {
    let file = |text: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    };
    let (certificate, authority) = (file(certificate), file(authority));
    let mut openssl = Command::new("openssl");
    openssl
        .args(["verify", "-CAfile"])
        .arg(authority.path())
        .arg(certificate.path());
    openssl.output().unwrap().status.success()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_approves_and_signs_its_own_requests() {
    let env = OperatorTasks::set("own-signer").await;
    let operator = env.operator("one");
    env.apply(&own(&env)).await;
    env.wait_until_ready(&["served"]).await;
    wait_until_cleared(&env).await;
    let certificate = env.text("served", "certificate").await.unwrap_or_default();
    let authority = env.text("served", "ca").await.unwrap_or_default();
    assert!(verified(&certificate, &authority));
    assert_eq!(env.text("boson-signer", "ca.crt").await, Some(authority));
    let secret = env.api::<Secret>().get("served").await.unwrap();
    assert_eq!(secret.labels()["a"], "b");

    env.is_idle().await;
    // A deleted object is recreated.
    env.api::<Secret>()
        .delete("served", &DeleteParams::default())
        .await
        .unwrap();
    env.wait_for_change("served", "certificate", &Some(certificate)).await;
    wait_until_cleared(&env).await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_authority_is_replaced_and_signs_all_certificates_again() {
    let env = OperatorTasks::set("own-signer-deleted").await;
    // Its Secret is in none of the served namespaces.
    let served = OperatorTasks::set("own-signer-served").await;
    let id = env.namespace.clone();
    shared()
        .unwrap()
        .label_namespace(&served.namespace, MONITORED, &id)
        .unwrap();
    let operator = env.operator_for(env.client.clone(), Namespaces::Monitored(id), "one");
    served.apply(&own(&served)).await;
    served.wait_until_ready(&["served"]).await;
    wait_until_cleared(&served).await;
    let (before, key) = (
        served.text("served", "certificate").await,
        served.text("served", "private_key").await,
    );
    let deleted = env
        .api::<Secret>()
        .delete("boson-signer", &DeleteParams::default())
        .await;
    deleted.unwrap();
    let certificate = served.wait_for_change("served", "certificate", &before).await.unwrap();
    wait_until_cleared(&served).await;
    assert_eq!(served.text("served", "private_key").await, key);
    let authority = env.text("boson-signer", "ca.crt").await.unwrap();
    assert!(verified(&certificate, &authority));
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signer_of_kubernetes_is_waited_for_and_its_key_outlives_the_operator() {
    let env = OperatorTasks::set("cluster-signer").await;
    let start = |client: Client| {
        let here = Namespaces::Fixed([env.namespace.clone()].into());
        env.operator_signed_by("kubernetes.io/kube-apiserver-client", client, here, "one")
    };
    let operator = start(env.client.clone());
    env.apply(CLIENT).await;
    env.wait_for_object("client", "the reason", |object: &QuarksSecret| {
        let status = object.status.clone().unwrap_or_default();
        status
            .conditions
            .iter()
            .any(|condition| condition.message.contains("waits for approval"))
    })
    .await;
    let request = requests(&env).await.pop().unwrap();
    let key = format!("{}-csr-private-key", request.name_any());
    let before = env.text(&key, "private_key").await;
    assert!(before.is_some());
    operator.kill().await;

    // Another user approves while no operator runs.
    shared()
        .unwrap()
        .kubectl(["certificate", "approve", &request.name_any()])
        .unwrap();
    let operator = start(env.client.clone());
    env.wait_until_ready(&["client"]).await;
    wait_until_cleared(&env).await;
    assert_eq!(env.text("client", "private_key").await, before);
    let (certificate, authority) = (env.text("client", "certificate").await, env.text("client", "ca").await);
    assert!(verified(&certificate.unwrap(), &authority.unwrap()));
    operator.stop().await;
}
