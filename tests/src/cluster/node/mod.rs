//! A node that runs real pods: containerd, kubelet and kube-proxy in their own PID, mount, network, host name and
//! control group namespaces. It needs root, and the Debian packages that `.ci/setup` installs. The node can reach only
//! this machine.
//!
//! # Guarantees
//! The node ends with its first process, which ends with the test process, even if that is killed. No mount, interface
//! or route is left behind.

mod groups;
mod link;
mod names;
mod settings;

pub(super) use self::groups::Groups;

use self::link::Link;
use super::certificates::Authority;
use super::image::Image;
use super::process::{Process, Spawner};
use super::programs::program;
use crate::{WAIT_TIMEOUT, try_wait_until};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the node.
pub const NAME: &str = "node";
/// The image of the container that holds a pod's namespaces.
const PAUSE: &str = "boson.test/pause:1";
/// Script of the first process.
const FIRST: &str = include_str!("first.sh");

/// A running node. Its namespaces are created first, so that the control plane can listen on the address that pods use.
#[derive(Debug)]
pub(super) struct Node {
    directory: PathBuf,
    groups: Groups,
    link: Link,
    /// The first process; its PID outside of the node.
    process: u32,
    /// Before the daemons, so that it is dropped first: they all end with it.
    first: Process,
    daemons: Vec<Process>,
    /// The cluster's DNS, from when the node joins it.
    names: Option<names::Server>,
}

/// Whether this user can have a node.
pub(super) fn is_possible() -> bool {
    fs::metadata("/proc/self").is_ok_and(|ours| ours.uid() == 0)
}

// === impl Node ===

impl Node {
    /// Creates the namespaces and starts containerd, which needs no cluster.
    pub(super) fn prepare(directory: &Path, groups: Groups, spawner: &Spawner) -> Result<Self> {
        let plugin = Path::new(settings::NETWORK_PLUGINS).join("ptp");
        ensure!(plugin.is_file(), "{} is missing: run .ci/setup", plugin.display());
        groups.make()?;
        fs::write(directory.join("first.sh"), FIRST)?;
        let ready = directory.join("first.ready");
        let mut words: Vec<OsString> = [
            "unshare",
            "--fork",
            "--kill-child=KILL",
            "--pid",
            "--mount-proc",
            "--mount",
            "--net",
            "--uts",
            "--cgroup",
            "sh",
        ]
        .map(OsString::from)
        .into();
        words.extend([directory.join("first.sh").into(), ready.clone().into()]);
        words.extend(groups.kinds().map(OsString::from));
        let mut first = spawner.spawn("first", groups.entering(words))?;
        wait_until("the node's namespaces", &mut [&mut first], || Ok(ready.exists()))?;
        groups.delegate()?;
        let process = only_child(first.number())?;
        let link = Link::claim(process)?;
        settings::write(directory, link)?;
        let directory = directory.to_path_buf();
        let mut node = Self {
            directory,
            groups,
            link,
            process,
            first,
            daemons: Vec::new(),
            names: None,
        };
        node.run(["sh", "-c", &link.inner_end()].map(OsString::from).into(), None)?;
        let settings = node.directory.join("containerd.toml");
        node.start(
            spawner,
            "containerd",
            ["containerd".into(), "--config".into(), settings.into()].into(),
        )?;
        Ok(node)
    }

    /// Joins it to the cluster at `server`.
    pub(super) fn join(&mut self, authority: &Authority, server: &str, spawner: &Spawner) -> Result<()> {
        let names = format!("IP:{},DNS:{NAME}", self.link.node());
        authority.issue("kubelet", &format!("/O=system:nodes/CN=system:node:{NAME}"), &names)?;
        authority.issue("kube-proxy", "/CN=system:kube-proxy", "")?;
        for name in ["kubelet", "kube-proxy"] {
            let file = self.directory.join(format!("{name}.kubeconfig"));
            fs::write(file, authority.kubeconfig(name, server)?)?;
        }
        let version: Vec<OsString> = ["ctr", "version"].map(OsString::from).into();
        let asked = self.command(version);
        wait_until("containerd", &mut self.processes().collect::<Vec<_>>(), || {
            let mut asked = Command::new(&asked[0])
                .args(&asked[1..])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            Ok(asked.wait()?.success())
        })?;
        let administrator = self.directory.join("admin.kubeconfig");
        self.names = Some(names::serve(self.link.gateway(), administrator)?);
        let pause = self.directory.join("pause.tar");
        Image::busybox(PAUSE)?
            .entrypoint(&["/bin/sleep", "infinity"])
            .write(&pause)?;
        self.load(&pause)?;
        let file = |name: &str| self.directory.join(name).display().to_string();
        let kubelet = [
            format!("--config={}", file("kubelet.yaml")),
            format!("--kubeconfig={}", file("kubelet.kubeconfig")),
            format!("--hostname-override={NAME}"),
            format!("--node-ip={}", self.link.node()),
        ];
        let proxy = [format!("--config={}", file("kube-proxy.yaml"))];
        for (name, flags) in [("kubelet", kubelet.as_slice()), ("kube-proxy", proxy.as_slice())] {
            let flags = flags.iter().map(OsString::from);
            self.start(
                spawner,
                name,
                [program(name)?.into()].into_iter().chain(flags).collect(),
            )?;
        }
        Ok(())
    }

    /// This machine's address for pods.
    pub(super) fn gateway(&self) -> Ipv4Addr {
        self.link.gateway()
    }

    pub(super) fn address(&self) -> Ipv4Addr {
        self.link.node()
    }

    /// The processes whose end is the end of the node.
    pub(super) fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.daemons.iter_mut().chain([&mut self.first])
    }

    pub(super) fn daemons(&self) -> impl Iterator<Item = &Process> {
        self.daemons.iter()
    }

    /// The processes of its pods: their directories in this machine's `/proc`.
    pub(super) fn processes_of_pods(&self) -> Result<Vec<PathBuf>> {
        let name = self.directory.file_name().context("no name")?.to_string_lossy();
        let pods = format!("/{name}/kubepods/");
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let process = entry?.path();
            // Not every entry is a process, and one that has ended has no files.
            let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
            if groups.contains(&pods) {
                found.push(process);
            }
        }
        Ok(found)
    }

    /// Loads an image.
    pub(super) fn load(&self, image: &Path) -> Result<()> {
        let file = File::open(image).with_context(|| format!("cannot read {}", image.display()))?;
        let snapshotter = settings::snapshotter(&self.directory);
        let words = [
            "ctr",
            "--namespace",
            "k8s.io",
            "images",
            "import",
            "--snapshotter",
            snapshotter,
            "-",
        ];
        self.run(words.map(OsString::from).into(), Some(file))
    }

    /// Allows pulls without TLS from the registry at `host:port`.
    pub(super) fn trust(&self, registry: &str) -> Result<()> {
        let directory = self.directory.join("registries").join(registry);
        fs::create_dir_all(&directory)?;
        let text = format!("[host.\"http://{registry}\"]\n  capabilities = [\"pull\", \"resolve\"]\n");
        Ok(fs::write(directory.join("hosts.toml"), text)?)
    }

    fn start(&mut self, spawner: &Spawner, name: &str, words: Vec<OsString>) -> Result<()> {
        self.daemons.push(spawner.spawn(name, self.command(words))?);
        Ok(())
    }

    /// The command line that runs a program in the node.
    fn command(&self, words: Vec<OsString>) -> Vec<OsString> {
        let process = self.process.to_string();
        let nsenter = ["nsenter", "--target", &process, "--all", "--"].map(OsString::from);
        self.groups.joining(nsenter.into_iter().chain(words).collect())
    }

    /// Runs a program in the node to its end.
    fn run(&self, words: Vec<OsString>, input: Option<File>) -> Result<()> {
        let words = self.command(words);
        let output = Command::new(&words[0])
            .args(&words[1..])
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {error}");
        Ok(())
    }
}

/// Polls until the condition is met, one of the processes ends, or the timeout is over.
fn wait_until(what: &str, processes: &mut [&mut Process], mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let is_done = || {
        if holds()? {
            return Ok(true);
        }
        for process in processes.iter_mut() {
            if let Some(log) = process.ended() {
                bail!("{} ended:\n{log}", process.name());
            }
        }
        Ok(false)
    };
    try_wait_until(what, WAIT_TIMEOUT, is_done, String::new)
}

fn only_child(process: u32) -> Result<u32> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"))?;
    children
        .trim()
        .parse()
        .with_context(|| format!("'{children}' is not one child of {process}"))
}
