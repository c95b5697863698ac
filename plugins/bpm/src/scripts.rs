//! Lifecycle scripts of a job: which run, how, and warnings for those that do not.

use crate::codes;
use crate::object::object;
use crate::report::{Place, Report};
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

    /// Warns of scripts that do not run, or not as under BOSH. `alone`: the pod has one container.
    pub fn warn(self, job: &str, processes: usize, alone: bool, place: &Place, report: &mut Report) {
        let mut warn = |name: &str, why: &str| {
            report.warning(
                codes::SCRIPT,
                place,
                format!("Script 'bin/{name}' of job '{job}' {why}"),
            );
        };
        if self.post_start {
            warn(
                "post-start",
                "is not run: it needs the process wrapper, which does not exist yet",
            );
        }
        for (has, name) in [(self.pre_stop, "pre-stop"), (self.drain, "drain")] {
            if has && processes == 0 {
                warn(name, "is not run: the job has no process whose container could run it");
            } else if has && !alone {
                warn(
                    name,
                    "runs before the job's first process is stopped; the other containers of the pod do not wait for it",
                );
            }
        }
        if self.post_stop {
            warn("post-stop", "is not run: a container ends with its process");
        }
        if self.post_deploy {
            warn("post-deploy", "is not run: Kubernetes has no such moment");
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
