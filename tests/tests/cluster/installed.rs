//! An operator as `deploy/` installs it: the same account, RBAC rules and options. Only its process runs outside of the
//! cluster, which has no nodes here.

use crate::objects::MONITORED;
use crate::operator::example_registry;
use crate::plugin_objects;
use crate::rbac::text;
use crate::shared_cluster::documents;
use crate::world::World;
use anyhow::Result;
use boson_tests::WAIT_TIMEOUT;
use boson_tests::cluster::{Cluster, Operator, shared};
use boson_tests::ports::free_port;
use boson_tests::registry::Server;
use boson_tests::root;
use serde_json::{Value, json};
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Namespace of the installation.
pub const SYSTEM: &str = "boson-system";
/// Kustomizations of the tests: all options of `deploy/`, in the whole cluster; and for listed namespaces.
pub const EVERYTHING: &str = "tests/cluster/installations/everything";
pub const LISTED: &str = "tests/cluster/installations/listed";
/// Its account there.
const ACCOUNT: &str = "boson";

/// An operator that serves two namespaces.
pub struct Installed {
    pub registry: Server,
    pub namespaces: [String; 2],
    /// The first of them.
    world: World,
    /// The namespace of its account and lease.
    pub system: String,
    /// Whether it serves webhooks.
    pub webhooks: bool,
    pub operator: Operator,
}

/// The rendered content of a folder of `deploy/`.
pub fn rendered(folder: &str) -> Result<Vec<Value>> {
    let path = root().join(folder);
    let text = shared()?.kubectl(["kustomize".as_ref(), path.as_os_str()])?;
    Ok(documents(&text))
}

/// `kubectl apply -k` of everything, once.
pub fn install() -> Result<()> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    let apply = || -> Result<()> {
        let path = root().join(EVERYTHING);
        // Never at the same time: `kubectl apply` fails if a kind comes to exist while it creates it.
        shared()?.define()?;
        shared()?.kubectl(["apply".as_ref(), "-k".as_ref(), path.as_os_str()])?;
        shared()?.wait_until_established()
    };
    DONE.get_or_init(|| apply().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(anyhow::Error::msg)
}

/// Writes a kubeconfig with a token of the operator's account to this directory. `system`: its namespace.
pub fn kubeconfig(cluster: &Cluster, system: &str, files: &Path) -> Result<PathBuf> {
    let create = ["create", "token", ACCOUNT, "--namespace", system, "--duration", "2h"];
    let token = cluster.kubectl(create)?;
    let config = cluster.kubectl(["config", "view", "--raw", "--output", "json"])?;
    let mut config: Value = serde_json::from_str(&config)?;
    config["users"][0]["user"] = json!({ "token": token.trim() });
    let path = files.join("kubeconfig");
    fs::write(&path, config.to_string())?;
    Ok(path)
}

// === impl Installed ===

impl Installed {
    /// As in `deploy/cluster-wide`, with all options: for the namespaces with the label.
    pub fn labelled() -> Result<Self> {
        let mut installed = Self::new(SYSTEM.into(), "labelled")?;
        let webhook = format!("127.0.0.1:{}", free_port()?);
        let url = format!("https://{webhook}");
        installed.operator.set("BOSON_WEBHOOK_LISTEN", Some(webhook.into()));
        installed.operator.set("BOSON_WEBHOOK_URL", Some(url.into()));
        installed.operator.set("BOSON_POD_LINKS", Some("true".into()));
        installed.webhooks = true;
        installed
            .operator
            .set("BOSON_SIGNER_NAME", Some("quarks.cloudfoundry.org/boson".into()));
        installed.operator.set("BOSON_PLUGIN_UPDATES", Some("approve".into()));
        for namespace in &installed.namespaces {
            installed.cluster.label_namespace(namespace, MONITORED, "boson")?;
        }
        installed.start(true)?;
        Ok(installed)
    }

    /// As in `deploy/listed`, in its own namespace: for a fixed list.
    pub fn listed() -> Result<Self> {
        let system = shared()?.namespace("listed-system")?;
        let mut installed = Self::new(system, "listed")?;
        let objects = rendered(LISTED)?;
        for namespace in &installed.namespaces {
            let moved: Vec<Value> = objects
                .iter()
                .filter_map(|object| installed.moved(object, namespace))
                .collect();
            installed.apply_all(&moved)?;
        }
        let namespaces = installed.namespaces.join(",");
        installed.operator.set("BOSON_PLUGIN_UPDATES", Some("approve".into()));
        installed.operator.set("BOSON_NAMESPACES", Some(namespaces.into()));
        installed.start(true)?;
        Ok(installed)
    }

    /// As in `deploy/listed`, but with changed RBAC rules; it may not work.
    pub fn with_rules(name: &str, change: impl Fn(&str, &Value) -> bool) -> Result<Self> {
        let system = shared()?.namespace(&format!("{name}-system"))?;
        let mut installed = Self::new(system, name)?;
        let namespace = installed.namespaces[0].clone();
        let mut moved = Vec::new();
        for mut object in rendered(LISTED)? {
            if let Some(rules) = object.get_mut("rules").and_then(Value::as_array_mut) {
                rules.retain(|rule| change(text(&rule["resources"][0]), rule));
            }
            if object["kind"] == "ClusterRole" {
                object["kind"] = "Role".into();
                object["metadata"]["namespace"] = "default".into();
            }
            if object["roleRef"]["kind"] == "ClusterRole" {
                object["roleRef"]["kind"] = "Role".into();
            }
            moved.extend(installed.moved(&object, &namespace));
        }
        installed.apply_all(&moved)?;
        installed.operator.set("BOSON_NAMESPACES", Some(namespace.into()));
        installed.start(false)?;
        Ok(installed)
    }

    fn new(system: String, name: &str) -> Result<Self> {
        install()?;
        let cluster = shared()?;
        let world = World::new(cluster, name)?;
        let registry = example_registry()?;
        let operator = Operator::new(cluster, &system)?.registry(&registry);
        let files = operator.files().to_path_buf();
        fs::write(files.join("extras.wasm"), plugin_objects::plugin())?;
        Ok(Self {
            registry,
            namespaces: [world.namespace.clone(), cluster.namespace(name)?],
            world,
            system,
            webhooks: false,
            operator: operator
                .variable("BOSON_LOG_FORMAT", "json")
                .variable("XDG_CACHE_HOME", files),
        })
    }

    /// The same object for another installation: only RBAC rules and account, with `default` as the served namespace.
    fn moved(&self, object: &Value, served: &str) -> Option<Value> {
        if !matches!(text(&object["kind"]), "ServiceAccount" | "Role" | "RoleBinding") {
            return None;
        }
        let place = |name: &str| {
            if name == SYSTEM {
                self.system.clone()
            } else {
                served.into()
            }
        };
        let mut moved = object.clone();
        moved["metadata"]["namespace"] = place(text(&object["metadata"]["namespace"])).into();
        let subjects = moved.get_mut("subjects").and_then(Value::as_array_mut);
        for subject in subjects.into_iter().flatten() {
            subject["namespace"] = place(text(&subject["namespace"])).into();
        }
        Some(moved)
    }

    // --- the process ---

    /// Its name before the API server.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{ACCOUNT}", self.system)
    }

    /// Starts it: with the plugin of [`extras`], or without.
    pub fn start(&mut self, extras: bool) -> Result<()> {
        let plugin = format!("resources={}", self.operator.files().join("extras.wasm").display());
        let kubeconfig = kubeconfig(self.cluster, &self.system, self.operator.files())?;
        self.operator.set("BOSON_KUBECONFIG", Some(kubeconfig.into()));
        self.operator.set("BOSON_PLUGIN", extras.then(|| plugin.into()));
        self.operator.start()
    }

    /// As in the output of `ps`.
    pub fn command_line(&self) -> Result<String> {
        Ok(fs::read_to_string(format!(
            "/proc/{}/cmdline",
            self.operator.process()?
        ))?)
    }

    // --- the cluster, as an administrator ---

    /// Applies objects, to the first namespace unless they name one.
    pub fn apply_all(&self, objects: &[Value]) -> Result<()> {
        self.cluster.force_apply(&self.namespace, objects)
    }

    /// Empty if there is no such object.
    pub fn uid(&self, what: &str) -> Result<String> {
        let found = self.find(what)?.unwrap_or_default();
        Ok(text(&found["metadata"]["uid"]).to_owned())
    }

    pub fn exists(&self, what: &str) -> Result<bool> {
        Ok(!self.uid(what)?.is_empty())
    }

    /// Waits until the condition is met.
    pub fn wait_until(&self, what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
        let there = || {
            let all = "boshdeployments,quarkssecrets,statefulsets,secrets,services";
            let there = self.kubectl(&["get", all, "--output=name"]).unwrap_or_default();
            format!(
                "there is\n{there}\n{:#}",
                self.get("boshdeployments").unwrap_or_default()
            )
        };
        self.operator.wait_until(what, WAIT_TIMEOUT, holds, there)
    }

    /// Like [`Self::wait_until`], for an operator that may not work: only its own output says why.
    pub fn wait_until_said(&self, what: &str, said: impl Fn() -> Result<bool>) -> Result<()> {
        let ready = || format!("{:?}", self.operator.ask("/ready"));
        self.operator.wait_until(what, WAIT_TIMEOUT, said, ready)
    }

    /// Waits until the object exists, or until it does not.
    pub fn wait_until_there(&self, what: &str, there: bool) -> Result<()> {
        let words = if there { "" } else { "the end of " };
        self.wait_until(&format!("{words}{what}"), || Ok(self.exists(what)? == there))
    }
}

impl Deref for Installed {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}
