//! Documents from web servers: read from allowed hosts, again when they change, and running objects are not changed
//! while a server is unavailable.

use crate::objects::{condition, is};
use crate::operator::Environment;
use boson_tests::{root, wait_until_ok};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A web server with documents that tests may change. It supports ETags.
#[derive(Clone)]
pub struct Server {
    pub address: String,
    documents: Arc<Mutex<HashMap<String, String>>>,
    /// Requested paths, with the answer's code.
    answers: Arc<Mutex<Vec<(String, u16)>>>,
}

// === impl Server ===

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap().to_string(),
            documents: Arc::default(),
            answers: Arc::default(),
        };
        let own = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = own.converse(stream);
            }
        });
        server
    }

    pub fn put(&self, path: &str, text: &str) {
        self.documents.lock().insert(path.into(), text.into());
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn count(&self, path: &str, code: u16) -> usize {
        let answers = self.answers.lock();
        answers.iter().filter(|one| **one == (path.to_string(), code)).count()
    }

    fn converse(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        let path = first.split(' ').nth(1).unwrap_or_default().to_string();
        let mut known = None;
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            if let Some(tag) = line.to_lowercase().strip_prefix("if-none-match: ") {
                known = Some(tag.to_string());
            }
        }
        let found = self.documents.lock().get(&path).cloned();
        let (code, head, body) = match found {
            None => (404, String::new(), String::new()),
            Some(text) if text.starts_with("-> ") => (302, format!("Location: {}\r\n", &text[3..]), String::new()),
            Some(text) => {
                let tag = format!("\"{}-{}\"", text.len(), text.bytes().map(u64::from).sum::<u64>());
                if known.as_deref() == Some(&tag) {
                    (304, String::new(), String::new())
                } else {
                    (200, format!("ETag: {tag}\r\n"), text)
                }
            }
        };
        self.answers.lock().push((path, code));
        write!(
            stream,
            "HTTP/1.1 {code} x\r\n{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

fn deployment(env: &Environment, manifest: &str, ops: &str) -> Value {
    let mut object = env.deployment(&[]);
    object["spec"]["manifest"] = json!({"type": "url", "name": manifest});
    object["spec"]["ops"] = json!([{"type": "url", "name": ops}]);
    object
}

/// Triggers a reconcile; the periodic one comes only after some minutes.
fn trigger(env: &Environment, word: &str) {
    env.kubectl(&[
        "label",
        "--overwrite",
        "boshdeployment/nats",
        &format!("trigger={word}"),
    ])
    .unwrap();
}

#[test]
fn documents_are_read_from_allowed_web_servers() {
    let server = Server::start();
    let example = root().join("docs/examples/nats");
    let read = |name: &str| std::fs::read_to_string(example.join(name)).unwrap();
    server.put("/manifest.yml", &read("manifest.yml"));
    server.put("/scale.yml", &read("ops/scale.yml"));
    server.put("/away.yml", "-> http://localhost:1/elsewhere");
    let env = Environment::with(
        "web",
        &[
            "--webhook-listen",
            "off",
            "--document-host-without-tls",
            &server.address,
        ],
    )
    .unwrap();
    let reported = |what: &str, words: &str| {
        let deployment = env
            .wait_for_deployment(what, |deployment| {
                is(deployment, "Converted", "False")
                    && condition(deployment, "Converted").is_some_and(|one| one["message"].to_string().contains(words))
            })
            .unwrap();
        condition(&deployment, "Converted").unwrap()["reason"].clone()
    };
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-system-domain"},
        "stringData": {"value": "example.com"}});

    // A host that is not allowed, and one that an allowed host redirects to.
    let scale = server.url("/scale.yml");
    env.apply(&[secret, deployment(&env, "http://localhost:1/manifest.yml", &scale)])
        .unwrap();
    assert_eq!(reported("a refusal", "--document-host"), "DeploymentUrl");
    env.apply(&[deployment(&env, &server.url("/away.yml"), &scale)])
        .unwrap();
    assert_eq!(reported("a refused redirect", "redirects"), "DeploymentUrlUnread");

    env.apply(&[deployment(&env, &server.url("/manifest.yml?token=CANARY"), &scale)])
        .unwrap();
    server.put("/manifest.yml?token=CANARY", &read("manifest.yml"));
    let applied = |deployment: &Value| is(deployment, "Applied", "True") && is(deployment, "Converted", "True");
    trigger(&env, "a");
    env.wait_for_deployment("Applied", applied).unwrap();
    let mut times = 0;
    wait_until_ok("a document that is asked for by its tag", || {
        trigger(&env, &format!("b{times}"));
        times += 1;
        Ok(server.count("/scale.yml", 304) > 0)
    });

    // A broken document is reported with its place; running objects are not changed.
    server.put("/scale.yml", "- type: remove\n  path: /instance_gruops/0\n");
    trigger(&env, "c");
    let place = format!("{scale}:2:9");
    assert_eq!(reported("a mistake", &place), "OpsMissingKey");
    server.documents.lock().remove("/scale.yml");
    trigger(&env, "d");
    assert_eq!(reported("a missing document", "404"), "DeploymentUrlUnread");
    env.get("quarksstatefulset/nats-broker").unwrap();
    let status = env.get("boshdeployment/nats").unwrap()["status"].to_string();
    assert!(!status.contains("CANARY"), "{status}");
    server.put("/scale.yml", &read("ops/scale.yml"));
    env.wait_for_deployment("Applied again", applied).unwrap();
}
