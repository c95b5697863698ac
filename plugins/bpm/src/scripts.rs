//! Lifecycle scripts of a job: which run, how, and warnings for those that do not.

use crate::codes;
use crate::group::{Group, Lifecycle};
use crate::job::Job;
use crate::object::object;
use crate::report::Report;
use boson_document::Tree;

/// The scripts that a job has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scripts {
    /// Before the processes start.
    pub pre_start: bool,
    /// After they started.
    pub post_start: bool,
    /// Before anything stops.
    pub pre_stop: bool,
    /// Before the processes stop.
    pub drain: bool,
    /// After they stopped.
    pub post_stop: bool,
    /// After all of the deployment is up.
    pub post_deploy: bool,
}

// === impl Scripts ===

impl Scripts {
    /// By the destinations of a job's templates.
    pub fn read(templates: &[String]) -> Self {
        let has = |name: &str| templates.iter().any(|template| template == name);
        Self {
            pre_start: has("bin/pre-start"),
            post_start: has("bin/post-start"),
            pre_stop: has("bin/pre-stop"),
            drain: has("bin/drain"),
            post_stop: has("bin/post-stop"),
            post_deploy: has("bin/post-deploy"),
        }
    }

    /// Warns of scripts that do not run, or not as under BOSH.
    pub fn warn(self, job: &Job, group: &Group, report: &mut Report) {
        let stop = if group.lifecycle != Lifecycle::Service {
            Some("is not run: an errand ends by itself")
        } else if job.processes.is_empty() {
            Some("is not run: the job has no process whose container could run it")
        } else if group.processes > 1 {
            Some("runs before the job's first process is stopped; the other containers of the pod do not wait for it")
        } else if group.settings.pod.contains_key("terminationGracePeriodSeconds") {
            None
        } else {
            Some("has 30 seconds before the process is killed")
        };
        let scripts = [
            (
                self.post_start,
                "post-start",
                Some("is not run: it needs the process wrapper, which does not exist yet"),
            ),
            (self.pre_stop, "pre-stop", stop),
            (self.drain, "drain", stop),
            (
                self.post_stop,
                "post-stop",
                Some("is not run: a container ends with its process"),
            ),
            (
                self.post_deploy,
                "post-deploy",
                Some("is not run: Kubernetes has no such moment"),
            ),
        ];
        for (_, name, why) in scripts.into_iter().filter(|(has, ..)| *has) {
            let Some(why) = why else { continue };
            let text = format!("Script 'bin/{name}' of job '{}' {why}", job.name);
            let told = report.warning(codes::SCRIPT, &job.place, text);
            if stop == Some(why) && !why.starts_with("is not") {
                told.help(
                    "Set env.bosh.agent.settings.terminationGracePeriodSeconds to the longest time that it takes.",
                );
            }
        }
    }

    /// `lifecycle` of the container of a job's first process.
    pub fn lifecycle(self, job: &str) -> Option<Tree> {
        if !self.pre_stop && !self.drain {
            return None;
        }
        let bin = format!("/var/vcap/jobs/{job}/bin");
        let mut script = String::new();
        if self.pre_stop {
            script.push_str("\"$1/pre-stop\"\n");
        }
        if self.drain {
            script.push_str(DRAIN);
        }
        let command = vec!["/bin/sh", "-c", &script, "pre-stop", &bin];
        Some(object! { "preStop" => object! { "exec" => object! { "command" => command } } })
    }
}

/// BOSH's protocol: the script prints how many seconds to wait; a negative number means to ask again after them.
const DRAIN: &str = r#"state=job_shutdown
while :; do
  seconds=$("$1/drain" "$state" hash_unchanged) || exit
  case "$seconds" in
    -[0-9]*) sleep "${seconds#-}"; state=job_check_status ;;
    [0-9]*) sleep "$seconds"; exit 0 ;;
    *) exit 1 ;;
  esac
done
"#;

/// The command of the init container of a pre-start script. `debug`: one that fails waits for an hour, to be looked at.
pub fn pre_start(job: &str, debug: bool) -> Vec<String> {
    let script = format!("/var/vcap/jobs/{job}/bin/pre-start");
    if debug { waiting(script) } else { vec![script] }
}

fn waiting(script: String) -> Vec<String> {
    let text = "\"$1\" || { code=$?; sleep 3600; exit $code; }";
    vec!["/bin/sh".into(), "-c".into(), text.into(), "pre-start".into(), script]
}
