//! A mutating webhook as clusters have them: it adds a variable, a toleration and a volume to pods and to their
//! controllers, and changes images to those of a mirror. It changes each object only once.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::shared;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The name of the added variable and volume, and the key of the toleration.
pub const INJECTED: &str = "injected";
/// The registry in changed images.
pub const MIRROR: &str = "mirror.example.com/";

/// Serves one namespace until it is dropped.
pub struct Webhook {
    name: String,
    task: JoinHandle<()>,
}

impl Webhook {
    pub async fn start(namespace: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (acceptor, authority) = certificate(directory.path());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let task = tokio::spawn(answer(listener, acceptor));
        let name = format!("mutating-{namespace}");
        let rule = |group: &str, resource: &str| json!({"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]});
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": name},
            "webhooks": [{
                "name": "injector.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                "reinvocationPolicy": "IfNeeded",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [rule("apps", "statefulsets"), rule("", "pods")],
                "clientConfig": {"url": url, "caBundle": STANDARD.encode(authority)}
            }]
        });
        shared().unwrap().apply("", &[configuration]).unwrap();
        Self { name, task }
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        let configuration = format!("mutatingwebhookconfiguration/{}", self.name);
        let _ = shared().unwrap().delete("", &configuration);
        self.task.abort();
    }
}

/// A self-signed certificate.
fn certificate(directory: &Path) -> (TlsAcceptor, Vec<u8>) {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=webhook -addext subjectAltName=IP:127.0.0.1 \
                     -keyout key.pem -out certificate.pem";
    let made = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|file| fs::read(directory.join(file)).unwrap());
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&certificate)
        .collect::<Result<_, _>>()
        .unwrap();
    let key = PrivateKeyDer::from_pem_slice(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate)
}

async fn answer(listener: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(review))
                .await;
        });
    }
}

async fn review(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let object = &review["request"]["object"];
    let path = match object["kind"].as_str() {
        Some("StatefulSet") => "/spec/template/spec",
        _ => "/spec",
    };
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    let spec = object.pointer(path).unwrap();
    let changed = mutated(spec.clone());
    // Few fields of a running pod can be changed.
    if changed != *spec && review["request"]["operation"] == "CREATE" || path != "/spec" {
        let patch = json!([{"op": "replace", "path": path, "value": changed}]);
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(patch.to_string()).into();
    }
    let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    let answer = Response::builder()
        .header("content-type", "application/json")
        .body(answer.to_string().into());
    Ok(answer.unwrap())
}

fn mutated(mut spec: Value) -> Value {
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            push(&mut container["env"], "name", json!({"name": INJECTED, "value": "x"}));
            let image = container["image"].as_str().unwrap_or_default();
            if !image.starts_with(MIRROR) {
                container["image"] = format!("{MIRROR}{image}").into();
            }
        }
    }
    push(
        &mut spec["tolerations"],
        "key",
        json!({"key": INJECTED, "operator": "Exists"}),
    );
    push(&mut spec["volumes"], "name", json!({"name": INJECTED, "emptyDir": {}}));
    spec
}

fn push(list: &mut Value, key: &str, item: Value) {
    if list.is_null() {
        *list = json!([]);
    }
    let items = list.as_array_mut().unwrap();
    if items.iter().all(|other| other[key] != item[key]) {
        items.push(item);
    }
}
