//! Plugins from ConfigMaps, with a real API server and the real operator, which is never restarted.

use crate::guests::Guest;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boson_tests::cluster::{Cluster, Operator, shared};
use boson_tests::registry::{Server, push_example};
use boson_tests::{Ran, binary, host, root};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// Timeout of a step on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// An operator with its own namespace, and two namespaces that it serves.
pub struct Scene {
    pub cluster: &'static Cluster,
    /// The operator's namespace.
    pub own: String,
    /// With a deployment.
    pub here: String,
    /// Without one.
    there: String,
    pub registry: Server,
    pub operator: Operator,
}

// === impl Scene ===

impl Scene {
    /// The operator gets the list of namespaces.
    pub fn new() -> Result<Self> {
        Self::with(|_, here, there| Ok(["--namespace", here, "--namespace", there].map(String::from).into()))
    }

    /// The operator finds them by their label.
    fn monitored(id: &str) -> Result<Self> {
        Self::with(|cluster, here, there| {
            let label = format!("quarks.cloudfoundry.org/monitored={id}");
            cluster.kubectl(["label", "namespace", here, there, &label])?;
            Ok(["--monitored-id", id].map(String::from).into())
        })
    }

    /// `serve`: the operator's arguments for these two namespaces.
    pub fn with(serve: impl FnOnce(&Cluster, &str, &str) -> Result<Vec<String>>) -> Result<Self> {
        let cluster = shared()?;
        cluster.define()?;
        let registry = Server::start(false)?;
        push_example(&registry)?;
        let [own, here, there] = ["own", "here", "there"].map(|name| cluster.namespace(&format!("plugins-{name}")));
        let (own, here, there) = (own?, here?, there?);
        let served = serve(cluster, &here, &there)?;
        let mut scene = Self {
            operator: Operator::new(cluster, &own)?.registry(&registry).arguments(served),
            cluster,
            own,
            here,
            there,
            registry,
        };
        scene.operator.start()?;
        Ok(scene)
    }

    /// The documented example.
    pub fn deploy(&self) -> Result<()> {
        let example = root().join("docs/examples/nats");
        let map = |name: &str, key: &str, file: &str| -> Result<Value> {
            let text = fs::read_to_string(example.join(file))?;
            Ok(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}}))
        };
        let deployment = json!({
            "apiVersion": "quarks.cloudfoundry.org/v1alpha1", "kind": "BOSHDeployment", "metadata": {"name": "nats"},
            "spec": {
                "manifest": {"type": "configmap", "name": "nats-manifest"}, "ops": [{"type": "configmap", "name": "nats-scale"}],
                "conversion": {"mode": "InProcess", "registry": format!("{}/bosh", self.registry.host())}
            }
        });
        let value = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "nats.var-implicit-system-domain"},
            "stringData": {"value": "example.com"}});
        let manifest = map("nats-manifest", "manifest", "manifest.yml")?;
        let scale = map("nats-scale", "ops", "ops/scale.yml")?;
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [manifest, scale, value, deployment]});
        self.apply(&self.here, &list.to_string())
    }

    pub fn apply(&self, namespace: &str, text: &str) -> Result<()> {
        let arguments = [
            "--namespace",
            namespace,
            "apply",
            "--server-side",
            "--force-conflicts",
            "--filename=-",
        ];
        let answer = self.cluster.try_kubectl(arguments, text)?;
        ensure!(answer.success, "{}", answer.stderr);
        Ok(())
    }

    /// Packs a component as a user would, and applies the resulting ConfigMaps; returns them.
    pub fn add(&self, namespace: &str, stage: &str, component: &[u8], more: &[&str]) -> Result<String> {
        let file = self.operator.files().join("plugin.wasm");
        fs::write(&file, component)?;
        let file = file.to_str().context("a path of text")?;
        let packed = host(
            self.operator.files(),
            ["plugin", "pack", stage, file].iter().chain(more),
        )?;
        ensure!(packed.code == 0, "{}", packed.stderr);
        self.apply(namespace, &packed.stdout)?;
        Ok(packed.stdout)
    }

    fn remove(&self, namespace: &str, maps: &str) -> Result<()> {
        let arguments = ["--namespace", namespace, "delete", "--filename=-"];
        let answer = self.cluster.try_kubectl(arguments, maps)?;
        ensure!(answer.success, "{}", answer.stderr);
        Ok(())
    }

    pub fn get(&self, what: &str) -> Result<Value> {
        let text = self
            .cluster
            .kubectl(["--namespace", &self.here, "get", what, "--output=json"])?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Waits until the deployment meets the condition.
    pub fn wait(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut deployment = Value::Null;
        let look = || {
            deployment = self.get("boshdeployment/nats")?;
            Ok(holds(&deployment))
        };
        let status = || format!("{:#}", self.get("boshdeployment/nats").unwrap_or_default()["status"]);
        self.operator.until(what, PATIENCE, look, status).unwrap();
        deployment
    }

    /// Waits until the deployment was converted with a plugin of this stage and name.
    pub fn used(&self, stage: &str, name: &str) -> Value {
        self.wait(&format!("{name} in {stage}"), |deployment| {
            uses(deployment, stage, name)
        })
    }

    /// Every object of the deployment's namespace, by kind and name, with its version, without pods and Kubernetes' own
    /// objects.
    fn versions(&self) -> Result<BTreeMap<String, String>> {
        let kinds = "boshdeployments,quarkssecrets,quarksstatefulsets,quarksjobs,secrets,configmaps,services,statefulsets.apps,jobs.batch,events.events.k8s.io";
        let list = self.get(kinds)?;
        let version = |object: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            let name = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
            (name, text(&object["metadata"]["resourceVersion"]))
        };
        // Controllers of Kubernetes count their own events as long as pods are not scheduled.
        let theirs = |object: &&Value| {
            object["kind"] == "Event"
                && !object["reportingController"]
                    .as_str()
                    .is_some_and(|name| name.starts_with("quarks.cloudfoundry.org/"))
        };
        let items = list["items"].as_array().into_iter().flatten();
        Ok(items.filter(|object| !theirs(object)).map(version).collect())
    }

    /// Waits until nothing has changed for some time; returns all objects.
    fn settled(&self) -> BTreeMap<String, String> {
        let (mut versions, mut since) = (BTreeMap::new(), Instant::now());
        let quiet = || {
            let now = self.versions()?;
            if now != versions {
                (versions, since) = (now, Instant::now());
            }
            Ok(since.elapsed() > Duration::from_secs(5))
        };
        self.operator.until("silence", PATIENCE, quiet, String::new).unwrap();
        versions
    }

    fn manifest(&self) -> String {
        self.text("secret/nats.with-ops")
    }

    /// An object as text, its data decoded.
    fn text(&self, what: &str) -> String {
        let arguments = ["--namespace", &self.here, "get", what, "-o"];
        let template = "go-template={{range $k, $v := .data}}{{$v | base64decode}}{{end}}";
        self.cluster
            .kubectl(arguments.iter().copied().chain([template]))
            .unwrap()
    }

    /// The newest Secret of a series, as text.
    fn newest(&self, series: &str) -> String {
        let all = self
            .cluster
            .kubectl(["--namespace", &self.here, "get", "secret", "-o", "name"])
            .unwrap();
        let number = |name: &str| {
            name.rsplit_once("-v")
                .and_then(|(_, number)| number.parse::<u32>().ok())
        };
        let newest = all
            .lines()
            .filter(|name| name.starts_with(&format!("secret/{series}-v")))
            .max_by_key(|name| number(name));
        self.text(newest.unwrap())
    }
}

pub fn uses(deployment: &Value, stage: &str, name: &str) -> bool {
    let used = deployment["status"]["plugins"].as_array();
    used.is_some_and(|used| used.iter().any(|one| one["stage"] == stage && one["name"] == name))
}

pub fn healthy<'v>(deployment: &'v Value, status: &str) -> Option<&'v Value> {
    let conditions = deployment["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|one| one["type"] == "PluginsHealthy" && one["status"] == status)
}

/// The installation's component of a stage.
pub fn built_in(stage: &str) -> Vec<u8> {
    let binary = binary().unwrap();
    let plugins = binary.ancestors().nth(2).unwrap().join("plugins");
    fs::read(plugins.join(format!("{stage}.wasm"))).unwrap()
}

/// A component with changed texts.
pub fn altered(mut component: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = component
        .windows(from.len())
        .position(|window| window == from.as_bytes())
        .unwrap();
    component[at..at + to.len()].copy_from_slice(to.as_bytes());
    component
}

pub const HOOKED: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hooked"},"data":{"a":"b"}}"#;

#[test]
fn only_plugins_of_allowed_namespaces_are_used() {
    let scene = Scene::with(|_, here, there| {
        let arguments = ["--namespace", here, "--namespace", there, "--plugins", "operator"];
        Ok(arguments.map(String::from).into())
    });
    let scene = scene.unwrap();
    scene.deploy().unwrap();
    scene.used("ops", "ops");
    let maps = scene.add(&scene.here, "ops", &Guest::ops("no-ops"), &[]).unwrap();
    let refused = scene.wait("a refused plugin", |deployment| {
        healthy(deployment, "False").is_some_and(|condition| condition["reason"] == "PluginNotAllowed")
    });
    assert!(uses(&refused, "ops", "ops"), "{refused:#}");
    let message = healthy(&refused, "False").unwrap()["message"].as_str().unwrap();
    assert!(
        message.contains("the operator does not use plugins from this namespace"),
        "{message}"
    );

    let own = scene
        .add(&scene.own, "ops", &Guest::ops("no-ops"), &["--deployment", "nats"])
        .unwrap();
    scene.used("ops", "no-ops");
    scene.remove(&scene.here, &maps).unwrap();
    scene.wait("healthy plugins", |deployment| healthy(deployment, "True").is_some());
    scene.remove(&scene.own, &own).unwrap();
    scene.used("ops", "ops");
}

#[test]
fn a_plugin_of_each_stage_changes_the_output_and_its_deletion_reverts_the_change() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let before = scene.used("ops", "ops");
    assert!(healthy(&before, "True").is_some(), "{before:#}");
    assert!(scene.manifest().contains("connections: 5000"));

    let maps = scene.add(&scene.here, "ops", &Guest::ops("no-ops"), &[]).unwrap();
    scene.used("ops", "no-ops");
    assert!(
        !scene.manifest().contains("connections: 5000"),
        "operations have no effect now"
    );
    scene.remove(&scene.here, &maps).unwrap();
    scene.used("ops", "ops");
    assert!(scene.manifest().contains("connections: 5000"));

    let maps = scene
        .add(
            &scene.own,
            "variables",
            &Guest::variables("no-variables"),
            &["--deployment", "nats"],
        )
        .unwrap();
    scene.used("variables", "no-variables");
    assert!(
        scene.newest("nats.desired-manifest").contains("((broker_password))"),
        "placeholders stay"
    );
    scene.remove(&scene.own, &maps).unwrap();
    scene.used("variables", "variables");

    let links = altered(built_in("links"), "dns_domain_name", "dns_domain_nam3");
    let maps = scene
        .add(
            &scene.own,
            "links",
            &links,
            &["--name", "other-links", "--uncompressed"],
        )
        .unwrap();
    scene.used("links", "other-links");
    assert!(scene.newest("nats.ig-resolved.broker").contains("dns_domain_nam3"));
    scene.remove(&scene.own, &maps).unwrap();
    scene.used("links", "links");

    let content = "processes: [{name: other, executable: /bin/other}]";
    let maps = scene
        .add(&scene.here, "render", &Guest::render("other-render", content), &[])
        .unwrap();
    scene.used("render", "other-render");
    assert!(scene.newest("nats.bpm.broker").contains("/bin/other"));
    let set = scene.get("quarksstatefulset/nats-broker").unwrap().to_string();
    assert!(
        set.contains("render=/var/run/boson/plugins/render"),
        "pods render by the same rule: {set}"
    );
    let copies = scene.get("configmap").unwrap();
    let copies = copies["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|map| map["metadata"]["name"].as_str())
        .filter(|name| name.starts_with("nats.plugin-"));
    assert_eq!(copies.count(), 2, "the settings, and the component");
    scene.remove(&scene.here, &maps).unwrap();
    scene.used("render", "render");
    let set = scene.get("quarksstatefulset/nats-broker").unwrap().to_string();
    assert!(!set.contains("plugins/render"), "{set}");

    let settings = scene.operator.files().join("settings.yml");
    fs::write(&settings, "uids: {messaging: 4711}\n").unwrap();
    let settings = settings.to_str().unwrap();
    let maps = scene
        .add(
            &scene.own,
            "bpm",
            &built_in("bpm"),
            &["--name", "other-bpm", "--settings", settings],
        )
        .unwrap();
    scene.used("bpm", "other-bpm");
    assert!(
        scene
            .get("quarksstatefulset/nats-broker")
            .unwrap()
            .to_string()
            .contains("4711")
    );
    scene.remove(&scene.own, &maps).unwrap();
    scene.used("bpm", "bpm");

    let maps = scene
        .add(&scene.here, "resources", &Guest::resources("hook", HOOKED), &[])
        .unwrap();
    scene.used("resources", "hook");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
    scene.remove(&scene.here, &maps).unwrap();
    scene.wait("the end of the hook", |deployment| {
        !uses(deployment, "resources", "hook")
    });
    assert!(scene.get("configmap/hooked").is_err());
}

#[test]
fn a_restart_converts_with_the_same_plugins_and_changes_nothing() {
    let mut scene = Scene::monitored("plugins-restart").unwrap();
    scene.deploy().unwrap();
    let settings = scene.operator.files().join("settings.yml");
    fs::write(&settings, "uids: {messaging: 4711}\n").unwrap();
    let settings = ["--name", "mine", "--settings", settings.to_str().unwrap()].map(String::from);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    scene.add(&scene.here, "bpm", &built_in("bpm"), &settings).unwrap();
    scene
        .add(&scene.here, "resources", &Guest::resources("hook", HOOKED), &[])
        .unwrap();
    scene.used("bpm", "mine");
    scene.used("resources", "hook");
    let before = scene.settled();
    let mut other = Operator::new(scene.cluster, &scene.own)
        .unwrap()
        .registry(&scene.registry);
    other = other.arguments(["--monitored-id", "plugins-restart"]);
    for round in 0..5 {
        scene.operator.stop().unwrap();
        other.start().unwrap();
        scene.operator.start().unwrap();
        // The leader reconciles the deployment again.
        let has_converted = |operator: &Operator| {
            let metrics = operator.ask("/metrics").unwrap_or_default();
            metrics.lines().any(|line| {
                line.strip_prefix("boson_conversions_total ")
                    .is_some_and(|count| count != "0")
            })
        };
        let converted = || Ok(has_converted(&scene.operator) || has_converted(&other));
        scene
            .operator
            .until("a conversion", PATIENCE, converted, || other.log())
            .unwrap();
        assert_eq!(scene.settled(), before, "round {round}");
        other.stop().unwrap();
    }
}

/// A ConfigMap with an unchecked component.
fn unchecked(name: &str, stage: &str, component: &[u8]) -> String {
    let digest: String = Sha256::digest(component)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"quarks.cloudfoundry.org/plugin": stage}},
        "data": {"plugin.yaml": format!("name: {name}\ndigest: sha256:{digest}\n")},
        "binaryData": {"plugin.wasm": STANDARD.encode(component)},
    })
    .to_string()
}

#[test]
fn a_hostile_component_blocks_no_deployment_and_leaves_nothing() {
    let mut scene = Scene::new().unwrap();
    let home = scene.operator.files().join("cache");
    // A process that has not started completely does not exit on its own.
    let started = || Ok(scene.operator.ask("/live").is_ok());
    scene
        .operator
        .until("the start", PATIENCE, started, String::new)
        .unwrap();
    scene.operator.stop().unwrap();
    scene.operator.set("XDG_CACHE_HOME", Some(home.clone().into()));
    let import = format!(r#"(component (import "{}" (func)))"#, "a".repeat(60_000));
    let hostile = unchecked("hostile", "ops", &wat::parse_str(import).unwrap());
    scene.apply(&scene.there, &hostile).unwrap();
    scene.apply(&scene.own, &hostile).unwrap();
    scene.operator.start().unwrap();
    scene.deploy().unwrap();
    let deployment = scene.wait("the refusal", |deployment| {
        healthy(deployment, "False").is_some_and(|reported| reported["reason"] == "PluginRefused")
    });
    let reported = healthy(&deployment, "False").unwrap()["message"].as_str().unwrap();
    assert!(
        reported.contains("imports function 'aaaa") && reported.len() < 1000,
        "{reported}"
    );
    scene
        .add(&scene.here, "resources", &Guest::resources("hook", HOOKED), &[])
        .unwrap();
    scene.used("resources", "hook");
    let cached = fs::read_dir(home.join("boson/compiled")).unwrap().count();
    assert_eq!(cached, 1, "the hook's machine code and nothing else");
}

/// In a directory in memory, all machine code counts: two such components exceed the memory of a namespace.
#[test]
fn machine_code_is_counted_and_a_refused_plugin_is_loaded_once_there_is_memory() {
    let mut scene = Scene::new().unwrap();
    let started = || Ok(scene.operator.ask("/live").is_ok());
    scene
        .operator
        .until("the start", PATIENCE, started, String::new)
        .unwrap();
    scene.operator.stop().unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    scene.operator.set("XDG_CACHE_HOME", Some(memory.path().into()));
    scene.operator.set("BOSON_MAX_MEMORY", Some("512Mi".into()));
    scene.operator.start().unwrap();
    scene.deploy().unwrap();
    let hook = |name: &str| Guest::large(name, &HOOKED.replace("hooked", &format!("hooked-{name}")), 5 << 20);
    let first = scene.add(&scene.here, "resources", &hook("first"), &[]).unwrap();
    scene.used("resources", "first");
    scene.add(&scene.here, "resources", &hook("second"), &[]).unwrap();
    let deployment = scene.wait("the refusal", |deployment| {
        healthy(deployment, "False").is_some_and(|reported| reported["reason"] == "PluginNoMemory")
    });
    let reported = healthy(&deployment, "False").unwrap()["message"].as_str().unwrap();
    assert!(
        reported.contains("plugin 'second'") && reported.contains("all plugins of a namespace may use 7 MiB"),
        "{reported}"
    );
    assert!(uses(&deployment, "resources", "first"));
    scene.remove(&scene.here, &first).unwrap();
    scene.used("resources", "second");
    scene.wait("health", |deployment| healthy(deployment, "True").is_some());
}

#[test]
fn a_wrapper_leaves_the_work_to_the_rule_and_a_check_fails_a_conversion_once_it_is_enforced() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.used("bpm", "bpm");
    let made = || {
        let mut versions = scene.settled();
        versions.retain(|name, _| name.starts_with("Quarks") || name.starts_with("Service "));
        assert!(versions.len() > 5, "{versions:?}");
        versions
    };
    let before = made();
    let maps = scene
        .add(&scene.here, "bpm", &Guest::bpm_wrapper("around"), &["--order", "1"])
        .unwrap();
    assert!(maps.contains("wraps: bpm"), "{maps}");
    let deployment = scene.used("bpm", "around");
    assert!(
        uses(&deployment, "bpm", "bpm"),
        "the rule is listed, too: {deployment:#}"
    );
    assert_eq!(made(), before, "the same objects");

    let converted = |status: &'static str, reason: Option<&'static str>| {
        move |deployment: &Value| {
            let all = deployment["status"]["conditions"].as_array();
            all.into_iter().flatten().any(|one| {
                let is_it = one["type"] == "Converted" && one["status"] == status;
                is_it && reason.is_none_or(|reason| one["reason"] == reason)
            })
        }
    };
    let check = Guest::check("policy", "policy-odd", "this is odd");
    scene.add(&scene.here, "checks", &check, &[]).unwrap();
    let deployment = scene.used("checks", "policy");
    assert!(converted("True", None)(&deployment), "a warning: {deployment:#}");
    let maps = scene.add(&scene.here, "checks", &check, &["--enforce"]).unwrap();
    let failed = scene.wait("the error of the check", converted("False", Some("PolicyOdd")));
    assert!(failed.to_string().contains("this is odd"), "{failed:#}");
    scene.remove(&scene.here, &maps).unwrap();
    scene.wait("the end of the check", converted("True", None));
    assert_eq!(made(), before, "the same objects");
}

/// A directory with a case for hooks, and the reply of this one.
fn case_of(scene: &Scene, hook: &[u8]) -> Result<String> {
    let folder = scene.operator.files().join("cases/example");
    fs::create_dir_all(&folder)?;
    let call = json!({"stage": "resources", "function": "transform",
        "view": {"target": "quarks", "manifest": {}, "groups": [], "objects": []}, "context": {}});
    fs::write(folder.join("call.json"), call.to_string())?;
    let file = scene.operator.files().join("plugin.wasm");
    fs::write(&file, hook)?;
    let cases = folder
        .parent()
        .and_then(|cases| cases.to_str())
        .context("a path of text")?;
    let file = file.to_str().context("a path of text")?;
    let tested = host(scene.operator.files(), ["plugin", "test", file, cases, "--update"])?;
    ensure!(tested.code == 0, "{}{}", tested.stdout, tested.stderr);
    Ok(cases.to_string())
}

#[test]
fn a_version_that_fails_its_case_is_rejected_and_the_last_good_one_stays() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let first = Guest::resources("hook", HOOKED);
    let cases = case_of(&scene, &first).unwrap();
    let maps = scene
        .add(&scene.here, "resources", &first, &["--cases", &cases])
        .unwrap();
    let deployment = scene.used("resources", "hook");
    assert!(healthy(&deployment, "True").is_some(), "{deployment:#}");
    let digest = |deployment: &Value| {
        let used = deployment["status"]["plugins"].as_array().unwrap();
        let hook = used.iter().find(|one| one["name"] == "hook");
        hook.map(|hook| hook["digest"].to_string())
    };
    let before = digest(&deployment);

    // `host plugin pack` refuses this; whoever writes the ConfigMap in another way meets the operator.
    let second = Guest::resources("hook", &HOOKED.replace("\"b\"", "\"c\""));
    let file = scene.operator.files().join("plugin.wasm");
    fs::write(&file, &second).unwrap();
    let packed = host(
        scene.operator.files(),
        ["plugin", "pack", "resources", file.to_str().unwrap()],
    )
    .unwrap();
    let mut bad = crate::shared_cluster::documents(&packed.stdout).remove(0);
    let old = crate::shared_cluster::documents(&maps).remove(0);
    bad["binaryData"]["cases.json.zst"] = old["binaryData"]["cases.json.zst"].clone();
    assert!(bad["binaryData"]["cases.json.zst"].is_string());
    scene.apply(&scene.here, &bad.to_string()).unwrap();
    let deployment = scene.wait("the failed case", |deployment| {
        healthy(deployment, "False").is_some_and(|reported| reported["reason"] == "PluginCaseFailed")
    });
    let message = healthy(&deployment, "False").unwrap()["message"]
        .as_str()
        .unwrap()
        .to_string();
    for words in [
        "plugin 'hook', sha256:",
        "case 'example' failed",
        "at '/ok/edits/0/add/data/a'",
    ] {
        assert!(message.contains(words), "{message}");
    }
    assert!(!message.contains("\"c\""), "no values: {message}");
    assert_eq!(digest(&deployment), before, "the last good version stays");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
    let events = scene.get("events.events.k8s.io").unwrap().to_string();
    assert!(events.contains("PluginCaseFailed"), "no event");

    let cases = case_of(&scene, &second).unwrap();
    scene
        .add(&scene.here, "resources", &second, &["--cases", &cases])
        .unwrap();
    let deployment = scene.wait("the second version", |deployment| digest(deployment) != before);
    assert!(healthy(&deployment, "True").is_some(), "{deployment:#}");
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "c");
}

#[test]
fn a_shadow_plugin_reports_what_it_would_change_and_changes_nothing() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let hook = Guest::resources("hook", HOOKED);
    scene.add(&scene.here, "resources", &hook, &[]).unwrap();
    scene.used("resources", "hook");
    let before = scene.get("configmap/hooked").unwrap();
    let condition = |deployment: &Value, kind: &str| {
        let all = deployment["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.into_iter().find(|one| one["type"] == kind)
    };
    let shadow = |component: &[u8], status: &'static str, words: &'static str| {
        let maps = scene.add(&scene.here, "resources", component, &["--shadow"]).unwrap();
        assert!(maps.contains("name: hook-shadow"), "{maps}");
        let deployment = scene.wait(words, |deployment| {
            condition(deployment, "ShadowPluginsAgree").is_some_and(|one| {
                one["status"] == status && one["message"].as_str().is_some_and(|text| text.contains(words))
            })
        });
        for kind in ["Converted", "Applied", "PluginsHealthy"] {
            assert_eq!(
                condition(&deployment, kind).unwrap()["status"],
                "True",
                "{deployment:#}"
            );
        }
        let used = deployment["status"]["plugins"].as_array().unwrap();
        assert_eq!(
            used.iter().filter(|one| one["stage"] == "resources").count(),
            1,
            "{used:?}"
        );
        (maps, deployment)
    };

    let other = Guest::resources("hook", &HOOKED.replace("\"b\"", "\"other\""));
    let (_, deployment) = shadow(&other, "False", "1 of 1 calls differ: ConfigMap/hooked /data/a");
    let message = condition(&deployment, "ShadowPluginsAgree").unwrap()["message"].to_string();
    assert!(message.contains("shadow plugin 'hook', sha256:"), "{message}");
    assert!(!message.contains("other"), "no values: {message}");
    let events = scene.get("events.events.k8s.io").unwrap().to_string();
    assert!(events.contains("PluginShadowDiffers"), "no event");
    let metrics = scene.operator.ask("/metrics").unwrap();
    let counted = metrics.lines().any(|line| {
        line.starts_with("boson_plugin_shadow_calls_total{")
            && line.contains("reply=\"different\"} ")
            && !line.ends_with(" 0")
    });
    assert!(counted, "{metrics}");

    shadow(&Guest::endless("hook"), "False", "1 of 1 calls failed: plugin-");
    let (maps, _) = shadow(&hook, "True", "no difference in 1 calls");
    assert_eq!(scene.get("configmap/hooked").unwrap(), before, "no effect");
    scene.remove(&scene.here, &maps).unwrap();
    scene.wait("the end of the condition", |deployment| {
        condition(deployment, "ShadowPluginsAgree").is_none()
    });
}

#[test]
fn new_versions_while_a_deployment_is_converted_fail_no_conversion() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    scene.used("ops", "ops");
    let conversions = || {
        let metrics = scene.operator.ask("/metrics").unwrap();
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("boson_conversions_total "));
        count.unwrap().trim().parse::<u32>().unwrap()
    };
    let before = conversions();
    let hooked = |version: usize| HOOKED.replace("\"b\"", &format!("\"{version}\""));
    for version in 0..=12 {
        // Alone, beside an input that changes, and faster than conversions end.
        let hook = Guest::resources("hook", &hooked(version));
        scene.add(&scene.here, "resources", &hook, &[]).unwrap();
        let scale = format!("- type: replace\n  path: /tags?/round\n  value: \"{version}\"\n");
        let ops = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nats-scale"}, "data": {"ops": scale}});
        scene.apply(&scene.here, &ops.to_string()).unwrap();
        if version % 4 == 0 {
            let value = version.to_string();
            let look = || {
                Ok(scene
                    .get("configmap/hooked")
                    .is_ok_and(|map| map["data"]["a"] == value.as_str()))
            };
            scene
                .operator
                .until(&value, PATIENCE, look, || scene.operator.log())
                .unwrap();
        }
        let conditions = scene.get("boshdeployment/nats").unwrap()["status"]["conditions"].to_string();
        assert!(
            !conditions.contains("\"PluginRefused\"") && !conditions.contains("\"PluginNotFound\""),
            "{conditions}"
        );
    }
    let deployment = scene.wait("health", |deployment| healthy(deployment, "True").is_some());
    assert!(uses(&deployment, "resources", "hook"));
    assert!(conversions() >= before + 4, "{} conversions", conversions() - before);
    let events = scene.get("events.events.k8s.io").unwrap();
    let failed: Vec<&Value> = events["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|event| event["type"] == "Warning" && event["regarding"]["kind"] == "BOSHDeployment")
        .filter(|event| {
            event["reason"]
                .as_str()
                .is_some_and(|reason| reason.starts_with("Plugin"))
        })
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let metrics = scene.operator.ask("/metrics").unwrap();
    assert!(!metrics.contains("boson_plugin_errors_total{"), "{metrics}");
}

/// Runs `host plugin` in the namespace of the deployment.
fn plugin_command(scene: &Scene, words: &[&str]) -> Ran {
    let kubeconfig = scene.cluster.kubeconfig();
    let place = ["--namespace", &scene.here, "--kubeconfig", kubeconfig.to_str().unwrap()];
    let words = ["plugin"].iter().chain(words).chain(&place);
    host(scene.operator.files(), words).unwrap()
}

/// Waits until the versions of the plugin `hook` that were active have these states, and are kept; returns their
/// numbers. While parts of a version are being applied one after the other, versions may be rejected.
fn has_history(scene: &Scene, wanted: &[&str]) -> Vec<String> {
    let mut numbers = Vec::new();
    let look = || {
        let shown = plugin_command(scene, &["history", "hook"]).stdout;
        let rows = shown
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect::<Vec<&str>>());
        let rows: Vec<Vec<&str>> = rows.filter(|cells| cells[2] != "rejected").collect();
        numbers = rows.iter().map(|cells| cells[1].to_string()).collect();
        let states: Vec<&str> = rows.iter().map(|cells| cells[2]).collect();
        Ok(states == wanted && rows.iter().all(|cells| cells[5] == "yes"))
    };
    let log = || scene.operator.log();
    scene
        .operator
        .until(&format!("{wanted:?}"), PATIENCE, look, log)
        .unwrap();
    numbers
}

#[test]
fn one_command_rolls_back_to_an_earlier_version() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let hooked = |value: &str| HOOKED.replace("\"b\"", &format!("\"{value}\""));
    let has = |value: &'static str| {
        let what = format!("the object of version {value}");
        let look = || Ok(scene.get("configmap/hooked").is_ok_and(|map| map["data"]["a"] == value));
        scene
            .operator
            .until(&what, PATIENCE, look, || scene.operator.log())
            .unwrap();
    };
    // The first version has two parts, and the second one part.
    let first = Guest::large("hook", &hooked("1"), 1 << 20);
    let first = scene
        .add(&scene.here, "resources", &first, &["--uncompressed"])
        .unwrap();
    has("1");
    has_history(&scene, &["active"]);
    let none = plugin_command(&scene, &["rollback", "hook"]);
    assert!(
        none.code == 1 && none.stderr.contains("keeps no other version"),
        "{}",
        none.stderr
    );
    let second = scene
        .add(&scene.here, "resources", &Guest::resources("hook", &hooked("2")), &[])
        .unwrap();
    scene
        .cluster
        .kubectl(["--namespace", &scene.here, "delete", "configmap", "hook-1"])
        .unwrap();
    has("2");
    let numbers = has_history(&scene, &["superseded", "active"]);

    let back = plugin_command(&scene, &["rollback", "hook"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(
        back.stdout
            .starts_with("plugin 'hook' rolled back to revision 1 (sha256:"),
        "{}",
        back.stdout
    );
    has("1");
    has_history(&scene, &["superseded", "active"]);
    let deployment = scene.wait("health", |deployment| healthy(deployment, "True").is_some());
    assert!(uses(&deployment, "resources", "hook"));

    // A part that the version does not have is deleted.
    let back = plugin_command(&scene, &["rollback", "hook", "--to-revision", &numbers[1]]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(scene.get("configmap/hook-1").is_err());
    has("2");

    // After a rejected version, the last good one.
    scene
        .apply(&scene.here, &second.replace("digest: sha256:", "digest: sha256:00"))
        .unwrap();
    scene.wait("the rejection", |deployment| healthy(deployment, "False").is_some());
    let back = plugin_command(&scene, &["rollback", "hook"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    scene.wait("health", |deployment| healthy(deployment, "True").is_some());
    has("2");

    // kubectl meets no conflict with the command.
    let arguments = ["--namespace", &scene.here, "apply", "--server-side", "--filename=-"];
    let applied = scene.cluster.try_kubectl(arguments, &first).unwrap();
    assert!(applied.success, "{}", applied.stderr);
    has("1");

    let all = plugin_command(&scene, &["history"]).stdout;
    assert!(all.contains("PluginDocument") && all.contains("  rejected  "), "{all}");
    let unknown = plugin_command(&scene, &["rollback", "other"]);
    assert!(
        unknown.code == 1 && unknown.stderr.contains("there is no ConfigMap"),
        "{}",
        unknown.stderr
    );
    let unknown = plugin_command(&scene, &["rollback", "hook", "--to-revision", "99"]);
    assert!(
        unknown.code == 1 && unknown.stderr.contains("no revision 99"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn the_metrics_of_a_version_begin_and_end_with_its_use() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let maps = scene
        .add(&scene.here, "resources", &Guest::resources("metered", HOOKED), &[])
        .unwrap();
    let deployment = scene.used("resources", "metered");
    let used = deployment["status"]["plugins"].as_array().unwrap();
    let hook = used.iter().find(|one| one["name"] == "metered").unwrap();
    let digest = &hook["digest"].as_str().unwrap()[..12];
    let labels = format!("{{stage=\"resources\",plugin=\"metered\",digest=\"sha256:{digest}\"");
    let metrics = scene.operator.ask("/metrics").unwrap();
    let value = |name: &str| {
        let line = metrics
            .lines()
            .find(|line| line.starts_with(&format!("{name}{labels}")))?;
        line.rsplit_once(' ')?.1.parse::<f64>().ok()
    };
    for name in ["calls_total", "fuel_total", "memory_bytes", "seconds_count"] {
        let value = value(&format!("boson_plugin_{name}"));
        assert!(value.is_some_and(|value| value > 0.0), "{name}: {value:?}\n{metrics}");
    }
    assert!(!metrics.contains("boson_plugin_errors_total{"), "{metrics}");
    let rules = metrics
        .lines()
        .filter(|line| line.starts_with("boson_plugin_calls_total{"));
    assert_eq!(rules.count(), 6, "the built-in rules are counted, too: {metrics}");

    scene.remove(&scene.here, &maps).unwrap();
    let ended = || Ok(!scene.operator.ask("/metrics")?.contains(digest));
    scene
        .operator
        .until("the end of its series", PATIENCE, ended, || scene.operator.log())
        .unwrap();
}

#[test]
fn a_hook_can_neither_add_plugins_nor_privileges_of_pods() {
    let scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    let plugin: Value = serde_json::from_str(&unchecked("evil", "ops", &Guest::ops("evil"))).unwrap();
    let pod = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"hostNetwork": true, "containers": [{"name": "c", "image": "i"}]}});
    let workload = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evil"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": pod},
    });
    for (object, reason) in [(plugin, "BundleReservedMark"), (workload, "BundlePrivilege")] {
        let maps = scene
            .add(
                &scene.here,
                "resources",
                &Guest::resources("hook", &object.to_string()),
                &[],
            )
            .unwrap();
        scene.wait(reason, |deployment| {
            let conditions = deployment["status"]["conditions"].as_array();
            conditions.is_some_and(|all| {
                all.iter()
                    .any(|one| one["type"] == "Converted" && one["reason"] == reason)
            })
        });
        assert!(scene.get("configmap/evil").is_err() && scene.get("deployment.apps/evil").is_err());
        scene.remove(&scene.here, &maps).unwrap();
        scene.wait("the end of the hook", |deployment| {
            !uses(deployment, "resources", "hook") && healthy(deployment, "True").is_some()
        });
    }
}

#[test]
fn a_bad_plugin_is_refused_and_reported_and_the_last_good_one_stays() {
    let mut scene = Scene::new().unwrap();
    scene.deploy().unwrap();
    // A plugin of another namespace would serve a deployment of this name, if it were allowed.
    scene
        .add(&scene.there, "resources", &Guest::resources("foreign", HOOKED), &[])
        .unwrap();
    let good = scene
        .add(&scene.own, "resources", &Guest::resources("hook", HOOKED), &[])
        .unwrap();
    let deployment = scene.used("resources", "hook");
    assert!(!uses(&deployment, "resources", "foreign"), "{deployment:#}");
    assert!(healthy(&deployment, "True").is_some());

    let at = good.find("sha256:").unwrap();
    let digest = good[at..at + 71].to_string();
    let other = format!("sha256:{}", "0".repeat(64));
    for (bad, reason, words) in [
        (
            good.replace(&digest, &other),
            "PluginDigest",
            "its description contains sha256:0000",
        ),
        (
            good.replace("digest:", "digets:"),
            "PluginDocument",
            "unknown member 'digets'",
        ),
        (
            good.replace("plugin.yaml:", "plugin.yml:"),
            "PluginNoDocument",
            "there is no key 'plugin.yaml'",
        ),
        (
            good.replace("plugin: resources", "plugin: resourses"),
            "PluginStage",
            "'resourses'",
        ),
        (
            good.replace("plugin: resources", "plugin: ops")
                .replace("order: 0", "replaces: ops"),
            "PluginOtherStage",
            "of the stage 'resources'",
        ),
    ] {
        scene.apply(&scene.own, &bad).unwrap();
        let deployment = scene.wait(reason, |deployment| {
            healthy(deployment, "False").is_some_and(|reported| reported["reason"] == reason)
        });
        let reported = healthy(&deployment, "False").unwrap()["message"].as_str().unwrap();
        assert!(reported.contains(words), "{reported}");
        assert!(
            uses(&deployment, "resources", "hook"),
            "{reason}: the last good one stays"
        );
        let events = scene.get("events.events.k8s.io").unwrap().to_string();
        assert!(events.contains(reason), "no event for {reason}");
    }
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");

    // The description is unchanged, and the bytes are not: that is reported at once, not only after the next restart.
    let mut corrupted = crate::shared_cluster::documents(&good).remove(0);
    let parts = corrupted["binaryData"].as_object_mut().unwrap().values_mut();
    parts.for_each(|part| *part = "AAAA".into());
    scene.apply(&scene.own, &good).unwrap();
    scene.wait("health", |deployment| healthy(deployment, "True").is_some());
    scene.apply(&scene.own, &corrupted.to_string()).unwrap();
    let deployment = scene.wait("the corrupted parts", |deployment| {
        healthy(deployment, "False").is_some()
    });
    assert!(uses(&deployment, "resources", "hook"), "the last good one stays");

    // After a restart the last good one is lost: running objects are not changed until the plugin is fixed.
    scene.apply(&scene.own, &good.replace(&digest, &other)).unwrap();
    scene.wait("the digest", |deployment| {
        healthy(deployment, "False").is_some_and(|reported| reported["reason"] == "PluginDigest")
    });
    scene.operator.kill();
    scene.operator.start().unwrap();
    scene.wait("the loss", |deployment| {
        let conditions = deployment["status"]["conditions"].as_array().unwrap();
        conditions
            .iter()
            .any(|one| one["type"] == "Converted" && one["reason"] == "PluginLost")
    });
    assert_eq!(scene.get("configmap/hooked").unwrap()["data"]["a"], "b");
    scene.apply(&scene.own, &good).unwrap();
    scene.wait("health", |deployment| {
        healthy(deployment, "True").is_some() && uses(deployment, "resources", "hook")
    });
}
