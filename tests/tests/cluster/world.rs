//! A namespace of a cluster: what tests do in it, and what is there when one fails.

use crate::objects::condition;
use crate::shared_cluster::documents;
use anyhow::{Result, ensure};
use boson_tests::cluster::image::Image;
use boson_tests::cluster::{Cluster, Operator, with_node};
use boson_tests::{WAIT_TIMEOUT, host, root, try_wait_until};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A namespace of a cluster.
pub struct World {
    pub cluster: &'static Cluster,
    pub namespace: String,
    /// Whether it is deleted with this value.
    has_pods: bool,
}

// === impl World ===

impl World {
    /// In a new namespace.
    pub fn new(cluster: &'static Cluster, name: &str) -> Result<Self> {
        Ok(Self::existing(cluster, cluster.namespace(name)?))
    }

    pub fn existing(cluster: &'static Cluster, namespace: String) -> Self {
        Self {
            cluster,
            namespace,
            has_pods: false,
        }
    }

    /// In a new namespace whose pods run. They end with this value: the node is shared, and pods that go on running
    /// would keep their CPU from those of other tests.
    pub fn with_pods(cluster: &'static Cluster, name: &str) -> Result<Self> {
        let mut world = Self::new(cluster, name)?;
        world.has_pods = true;
        world.wait_until("the account of pods", || {
            Ok(world.find("serviceaccount/default")?.is_some())
        })?;
        Ok(world)
    }

    /// The same on the shared node; `None` if this user cannot have one.
    pub fn on_node(name: &str) -> Result<Option<Self>> {
        with_node()?.map(|cluster| Self::with_pods(cluster, name)).transpose()
    }

    /// The same, and the node has an image with busybox.
    pub fn with_busybox(name: &str, image: &'static str) -> Result<Option<Self>> {
        let world = Self::on_node(name)?;
        if let Some(world) = &world {
            world.load_busybox(image)?;
        }
        Ok(world)
    }

    /// Gives the shared node an image with busybox, once for all tests.
    pub fn load_busybox(&self, name: &'static str) -> Result<()> {
        static LOADED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
        let mut loaded = LOADED.lock();
        if loaded.insert(name) {
            Image::busybox(name).and_then(|image| self.cluster.load_image(&image))?;
        }
        Ok(())
    }

    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let namespace = ["--namespace", &self.namespace];
        self.cluster.kubectl(namespace.iter().chain(arguments))
    }

    pub fn apply(&self, objects: &[Value]) -> Result<()> {
        self.cluster.apply(&self.namespace, objects)
    }

    pub fn get(&self, what: &str) -> Result<Value> {
        self.cluster.get(&self.namespace, what)
    }

    /// The object for `kind/name`, if there is one.
    pub fn find(&self, what: &str) -> Result<Option<Value>> {
        self.cluster.find(&self.namespace, what)
    }

    /// The objects of a kind that a label selector selects.
    pub fn list(&self, kind: &str, selector: &str) -> Result<Vec<Value>> {
        self.cluster.list(&self.namespace, kind, selector)
    }

    /// The names of all objects of a kind, sorted.
    pub fn names(&self, kind: &str) -> Result<Vec<String>> {
        let objects = self.list(kind, "")?;
        let names = objects.iter().filter_map(|object| object["metadata"]["name"].as_str());
        let mut names: Vec<String> = names.map(str::to_string).collect();
        names.sort();
        Ok(names)
    }

    /// Applies what `host convert` prints of a manifest and a release, except for some kinds: pods of plain objects
    /// need no operator.
    pub fn convert(&self, manifest: &Path, release: &Path, more: &[&str], except: &[&str]) -> Result<()> {
        let scratch = tempfile::tempdir()?;
        let [manifest, release] = [manifest, release].map(|path| path.display().to_string());
        let image = self.cluster.operator_image()?;
        let common = [
            "convert",
            &manifest,
            "--release",
            &release,
            "--namespace",
            &self.namespace,
            "--operator-image",
            image,
        ];
        let converted = host(scratch.path(), common.iter().chain(more))?;
        ensure!(converted.code == 0, "{}", converted.stderr);
        let mut objects = documents(&converted.stdout);
        objects.retain(|object| object["kind"].as_str().is_some_and(|kind| !except.contains(&kind)));
        self.apply(&objects)
    }

    /// Applies what `host convert` prints of a release of `tests/fixtures/releases` and its manifest, and gives the
    /// node the release's image. `change`: adds files to it.
    pub fn convert_release(
        &self,
        release: &str,
        change: impl FnOnce(Image) -> Result<Image>,
        more: &[&str],
    ) -> Result<()> {
        let folder = root().join("tests/fixtures/releases").join(release);
        let image = Image::release(&format!("boson.test/{release}:busybox-1-1"), &folder)?;
        self.cluster.load_image(&change(image)?)?;
        self.convert(&folder.join("manifest.yml"), &folder, more, &[])
    }

    /// Runs a shell script in a container.
    pub fn inside(&self, pod: &str, container: &str, script: &str) -> Result<String> {
        self.kubectl(&["exec", pod, "--container", container, "--", "sh", "-c", script])
    }

    /// Admits only pods of the restricted profile.
    pub fn restrict(&self) -> Result<()> {
        let label = "pod-security.kubernetes.io/enforce";
        self.cluster.label_namespace(&self.namespace, label, "restricted")
    }

    // --- waits ---

    pub fn wait_until(&self, what: &str, holds: impl FnMut() -> Result<bool>) -> Result<()> {
        try_wait_until(what, WAIT_TIMEOUT, holds, || self.everything())
    }

    /// Waits until this condition of the object for `kind/name` is true.
    pub fn wait_for_condition(&self, what: &str, kind: &str) -> Result<()> {
        self.wait_until(&format!("{what}: {kind}"), || {
            let object = self.find(what)?.unwrap_or_default();
            Ok(condition(&object, kind).is_some_and(|one| one["status"] == "True"))
        })
    }

    /// Waits until the deployment of the example meets the condition. `operator`: converts it.
    pub fn wait_for_example(&self, operator: &Operator, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        operator.wait_for_value(what, WAIT_TIMEOUT, || {
            let deployment = self.get("boshdeployment/nats")?;
            ensure!(holds(&deployment), "{:#}", deployment["status"]);
            Ok(deployment)
        })
    }

    /// Waits for this phase of a pod.
    pub fn wait_for_phase(&self, pod: &str, phase: &str) -> Result<()> {
        self.wait_until(&format!("{pod}: {phase}"), || {
            let found = self.find(&format!("pod/{pod}"))?.unwrap_or_default();
            Ok(found["status"]["phase"] == phase)
        })
    }

    /// What is there, for the message of a failure. The longest parts come last, where it may be cut.
    pub fn everything(&self) -> String {
        let shown = |words: &[&str]| self.kubectl(words).unwrap_or_else(|error| format!("{error:#}\n"));
        let ours = ["boshdeployment", "quarksstatefulset", "quarksjob"];
        let ours = ours.iter().flat_map(|kind| self.list(kind, "").unwrap_or_default());
        let states = ours.map(|one| format!("{} {}: {:#}\n", one["kind"], one["metadata"]["name"], one["status"]));
        let pods = self.names("pod").unwrap_or_default();
        let logs = pods
            .iter()
            .map(|pod| shown(&["logs", pod, "--all-containers", "--prefix", "--tail=20"]));
        [
            states.collect::<String>(),
            shown(&["get", "events"]),
            logs.collect(),
            shown(&["describe", "pods"]),
        ]
        .concat()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.has_pods {
            let _ = self.cluster.delete("", &format!("namespace/{}", self.namespace));
        }
    }
}
