//! Calls against a server that misbehaves as real ones do. A real API server cannot be made to lose an answer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails says so"
)]

use boson_cluster::client::{ANSWER_TIMEOUT, Cluster, ErrorKind, Events, FieldManager};
use boson_cluster::objects::drift::{self, AddedByOthers, Foreign};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Secret;
use kube::{Client, Config};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

const MANAGER: FieldManager = FieldManager("test");
const ABSENT: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#;
const BUSY: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":1}}"#;
const EXISTS: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}"#;
const CONFLICT: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}"#;
const LEAKS: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Invalid value: \"CANARY\"","reason":"Invalid","code":422}"#;

/// What the server answers to the n-th request: code and body, or nothing at all.
type Script = &'static [Option<(u16, &'static str)>];

/// A cluster whose server follows the script and then repeats its last line; and how often it was asked.
async fn scripted(script: Script) -> (Cluster, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let counter = counter.clone();
            let service = service_fn(move |_: Request<Incoming>| {
                let at = counter.fetch_add(1, Ordering::SeqCst).min(script.len() - 1);
                async move {
                    let Some((code, body)) = script[at] else {
                        return std::future::pending().await;
                    };
                    let response = Response::builder().status(code).body(Full::new(Bytes::from(body)));
                    Ok::<_, Infallible>(response.unwrap())
                }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    let mut config = Config::new(format!("http://{address}").parse().unwrap());
    config.default_retry = false;
    let cluster = Cluster::new(Client::try_from(config).unwrap(), Arc::default());
    (cluster, asked)
}

fn secret() -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some("s".into());
    secret.metadata.namespace = Some("n".into());
    secret
}

#[tokio::test]
async fn an_answer_that_never_comes_is_given_up() {
    let (cluster, asked) = scripted(&[None]).await;
    let cluster = cluster.with_answer_timeout(Duration::from_millis(200));
    let began = Instant::now();
    let error = cluster.get::<Secret>("n", "s").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoAnswer(Duration::from_millis(200)));
    assert!(began.elapsed() < ANSWER_TIMEOUT);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_then_left_alone() {
    let (cluster, asked) = scripted(&[Some((429, BUSY)), Some((404, ABSENT))]).await;
    assert_eq!(cluster.get::<Secret>("n", "s").await, Ok(None));
    assert_eq!(asked.load(Ordering::SeqCst), 2);

    let (cluster, asked) = scripted(&[Some((429, BUSY))]).await;
    let error = cluster.get::<Secret>("n", "s").await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Busy(_)), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_create_that_landed_while_its_answer_was_lost_is_no_error() {
    let (cluster, _) = scripted(&[Some((504, BUSY)), Some((409, EXISTS))]).await;
    let created = cluster.create(MANAGER, &secret()).await;
    assert!(matches!(created, Ok(None)), "{created:?}");
}

#[tokio::test]
async fn what_the_server_says_about_a_secret_is_not_repeated() {
    let (cluster, _) = scripted(&[Some((422, LEAKS))]).await;
    let error = cluster.create(MANAGER, &secret()).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("CANARY"), "{error}");
}

#[tokio::test]
async fn a_replacement_of_something_unseen_is_not_even_sent() {
    let (cluster, asked) = scripted(&[Some((200, "{}"))]).await;
    let error = cluster.replace(MANAGER, &secret()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_removed_change_is_reported_though_the_next_one_cannot_be_removed() {
    let live = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1", "managedFields": [
            {"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:more": {}}}}
        ]},
        "data": {"ours": "1", "more": "2"},
    });
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"ours": "1"}});
    let changed = AddedByOthers {
        additions: Foreign::of(&live, &wanted).additions,
        live,
    };
    assert_eq!(changed.additions.len(), 1, "{:?}", changed.additions);
    let mut owner = secret();
    owner.metadata.uid = Some("o".into());
    const REMOVED: &str =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","uid":"u"},"data":{"ours":"1"}}"#;
    // A trial, the removal and its event; then a trial that fails.
    let (cluster, asked) = scripted(&[
        Some((200, REMOVED)),
        Some((200, REMOVED)),
        Some((201, r#"{"metadata":{"name":"e"}}"#)),
        Some((409, CONFLICT)),
    ])
    .await;
    let events = Events::new(cluster, MANAGER, "test");
    let error = drift::remove(&events, &owner, &[changed.clone(), changed]).await;
    assert_eq!(error.unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(asked.load(Ordering::SeqCst), 4);
}
