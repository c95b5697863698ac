//! Processes of a job: from `bpm.yml` by the rules of BPM, with the job property `quarks.bpm` merged over it, or from a
//! `monit` file. Pure.
//!
//! The conversion reads them to shape a pod's containers; the pod reads them again from the files that it rendered, and
//! [`document`](mod@document) then describes them to container-run. Both use [`read()`], so that they cannot disagree.

pub mod bytes;
mod capabilities;
pub mod cpu;
mod decode;
pub mod document;
mod findings;
mod merge;
pub mod monit;
pub mod probe;
mod read;
mod rules;

pub use decode::document as decode;
pub use findings::{Finding, Findings, Kind};
pub use read::{Given, of_monit, read, unique};
pub use rules::{clean, is_env_name};

use boson_document::{Place, Tree};

/// Path of the description of a job's processes, below its directory.
pub const FILE: &str = "config/bpm.yml";

/// The text of `spec.ip` until the pod exists.
pub const POD_IP: &str = "$(POD_IP)";

/// One process: one container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    pub name: String,
    /// Path of the program.
    pub executable: String,
    pub args: Vec<String>,
    /// Its environment, in the order of the file.
    pub env: Vec<(String, String)>,
    /// Working directory; empty: the job's.
    pub workdir: String,
    /// Path of a program to run first.
    pub pre_start: Option<String>,
    /// Without `CAP_`.
    pub capabilities: Vec<String>,
    pub limits: Limits,
    /// Requests, as Kubernetes has them. The predecessor's.
    pub requests: Tree,
    /// Whether it needs `/var/vcap/data/<job>`.
    pub ephemeral_disk: bool,
    /// Whether it needs `/var/vcap/store/<job>`.
    pub persistent_disk: bool,
    /// Below `/var/vcap`.
    pub additional_volumes: Vec<Volume>,
    pub unrestricted_volumes: Vec<Volume>,
    /// Runs as root with everything allowed.
    pub privileged: bool,
    /// Runs in the node's pid namespace.
    pub host_pid_namespace: bool,
    /// `TERM`, `INT` or empty.
    pub shutdown_signal: String,
    /// How monit runs it, if BPM does not.
    pub monit: Option<Monit>,
    /// The place of its description.
    pub place: Place,
}

/// A `check process` of a monit file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Monit {
    /// The start program and its arguments.
    pub start: Vec<String>,
    /// The stop program and its arguments.
    pub stop: Vec<String>,
    /// The file that names the process.
    pub pidfile: String,
    /// Seconds to start in.
    pub start_timeout: u64,
    /// Seconds to stop in.
    pub stop_timeout: u64,
    /// The names of the checks that it depends on, of this job or of others of its instance.
    pub depends: Vec<String>,
    /// The user of the programs, if not root.
    pub uid: Option<String>,
    pub gid: Option<String>,
}

/// Limits of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// As written, BPM's units.
    pub memory: Option<String>,
    /// A Kubernetes quantity. The predecessor's.
    pub cpu: Option<String>,
    /// Open files.
    pub open_files: Option<String>,
    /// Processes and threads.
    pub processes: Option<String>,
    /// Bytes of a core file.
    pub core_file_size: Option<String>,
}

/// A volume of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    pub path: String,
    /// May be written.
    pub writable: bool,
    /// Programs in it may be run.
    pub allow_executions: bool,
    /// Is neither created nor given another owner.
    pub mount_only: bool,
    /// Shares mounts.
    pub shared: bool,
}
