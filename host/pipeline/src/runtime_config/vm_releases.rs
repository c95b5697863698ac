//! Releases whose jobs change or watch the VM that they are on. As addons of a runtime config, they would be in every
//! pod and work in none: their pre-start scripts write to `/etc`, load kernel modules or restart services of a
//! stemcell.

use super::codes;
use boson_document::Diagnostic;
use boson_manifest::job::Job;
use boson_manifest::redacted::plain;

/// A release, and why its jobs are left out.
struct VmRelease {
    name: &'static str,
    why: &'static str,
    help: &'static str,
}

const VM_RELEASES: [VmRelease; 4] = [
    VmRelease {
        name: "os-conf",
        why: "it configures the operating system of a VM, which pods do not have",
        help: "configure the nodes; for sysctls of pods, see `quarks` in docs/manifest.md",
    },
    VmRelease {
        name: "syslog",
        why: "it forwards the logs of a VM with rsyslog",
        help: "the logs of jobs are the output of their containers: forward them with the log collector of the cluster",
    },
    VmRelease {
        name: "node-exporter",
        why: "it measures a VM",
        help: "install the node exporter of the cluster, one pod for each node",
    },
    VmRelease {
        name: "datadog-agent",
        why: "it measures a VM",
        help: "install the agent in the cluster, one pod for each node",
    },
];

/// The warning for a job that is left out; none for all others.
pub fn left_out(job: &Job<'_>) -> Option<Diagnostic> {
    let release = VM_RELEASES.iter().find(|release| release.name == job.release)?;
    let message = format!(
        "Job '{}' of release '{}' is left out: {}",
        plain(&job.name),
        release.name,
        release.why
    );
    let mut warning = Diagnostic::warning(codes::RUNTIME_CONFIG_VM_JOB, message).at(job.place().clone());
    warning.help(release.help);
    Some(warning)
}
