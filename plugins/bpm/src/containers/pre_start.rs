//! Where a job's pre-start script runs: `quarks.run.pre_start`. By default, an init container runs it before all
//! processes, with a file system of its own. `inline` runs it in the containers of the job's processes.

use crate::codes;
use crate::containers::security;
use crate::group::job::Job;
use boson_document::{Diagnostic, Place, Report, Tree};

/// Whether the script runs in the containers of processes. `place`: of `run`, whose types are checked with the
/// manifest.
pub fn is_inline(run: &Tree, place: &Place, report: &mut Report) -> bool {
    match run.str("pre_start") {
        None | Some("container") => false,
        Some("inline") => true,
        Some(_) => {
            let text = "'pre_start' must be 'container' or 'inline'";
            report.error(codes::BAD_VALUE, place.at("pre_start"), text);
            false
        }
    }
}

/// Checks that an inline script can run, and says what it costs.
pub fn check(job: &Job, report: &mut Report) {
    if !job.quarks.inline_pre_start {
        return;
    }
    let name = &job.name;
    if !job.scripts.pre_start {
        let text = format!("Job '{name}' has no pre-start script that could run inline");
        report.warning(codes::PRE_START, &job.place, text);
    } else if job.processes.is_empty() {
        let text = format!("The pre-start script of job '{name}' cannot run inline: the job has no process");
        let help = "remove `pre_start: inline`; `writable_packages` shares what the script writes to packages";
        report.error(codes::PRE_START, &job.place, text).help(help);
    } else if !security::needs_no_root(job) {
        let text = format!("The processes of job '{name}' start as root, because its pre-start script runs inline");
        let mut note = Diagnostic::info(codes::PRE_START, text).at(&job.place);
        note.help("namespaces that enforce the PodSecurity profile `restricted` do not admit the pods");
        report.push(note);
    }
}
