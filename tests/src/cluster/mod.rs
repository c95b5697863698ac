//! A Kubernetes control plane from plain processes, for tests: etcd, kube-apiserver and kube-controller-manager, on
//! free ports of 127.0.0.1, with all their files in one temporary directory. Tests with pods also get kube-scheduler
//! and a real node.
//!
//! # Guarantees
//! The processes end with the test process, even if that is killed, and leave nothing behind. Several clusters do not
//! disturb each other.

mod caretaker;
mod certificates;
mod client;
mod control_plane;
pub mod image;
mod kubectl;
mod limited;
mod node;
mod objects;
mod operator;
mod operator_image;
mod process;
mod programs;

use self::caretaker::Caretaker;
use self::certificates::Authority;
use self::control_plane::{AUDIT, api_flags, etcd_flags, manager_flags, scheduler_flags, write_credentials};
use self::image::Image;
use self::node::{Groups, Node};
use self::objects::{Connection, has_condition};
use self::process::{Process, Spawner};
use crate::ports::{free_port, free_port_at};
use crate::{Ran, WAIT_TIMEOUT, host};
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
pub use self::operator::Operator;
pub use self::programs::program;

#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    processes: Vec<Process>,
    node: Option<Node>,
    operator_image: OnceLock<Result<(), String>>,
    defined: OnceLock<Result<(), String>>,
    connection: Connection,
    /// Dropped last: it removes what the others leave behind.
    _caretaker: Caretaker,
}

/// The control plane that all tests of one process share; each uses its own namespace.
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

/// The cluster with a node that all tests of one process share. `None` without root privileges: the test is then
/// skipped, which is printed here. In continuous integration this is an error instead.
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

/// A cluster with a node for one test alone, which changes the whole cluster.
///
/// # Errors
/// As [`with_node`].
pub fn own_with_node() -> Result<Option<Cluster>> {
    if can_have_node() {
        Cluster::start_with_node().map(Some)
    } else {
        Ok(None)
    }
}

/// Whether this user can have a node. If not, the test is skipped, which is printed here. In continuous integration it
/// is not: its start then fails.
pub fn can_have_node() -> bool {
    let can = node::is_possible() || std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if !can {
        // Bypasses the test harness, which shows output only of tests that fail.
        let _ = writeln!(std::io::stderr(), "skipped a test that runs pods: a node needs root");
    }
    can
}

// === impl Cluster ===

impl Cluster {
    /// Starts a control plane and waits until a pod could be created in it.
    ///
    /// # Errors
    /// A program is missing, or one does not start; the text has the end of its log.
    pub fn start() -> Result<Self> {
        let directory = new_directory()?;
        let caretaker = Caretaker::of(&directory, std::iter::empty())?;
        let spawner = Spawner::new(&directory);
        let authority = Authority::new(&directory)?;
        Self::start_at(Ipv4Addr::LOCALHOST, &authority, &spawner, None, caretaker)
    }

    /// Starts a control plane with a node, on which pods run.
    ///
    /// # Errors
    /// As [`Self::start`]; also without root privileges.
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
        let flags = scheduler_flags(&directory, free_port()?);
        cluster.run("kube-scheduler", &flags, &spawner)?;
        let server = fs::read_to_string(directory.join("server"))?;
        if let Some(node) = &mut cluster.node {
            node.join(&authority, &server, &spawner)?;
        }
        let name = format!("node/{}", node::NAME);
        cluster.wait_until("the node", |cluster| {
            cluster.get("", &name).is_ok_and(|node| has_condition(&node, "Ready"))
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
        let (etcd, peers, manager) = (free_port()?, free_port()?, free_port()?);
        let api = free_port_at(address)?;
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
            connection: Connection::default(),
            _caretaker: caretaker,
        };
        cluster.run("etcd", &etcd_flags(&directory, etcd, peers), spawner)?;
        cluster.run("kube-apiserver", &api_flags(&directory, etcd, address, api), spawner)?;
        cluster.wait_until("/readyz", |cluster| {
            cluster.kubectl(["get", "--raw", "/readyz"]).is_ok()
        })?;
        cluster.run("kube-controller-manager", &manager_flags(&directory, manager), spawner)?;
        cluster.wait_until("the default service account", |cluster| {
            let all = ["serviceaccount/default", "configmap/kube-root-ca.crt"];
            all.iter().all(|what| cluster.get("default", what).is_ok())
        })?;
        Ok(cluster)
    }

    /// This machine's address for the node and its pods, by which they reach servers here, for example a registry.
    /// Without a node, a loopback address.
    pub fn gateway(&self) -> Ipv4Addr {
        self.node.as_ref().map_or(Ipv4Addr::LOCALHOST, Node::gateway)
    }

    /// The node's address, at which this machine reaches the ports of Services of type NodePort. It reaches pods at
    /// their own addresses.
    ///
    /// # Errors
    /// There is no node.
    pub fn node_address(&self) -> Result<Ipv4Addr> {
        Ok(self.node.as_ref().context("this cluster has no node")?.address())
    }

    /// Loads an image from this file into the node, under its own name: a tar of an OCI image layout or of `docker
    /// save`. Pods that use it must set `imagePullPolicy: IfNotPresent` if its tag is `latest`.
    ///
    /// # Errors
    /// There is no node, or it does not accept the image.
    pub fn load(&self, image: &Path) -> Result<()> {
        self.node.as_ref().context("this cluster has no node")?.load(image)
    }

    /// Builds an image and loads it.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_image(&self, image: &Image) -> Result<()> {
        let file = tempfile::NamedTempFile::new_in(&self.directory)?;
        image.write(file.path())?;
        self.load(file.path())
    }

    /// The name of an image with the `host` and the plugins that were built together with this test; it is loaded into
    /// the node.
    ///
    /// # Errors
    /// They were not built (`make build` builds them); or as [`Self::load`].
    pub fn operator_image(&self) -> Result<&'static str> {
        let load = || operator_image::file().and_then(|image| self.load(&image));
        self.operator_image
            .get_or_init(|| load().map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(|error| anyhow::anyhow!(error.clone()))?;
        Ok(operator_image::NAME)
    }

    /// Lets pods pull from a registry without TLS on the [gateway](Self::gateway).
    ///
    /// # Errors
    /// There is no node.
    pub fn trust(&self, registry: &str) -> Result<()> {
        self.node.as_ref().context("this cluster has no node")?.trust(registry)
    }

    /// Creates persistent volumes of 1 GiB for the claims `<claims>-0`, `<claims>-1` and so on of a namespace: the node
    /// has no provisioner. Each is reserved for its claim, because a pending claim of another test would be bound to a
    /// volume without a reservation.
    ///
    /// # Errors
    /// A directory cannot be created, or the API server refuses a volume.
    pub fn disks(&self, namespace: &str, claims: &str, count: usize) -> Result<()> {
        for index in 0..count {
            let claim = format!("{claims}-{index}");
            let name = format!("{namespace}.{claim}");
            let path = self.disk(namespace, claims, index);
            fs::create_dir(&path)?;
            // As `fsGroup` leaves volumes of a cluster; it does not apply to directories of a node.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
            let volume = serde_json::json!({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                    "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim},
                    "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": path}
                }
            });
            self.apply("", &[volume])?;
        }
        Ok(())
    }

    /// The directory of one of the volumes that [`Self::disks`] creates.
    pub fn disk(&self, namespace: &str, claims: &str, index: usize) -> PathBuf {
        self.directory.join(format!("{namespace}.{claims}-{index}"))
    }

    /// Kills a daemon by its program's name, for example `kubelet`, and waits until it has ended.
    ///
    /// # Errors
    /// There is no such daemon, or it is not running.
    pub fn kill(&self, daemon: &str) -> Result<()> {
        self.daemon(daemon)?.kill()
    }

    /// Starts a daemon again after [`Self::kill`]. It may not be ready yet.
    ///
    /// # Errors
    /// There is no such daemon, or it cannot be started.
    pub fn restart(&self, daemon: &str) -> Result<()> {
        self.daemon(daemon)?.restart()
    }

    fn daemon(&self, name: &str) -> Result<&Process> {
        let of_node = self.node.iter().flat_map(Node::daemons);
        let mut all = self.processes.iter().chain(of_node);
        all.find(|process| process.name() == name)
            .with_context(|| format!("no daemon '{name}'"))
    }

    /// The processes of pods on the node, without those of other clusters: their directories in this machine's `/proc`.
    ///
    /// # Errors
    /// There is no node, or processes cannot be listed.
    pub fn processes_of_pods(&self) -> Result<Vec<PathBuf>> {
        self.node
            .as_ref()
            .context("this cluster has no node")?
            .processes_of_pods()
    }

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("admin.kubeconfig")
    }

    /// Runs `host` as an administrator, in this folder and for this namespace.
    ///
    /// # Errors
    /// As [`host`].
    pub fn host(&self, folder: &Path, namespace: &str, words: &[&str]) -> Result<Ran> {
        let kubeconfig = self.kubeconfig().display().to_string();
        let place = ["--namespace", namespace, "--kubeconfig", &kubeconfig];
        host(folder, words.iter().chain(&place))
    }

    /// The audit log: one JSON object a line for each finished request.
    pub fn audit_log(&self) -> PathBuf {
        self.directory.join("audit.log")
    }

    /// The log of a daemon of the control plane or the node, by its program's name.
    pub fn log(&self, daemon: &str) -> PathBuf {
        self.directory.join(format!("{daemon}.log"))
    }

    fn run(&mut self, name: &str, flags: &[OsString], spawner: &Spawner) -> Result<()> {
        let words = [program(name)?.into()].into_iter().chain(flags.iter().cloned());
        self.processes.push(spawner.spawn(name, words.collect())?);
        Ok(())
    }

    /// Polls until the condition is met, a process ends, or the timeout is over.
    fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) -> Result<()> {
        let began = Instant::now();
        while !holds(self) {
            let of_node = self.node.iter_mut().flat_map(Node::processes);
            for process in self.processes.iter_mut().chain(of_node) {
                if let Some(log) = process.ended() {
                    bail!("{} ended:\n{log}", process.name());
                }
            }
            ensure!(
                began.elapsed() < WAIT_TIMEOUT,
                "{what} did not come in {WAIT_TIMEOUT:?}; see the logs in {}",
                self.directory.display()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Clients first: the API server would wait for them, and only etcd stores anything.
        self.node = None;
        self.processes.drain(..).rev().for_each(drop);
    }
}

fn new_directory() -> Result<PathBuf> {
    Ok(tempfile::Builder::new().prefix("boson-cluster-").tempdir()?.keep())
}
