//! A Kubernetes control plane from plain processes, for tests: etcd, kube-apiserver and kube-controller-manager, on ports of 127.0.0.1 that
//! are free, with everything they write in one temporary directory. Where a test needs pods, kube-scheduler and a real node come with it.
//!
//! # Guarantees
//! The processes end with the test process, also when that is killed, and nothing of theirs stays behind. Several clusters do not disturb each
//! other.

mod caretaker;
mod certificates;
mod control_plane;
pub mod image;
mod kubectl;
mod limited;
mod node;
mod operator;
mod operator_image;
mod process;
mod programs;

use self::caretaker::Caretaker;
use self::certificates::Authority;
use self::control_plane::{
    AUDIT, api_flags, etcd_flags, free_ports, manager_flags, scheduler_flags, write_credentials,
};
use self::image::Image;
use self::node::{Groups, Node};
use self::process::{Process, Spawner};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use self::kubectl::Answer;
pub use self::limited::{Limited, peak};
pub use self::operator::{Operator, free_port};
pub use self::programs::program;

/// How long the control plane may take to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    processes: Vec<Process>,
    node: Option<Node>,
    operator_image: OnceLock<Result<(), String>>,
    defined: OnceLock<Result<(), String>>,
    /// Dropped last: it removes what the others leave.
    _caretaker: Caretaker,
}

/// The control plane that all tests of one process share; each works in a namespace of its own.
///
/// # Errors
/// It did not start; the text names the log.
pub fn shared() -> Result<&'static Cluster> {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    CLUSTER
        .get_or_init(|| Cluster::start().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow::anyhow!(error.clone()))
}

/// The cluster with a node that all tests of one process share. `None` where there can be no node because this user is not root: a test that
/// gets it was skipped, which is said here. In continuous integration there is no skipping.
///
/// # Errors
/// It did not start; the text names the log.
pub fn with_node() -> Result<Option<&'static Cluster>> {
    static CLUSTER: OnceLock<Result<Option<Cluster>, String>> = OnceLock::new();
    CLUSTER
        .get_or_init(|| own_with_node().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map(Option::as_ref)
        .map_err(|error| anyhow::anyhow!(error.clone()))
}

/// The same for one test alone, which does something to the whole cluster.
///
/// # Errors
/// As [`with_node`].
pub fn own_with_node() -> Result<Option<Cluster>> {
    if !node::is_possible() && std::env::var_os("CI").is_none_or(|value| value.is_empty()) {
        // Past the test harness, which would show it for tests that fail only.
        let _ = writeln!(std::io::stderr(), "skipped a test that runs pods: a node needs root");
        return Ok(None);
    }
    Cluster::start_with_node().map(Some)
}

// === impl Cluster ===

impl Cluster {
    /// Starts a control plane and waits until a pod could be created in it.
    ///
    /// # Errors
    /// A program is missing, or one does not come up; the text holds the end of its log.
    pub fn start() -> Result<Self> {
        let directory = new_directory()?;
        let caretaker = Caretaker::of(&directory, std::iter::empty())?;
        let spawner = Spawner::new(&directory);
        let authority = Authority::new(&directory)?;
        Self::start_at(Ipv4Addr::LOCALHOST, &authority, &spawner, None, caretaker)
    }

    /// The same with a node, on which pods run.
    ///
    /// # Errors
    /// As [`Self::start`]; this user is not root.
    pub fn start_with_node() -> Result<Self> {
        ensure!(node::is_possible(), "a node needs root");
        let directory = new_directory()?;
        let name = directory.file_name().context("no name")?.to_string_lossy();
        let groups = Groups::named(&name)?;
        let caretaker = Caretaker::of(&directory, groups.paths())?;
        let spawner = Spawner::new(&directory);
        let authority = Authority::new(&directory)?;
        let node = Node::prepare(&directory, groups, &spawner)?;
        let gateway = node.gateway();
        let mut cluster = Self::start_at(gateway, &authority, &spawner, Some(node), caretaker)?;
        let [port] = free_ports(Ipv4Addr::LOCALHOST)?;
        let flags = scheduler_flags(&directory, port);
        cluster.run("kube-scheduler", &flags, &spawner)?;
        let server = fs::read_to_string(directory.join("server"))?;
        if let Some(node) = &mut cluster.node {
            node.join(&authority, &server, &spawner)?;
        }
        let ready = r#"--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
        cluster.wait("the node", |cluster| {
            let answer = cluster.kubectl(["get", "node", node::NAME, ready]);
            answer.is_ok_and(|status| status == "True")
        })?;
        Ok(cluster)
    }

    fn start_at(
        address: Ipv4Addr,
        authority: &Authority,
        spawner: &Spawner,
        node: Option<Node>,
        caretaker: Caretaker,
    ) -> Result<Self> {
        let directory = spawner.directory().to_path_buf();
        let [etcd, peers, manager] = free_ports(Ipv4Addr::LOCALHOST)?;
        let [api] = free_ports(address)?;
        let server = format!("https://{address}:{api}");
        write_credentials(&directory, authority, address, &server)?;
        fs::write(directory.join("server"), &server)?;
        fs::write(directory.join("audit.yaml"), AUDIT)?;
        let mut cluster = Self {
            directory: directory.clone(),
            processes: Vec::new(),
            node,
            operator_image: OnceLock::new(),
            defined: OnceLock::new(),
            _caretaker: caretaker,
        };
        cluster.run("etcd", &etcd_flags(&directory, etcd, peers), spawner)?;
        cluster.run("kube-apiserver", &api_flags(&directory, etcd, address, api), spawner)?;
        cluster.wait("/readyz", |cluster| cluster.answers(&["get", "--raw", "/readyz"]))?;
        cluster.run("kube-controller-manager", &manager_flags(&directory, manager), spawner)?;
        cluster.wait("the default service account", |cluster| {
            cluster.answers(&[
                "-n",
                "default",
                "get",
                "serviceaccount/default",
                "configmap/kube-root-ca.crt",
            ])
        })?;
        Ok(cluster)
    }

    /// This machine, as the node and its pods see it; what listens there, a registry say, they reach. Without a node, a loopback address.
    pub fn gateway(&self) -> Ipv4Addr {
        self.node.as_ref().map_or(Ipv4Addr::LOCALHOST, Node::gateway)
    }

    /// Makes the image in this file known to the node, under the name that it has there: a tar of an OCI image layout or of `docker save`.
    /// Pods that use it have to say `imagePullPolicy: IfNotPresent` where its tag is `latest`.
    ///
    /// # Errors
    /// There is no node, or it does not take the image.
    pub fn load(&self, image: &Path) -> Result<()> {
        self.node.as_ref().context("this cluster has no node")?.load(image)
    }

    /// Makes an image and loads it.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_image(&self, image: &Image) -> Result<()> {
        let file = tempfile::NamedTempFile::new_in(&self.directory)?;
        image.write(file.path())?;
        self.load(file.path())
    }

    /// The name of an image with `host` and the plugins as they were built together with this test; the node has it.
    ///
    /// # Errors
    /// They were not built: `make build` does; or as [`Self::load`].
    pub fn operator_image(&self) -> Result<&'static str> {
        let load = || operator_image::file().and_then(|image| self.load(&image));
        self.operator_image
            .get_or_init(|| load().map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(|error| anyhow::anyhow!(error.clone()))?;
        Ok(operator_image::NAME)
    }

    /// Lets pods pull from a registry on the [gateway](Self::gateway) that speaks no TLS.
    ///
    /// # Errors
    /// There is no node.
    pub fn trust(&self, registry: &str) -> Result<()> {
        self.node.as_ref().context("this cluster has no node")?.trust(registry)
    }

    /// Persistent volumes of 1 GiB for claims without a storage class: the node makes none by itself.
    ///
    /// # Errors
    /// A directory cannot be made, or the API server refuses a volume.
    pub fn disks(&self, count: usize) -> Result<()> {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        for _ in 0..count {
            let name = format!("disk-{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            let path = self.directory.join(&name);
            fs::create_dir(&path)?;
            // As volumes of a cluster are after `fsGroup`, which is not for directories of a node.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
            let volume = serde_json::json!({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                    "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": path}
                }
            });
            let answer = self.try_kubectl(["apply", "--filename=-"], &volume.to_string())?;
            ensure!(answer.success, "{}", answer.stderr);
        }
        Ok(())
    }

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("admin.kubeconfig")
    }

    /// The audit log: one JSON object a line for each request that has ended.
    pub fn audit_log(&self) -> PathBuf {
        self.directory.join("audit.log")
    }

    fn run(&mut self, name: &str, flags: &[OsString], spawner: &Spawner) -> Result<()> {
        let words = [program(name)?.into()].into_iter().chain(flags.iter().cloned());
        self.processes.push(spawner.spawn(name, words.collect())?);
        Ok(())
    }

    /// Polls until it holds, a process ends, or patience does.
    fn wait(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) -> Result<()> {
        let began = Instant::now();
        while !holds(self) {
            let of_node = self.node.iter_mut().flat_map(Node::processes);
            for process in self.processes.iter_mut().chain(of_node) {
                if let Some(log) = process.ended() {
                    bail!("{} ended:\n{log}", process.name());
                }
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "{what} did not come in {PATIENCE:?}; see the logs in {}",
                self.directory.display()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Clients first: the API server would wait for them, and only etcd keeps anything.
        self.node = None;
        self.processes.drain(..).rev().for_each(drop);
    }
}

fn new_directory() -> Result<PathBuf> {
    Ok(tempfile::Builder::new().prefix("boson-cluster-").tempdir()?.keep())
}
