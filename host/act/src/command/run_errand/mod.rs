//! `host run-errand`: runs an errand of a deployment, shows its log, and waits for its end.

mod errand;
mod follow;
mod in_instances;
mod output;
mod pods;
mod reader;
mod results;
mod selected;

use crate::selection::one_each;
use anyhow::{Context, anyhow, bail};
use boson_api::QuarksJob;
use boson_api::job::Strategy;
use boson_cluster::client::{ErrorKind, FieldManager};
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_look::access::{Access, DeploymentArguments, Found};
use boson_look::instances::Instance;
use boson_look::table::{Table, TableArguments};
use clap::Args;
use errand::{Errand, Readiness, trigger_strategy};
use follow::{End, Run};
use in_instances::Place;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use output::{Logs, heartbeat, say};
use parking_lot::Mutex;
use results::{InstanceResult, SKIPPED_NOTE, failure, table};
use selected::Selected;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
While the errand runs, its log goes to standard error. The table on standard output has the end of the log. Ctrl-C ends the command and not the \
errand.

An errand is an instance group with `lifecycle: errand` or `auto-errand`. It can also be a job with `bin/run` of other instance groups, which \
then runs in all of their instances, in the job's container.

Exit codes: 0 the errand succeeded or was skipped, 1 it failed, or another error, 2 wrong usage, 130 Ctrl-C. The command needs the permissions \
get for BOSHDeployments; get, list and patch for QuarksJobs; list for Jobs; get and list for pods; get for pods/log; and list for events, to show why a \
pod does not start. For a job of other instance groups: list for QuarksStatefulSets, and get and create for pods/exec.

Examples:
  host run-errand smoke-tests -d nats -n messaging
  host run-errand smoke-tests -d nats --when-changed --with-heartbeat
  host run-errand smoke-tests -d nats --follow
  host run-errand status -d nats --instance broker/first --json";
/// Owner of the trigger in QuarksJobs.
const MANAGER: FieldManager = FieldManager("host-run-errand");
/// The operator writes the same object.
const MAX_ATTEMPTS: usize = 10;

/// Options of `host run-errand`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunErrandArguments {
    /// Name of the errand: its instance group, or a job
    #[arg(value_name = "NAME")]
    errand: String,
    #[command(flatten)]
    deployment: DeploymentArguments,
    /// Run only on this instance; repeat it for several [default: all that have the job]
    #[arg(long = "instance", value_name = "GROUP[/INDEX|first]")]
    instances: Vec<Selected>,
    /// Skip the errand if its last run succeeded and its configuration has not changed
    #[arg(long)]
    when_changed: bool,
    /// Has no effect: the pod of an errand ends with it
    #[arg(long)]
    keep_alive: bool,
    /// Follow the run in progress, and start none
    #[arg(long, conflicts_with = "when_changed")]
    follow: bool,
    /// Write the logs of all containers into a new directory
    #[arg(long)]
    download_logs: bool,
    /// Where this directory is created
    #[arg(long, value_name = "DIR", default_value = ".", requires = "download_logs")]
    logs_dir: PathBuf,
    /// Print a line at this interval while the errand runs [default without a value: 30]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "30", value_parser = clap::value_parser!(u64).range(1..))]
    with_heartbeat: Option<u64>,
    #[command(flatten)]
    table: TableArguments,
}

/// What the command prints at its end, and why it is no success.
struct Results {
    table: Table,
    failure: Option<String>,
}

pub fn run(arguments: &RunErrandArguments, color: Color) -> Result<(), ExitError> {
    let work = async |access, found| run_errand(Arc::new(access), &found, arguments).await;
    let results = arguments.deployment.run(work)?;
    arguments.table.print(vec![results.table], color)?;
    match results.failure {
        Some(why) => Err(anyhow!(why).into()),
        None => Ok(()),
    }
}

/// Where the user ends the command, it reports that the errand continues.
async fn run_errand(access: Arc<Access>, found: &Found, arguments: &RunErrandArguments) -> anyhow::Result<Results> {
    if arguments.keep_alive {
        say("--keep-alive has no effect: the pod of an errand ends with it, and stays with its log until the next run");
    }
    let jobs: Vec<QuarksJob> = access.list(&found.selector).await?;
    match Errand::find(&jobs, &found.names, &arguments.errand) {
        Ok(errand) => run_group(access, found, errand, arguments).await,
        Err(known) => run_job(access, found, &known, arguments).await,
    }
}

/// Runs an errand that is an instance group.
async fn run_group(
    access: Arc<Access>,
    found: &Found,
    errand: Errand,
    arguments: &RunErrandArguments,
) -> anyhow::Result<Results> {
    arguments.ensure_selected(&errand)?;
    let directory = arguments.logs_directory(found, &errand);
    let logs = Logs::new(directory.clone(), errand.containers.len() > 1);
    let logs = Arc::new(Mutex::new(logs));
    let mut run = Run {
        access,
        errand,
        number: 0,
        skippable: None,
    };
    let has_begun = if arguments.follow {
        run.attach().await?;
        true
    } else {
        run.begin(arguments.when_changed).await?
    };
    let end = tokio::select! {
        end = run.follow(&logs), if has_begun => end?,
        _ = tokio::signal::ctrl_c(), if has_begun => {
            say(&detach_message(&run, found));
            return Err(ExitError::Interrupted.into());
        }
        never = heartbeat(&run.errand.group, arguments.with_heartbeat), if has_begun => match never {},
        else => End::Skipped,
    };
    let mut notes: Vec<String> = directory.iter().map(|at| format!("logs: {}", at.display())).collect();
    let (ran, why) = match end {
        End::Skipped => {
            notes = vec![SKIPPED_NOTE.into()];
            (Vec::new(), None)
        }
        End::Ended(exits, why) => {
            let ran = exits.into_iter().map(|(container, exit_code)| InstanceResult {
                instance: run.errand.instance(),
                exit_code,
                stdout: logs.lock().tail(&container),
                stderr: String::new(),
            });
            (ran.collect(), why)
        }
    };
    let failure = failure(&arguments.errand, &ran, why);
    let table = Table {
        notes,
        ..table(&ran, arguments.table.are_for_person())
    };
    Ok(Results { table, failure })
}

/// Runs an errand that is a job of other instance groups. `known`: the errands that are instance groups.
async fn run_job(
    access: Arc<Access>,
    found: &Found,
    known: &[String],
    arguments: &RunErrandArguments,
) -> anyhow::Result<Results> {
    let job = &arguments.errand;
    let instances = Instance::all(&access, found).await?;
    let places = Place::of(&one_each(arguments.select(instances)?), job)?;
    if places.is_empty() {
        let known = if known.is_empty() {
            "none".to_string()
        } else {
            known.join(", ")
        };
        bail!(
            "there is no errand '{job}' in deployment '{}'; errands: {known}. A job of another instance group can run as an \
             errand if it has a container there, for a process or for scripts. Otherwise, move it to an instance group with \
             `lifecycle: errand`",
            found.names.deployment()
        );
    }
    for (is_given, option) in [
        (arguments.when_changed, "--when-changed"),
        (arguments.follow, "--follow"),
        (arguments.download_logs, "--download-logs"),
    ] {
        if is_given {
            bail!("{option} needs an errand that is an instance group, and '{job}' is a job of other instances");
        }
    }
    let logs = Arc::new(Mutex::new(Logs::new(None, places.len() > 1)));
    let (ran, why) = tokio::select! {
        ended = in_instances::run(&access, places, &logs) => ended,
        _ = tokio::signal::ctrl_c() => {
            say(&format!("stopped following errand '{job}', which goes on in its instances"));
            return Err(ExitError::Interrupted.into());
        }
        never = heartbeat(job, arguments.with_heartbeat) => match never {},
    };
    let why = why.map(|why| format!("Errand '{job}' failed: {why}"));
    let failure = why.or_else(|| failure(job, &ran, None));
    let table = table(&ran, arguments.table.are_for_person());
    Ok(Results { table, failure })
}

// === impl RunErrandArguments ===

impl RunErrandArguments {
    /// Fails if `--instance` does not select the only instance of this errand.
    fn ensure_selected(&self, errand: &Errand) -> anyhow::Result<()> {
        let all = &self.instances;
        if !all.is_empty() && !all.iter().any(|one| one.selects_errand(&errand.group)) {
            let asked: Vec<String> = all.iter().map(ToString::to_string).collect();
            bail!(
                "--instance {} selects no instance of errand '{}': it has '{}'",
                asked.join(", "),
                self.errand,
                errand.instance()
            );
        }
        Ok(())
    }

    /// Those that `--instance` selects, each once; without the option, all.
    fn select(&self, instances: Vec<Instance>) -> anyhow::Result<Vec<Instance>> {
        if self.instances.is_empty() {
            return Ok(instances);
        }
        let mut selected = Vec::new();
        for one in &self.instances {
            for instance in one.of(&instances)? {
                if !selected.contains(&instance) {
                    selected.push(instance);
                }
            }
        }
        Ok(selected)
    }

    /// The directory for the logs of an errand; none without `--download-logs`.
    fn logs_directory(&self, found: &Found, errand: &Errand) -> Option<PathBuf> {
        let deployment = found.names.deployment();
        let time = Timestamp::now().strftime("%Y%m%d-%H%M%S");
        let directory = self.logs_dir.join(format!("{deployment}.{}.0-{time}", errand.group));
        self.download_logs.then_some(directory)
    }
}

/// Said after Ctrl-C.
fn detach_message(run: &Run, found: &Found) -> String {
    let (errand, namespace) = (&run.errand, &run.access.namespace);
    let place = format!("-d {} -n {namespace}", found.deployment.name_any());
    format!(
        "stopped following errand '{}', which goes on. To follow it again: `host run-errand {} {place} --follow`. To cancel \
         it: `kubectl delete jobs -n {namespace} -l {}`",
        errand.group,
        errand.group,
        Run::selector(errand)
    )
}

// === impl Run ===

impl Run {
    /// Finds the run in progress.
    async fn attach(&mut self) -> anyhow::Result<()> {
        let (_, Readiness::Busy(number)) = self.read().await? else {
            bail!("errand '{}' does not run", self.errand.group);
        };
        self.number = number;
        Ok(())
    }

    /// Sets the trigger. As the API server only accepts it for the state that was read, the number of the run is known.
    /// False: there is nothing to run.
    async fn begin(&mut self, when_changed: bool) -> anyhow::Result<bool> {
        let group = self.errand.group.clone();
        for _ in 0..MAX_ATTEMPTS {
            let (object, readiness) = self.read().await?;
            self.number = match readiness {
                Readiness::Free(number) => number,
                Readiness::Busy(number) => bail!(
                    "errand '{group}' is running (run {number}), and runs of an errand do not overlap: wait for its end, or \
                     follow it with --follow"
                ),
            };
            let Some(strategy) = trigger_strategy(&object, when_changed) else {
                return Ok(false);
            };
            let members = json!({"spec": {"trigger": {"strategy": strategy}}});
            match self.access.cluster.merge(MANAGER, &object, members).await {
                Ok(object) => {
                    self.skippable = object.metadata.generation.filter(|_| strategy == Strategy::Changed);
                    say(&format!("requested run {} of errand '{group}'", self.number));
                    return Ok(true);
                }
                Err(error) if error.kind == ErrorKind::Conflict => {}
                Err(error) => return Err(self.access.explain(error)),
            }
        }
        bail!("errand '{group}' changes all the time: try again")
    }

    async fn read(&self) -> anyhow::Result<(QuarksJob, Readiness)> {
        let object: Option<QuarksJob> = self.access.get(&self.errand.name).await?;
        let object = object.with_context(|| format!("QuarksJob '{}' was deleted", self.errand.name))?;
        let jobs: Vec<Job> = self.access.list(&Self::selector(&self.errand)).await?;
        let readiness = self.errand.readiness(&object, &jobs);
        Ok((object, readiness))
    }
}
