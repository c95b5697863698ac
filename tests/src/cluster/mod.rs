//! A Kubernetes control plane from plain processes, for tests: etcd, kube-apiserver and kube-controller-manager, on ports of 127.0.0.1 that
//! are free, with everything they write in one temporary directory. No node runs; what needs pods says so.
//!
//! # Guarantees
//! The processes end with the test process, also when that is killed. Several control planes do not disturb each other.

mod certificates;
mod process;
mod programs;

use self::certificates::Authority;
use self::process::{Process, Spawner};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use self::programs::program;

/// How long the control plane may take to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The addresses of Services.
const SERVICES: &str = "10.96.0.0/16";

/// A running control plane.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    processes: Vec<Process>,
}

/// What a run of `kubectl` gave.
#[derive(Debug)]
pub struct Answer {
    /// Whether it succeeded.
    pub success: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
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

// === impl Cluster ===

impl Cluster {
    /// Starts a control plane and waits until a pod could be created in it.
    ///
    /// # Errors
    /// A program is missing, or one does not come up; the text holds the end of its log.
    pub fn start() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("boson-cluster-").tempdir()?.keep();
        let [etcd, peers, api, manager] = free_ports()?;
        let authority = Authority::new(&directory)?;
        write_credentials(&directory, &authority, api)?;
        fs::write(directory.join("audit.yaml"), AUDIT)?;
        let spawner = Spawner::new(&directory);
        let mut cluster = Self {
            processes: vec![
                spawner.spawn("etcd", &etcd_flags(&directory, etcd, peers))?,
                spawner.spawn("kube-apiserver", &api_flags(&directory, etcd, api))?,
            ],
            directory,
        };
        cluster.wait("/readyz", |cluster| cluster.answers(&["get", "--raw", "/readyz"]))?;
        let flags = manager_flags(&cluster.directory, manager);
        cluster
            .processes
            .push(spawner.spawn("kube-controller-manager", &flags)?);
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

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("admin.kubeconfig")
    }

    /// The audit log: one JSON object a line for each request that has ended.
    pub fn audit_log(&self) -> PathBuf {
        self.directory.join("audit.log")
    }

    /// A new namespace of this name and a number; nothing else uses it.
    ///
    /// # Errors
    /// The API server refuses it.
    pub fn namespace(&self, name: &str) -> Result<String> {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let name = format!("{name}-{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        self.kubectl(["create", "namespace", &name])?;
        Ok(name)
    }

    /// Runs `kubectl` and gives its standard output.
    ///
    /// # Errors
    /// It fails; the text is its standard error.
    pub fn kubectl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<String> {
        let answer = self.try_kubectl(arguments, "")?;
        ensure!(answer.success, "kubectl: {}", answer.stderr);
        Ok(answer.stdout)
    }

    /// Runs `kubectl` with this on standard input.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn try_kubectl<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>, input: &str) -> Result<Answer> {
        let mut child = Command::new(program("kubectl")?)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(arguments)
            // The discovery cache of one control plane would be taken for that of another.
            .env("HOME", &self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        let input = input.as_bytes().to_vec();
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let Output { status, stdout, stderr } = child.wait_with_output()?;
        let _ = feeder.join();
        Ok(Answer {
            success: status.success(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    fn answers(&self, arguments: &[&str]) -> bool {
        self.kubectl(arguments).is_ok()
    }

    /// Polls until it holds, a process ends, or patience does.
    fn wait(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) -> Result<()> {
        let began = Instant::now();
        while !holds(self) {
            for process in &mut self.processes {
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
        self.processes.drain(..).rev().for_each(drop);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Every request that changes something, and who made it; bodies are left out, they hold Secrets.
const AUDIT: &str =
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";

fn free_ports<const N: usize>() -> Result<[u16; N]> {
    // All are held at once, so that no two are the same.
    let listeners = (0..N)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<Vec<_>, _>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn write_credentials(directory: &Path, authority: &Authority, port: u16) -> Result<()> {
    authority.issue(
        "apiserver",
        "/CN=kube-apiserver",
        "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc",
    )?;
    authority.service_account_key()?;
    let server = format!("https://127.0.0.1:{port}");
    for (name, subject) in [
        ("admin", "/O=system:masters/CN=admin"),
        ("controller-manager", "/CN=system:kube-controller-manager"),
    ] {
        authority.issue(name, subject, "")?;
        fs::write(
            directory.join(format!("{name}.kubeconfig")),
            authority.kubeconfig(name, &server)?,
        )?;
    }
    Ok(())
}

fn etcd_flags(directory: &Path, clients: u16, peers: u16) -> Vec<OsString> {
    let (clients, peers) = (
        format!("http://127.0.0.1:{clients}"),
        format!("http://127.0.0.1:{peers}"),
    );
    flags(&[
        ("data-dir", &path(directory, "etcd")),
        // Nothing here outlives the test.
        ("unsafe-no-fsync", "true"),
        ("log-level", "warn"),
        ("listen-client-urls", &clients),
        ("advertise-client-urls", &clients),
        ("listen-peer-urls", &peers),
        ("initial-advertise-peer-urls", &peers),
        ("initial-cluster", &format!("default={peers}")),
    ])
}

fn api_flags(directory: &Path, etcd: u16, port: u16) -> Vec<OsString> {
    flags(&[
        ("etcd-servers", &format!("http://127.0.0.1:{etcd}")),
        ("bind-address", "127.0.0.1"),
        ("advertise-address", "127.0.0.1"),
        ("secure-port", &port.to_string()),
        // The Service `kubernetes` may not point to a loopback address.
        ("endpoint-reconciler-type", "none"),
        ("service-cluster-ip-range", SERVICES),
        ("tls-cert-file", &path(directory, "apiserver.crt")),
        ("tls-private-key-file", &path(directory, "apiserver.key")),
        ("client-ca-file", &path(directory, "ca.crt")),
        ("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        ("service-account-key-file", &path(directory, "service-accounts.key")),
        (
            "service-account-signing-key-file",
            &path(directory, "service-accounts.key"),
        ),
        ("authorization-mode", "Node,RBAC"),
        ("enable-admission-plugins", "NodeRestriction"),
        ("allow-privileged", "true"),
        ("audit-policy-file", &path(directory, "audit.yaml")),
        ("audit-log-path", &path(directory, "audit.log")),
        // Each line is there when its request has been answered.
        ("audit-log-mode", "blocking"),
        ("profiling", "false"),
    ])
}

fn manager_flags(directory: &Path, port: u16) -> Vec<OsString> {
    let kubeconfig = path(directory, "controller-manager.kubeconfig");
    flags(&[
        ("kubeconfig", &kubeconfig),
        ("authentication-kubeconfig", &kubeconfig),
        ("authorization-kubeconfig", &kubeconfig),
        ("bind-address", "127.0.0.1"),
        ("secure-port", &port.to_string()),
        ("leader-elect", "false"),
        (
            "service-account-private-key-file",
            &path(directory, "service-accounts.key"),
        ),
        ("root-ca-file", &path(directory, "ca.crt")),
        ("cluster-signing-cert-file", &path(directory, "ca.crt")),
        ("cluster-signing-key-file", &path(directory, "ca.key")),
        ("use-service-account-credentials", "true"),
        ("profiling", "false"),
    ])
}

fn flags(pairs: &[(&str, &str)]) -> Vec<OsString> {
    pairs
        .iter()
        .map(|(name, value)| format!("--{name}={value}").into())
        .collect()
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}
