//! Processes of a job: what `bpm.yml` says, as BPM reads it, with the job property `quarks.bpm` merged over it.

mod agree;
mod decode;
mod merge;
mod rules;

pub use agree::{JobPlace, of_job};
pub use rules::clean;

use crate::report::Place;
use boson_document::Tree;

/// The text that stands for `spec.ip` while bpm.yml is rendered; Kubernetes expands it in command, args and env.
pub const POD_IP: &str = "$(POD_IP)";

/// One process: one container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Name.
    pub name: String,
    /// Path of the program.
    pub executable: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, in the order of the file.
    pub env: Vec<(String, String)>,
    /// Working directory; empty: the job's.
    pub workdir: String,
    /// Path of a program to run first.
    pub pre_start: Option<String>,
    /// Without `CAP_`.
    pub capabilities: Vec<String>,
    /// Limits.
    pub limits: Limits,
    /// Requests, as Kubernetes has them. The predecessor's.
    pub requests: Tree,
    /// Wants `/var/vcap/data/<job>`.
    pub ephemeral_disk: bool,
    /// Wants `/var/vcap/store/<job>`.
    pub persistent_disk: bool,
    /// Below `/var/vcap`.
    pub additional_volumes: Vec<Volume>,
    /// Anywhere.
    pub unrestricted_volumes: Vec<Volume>,
    /// Runs as root with everything allowed.
    pub privileged: bool,
    /// Sees the node's processes.
    pub host_pid_namespace: bool,
    /// `TERM`, `INT` or empty.
    pub shutdown_signal: String,
    /// Where it is described.
    pub place: Place,
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
    /// Where.
    pub path: String,
    /// May be written.
    pub writable: bool,
    /// Programs in it may be run.
    pub allow_executions: bool,
    /// Is not made, nor its owner changed.
    pub mount_only: bool,
    /// Shares mounts.
    pub shared: bool,
}
