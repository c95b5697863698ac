//! `host stop`, `start`, `restart` and `recreate`: desired states of instance groups and instances. The commands write
//! them to the BOSHDeployment, and the operator keeps to them, also after the manifest has changed.

use crate::follow::{Following, Scope, Wanted};
use crate::selection::Selection;
use crate::states::{self, Change, Target, creation_time};
use crate::{drain, interrupt, lost, replace};
use anyhow::bail;
use boson_api::{BoshDeployment, BoshDeploymentSpec};
use boson_commands::confirm::Confirmation;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::{Access, DeploymentArguments, Found};
use boson_look::instances::Instance;
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use std::collections::BTreeSet;

const RESTART_EXAMPLES: &str = "\
Replaces pods in the order of a rollout: zone by zone, canaries first, and at most max_in_flight at a time. Pods that are created meanwhile are not \
replaced again, so a command that is interrupted needs no second run. A stopped instance group is started. Ignored instances keep their pods.

One instance is replaced even if others are failing. The command waits for this instance only.

The command needs the permissions get and patch for BOSHDeployments, and list for QuarksStatefulSets and pods; with --no-converge, delete for pods in \
place of patch; with --skip-drain, also get and create for pods/exec; with --fix, also get for nodes and delete for pods.

Examples:
  host restart -d nats
  host recreate nats -d nats -n messaging --yes
  host restart nats/0 -d nats --no-converge";
/// Of `host stop` and `host start`.
pub const STOP_EXAMPLES: &str = "\
A stopped instance group has no pods, and nothing waits for any. A stopped instance has a pod that runs on no node. Their claims stay, and so do their \
states, and the instances in links, when the manifest changes. All pods of a group are deleted, or created, at the same time; one instance is stopped in \
the order of a rollout.

The command needs the permissions get and patch for BOSHDeployments, and list for QuarksStatefulSets and pods; with --skip-drain, also get and create \
for pods/exec.

Examples:
  host stop -d nats
  host stop nats -d nats -n messaging --yes
  host start nats -d nats";

pub(crate) const PAUSED_MESSAGE: &str =
    "the deployment is paused: run `host resume`, or set spec.paused to false, first";

/// Options of `host start`, which all these commands have.
#[derive(Args, Debug)]
pub struct StartArguments {
    /// Instance group or instance, as `host instances` shows it [default: all]
    #[arg(value_name = "GROUP[/INDEX]")]
    selection: Option<Selection>,
    #[command(flatten)]
    deployment: DeploymentArguments,
    #[command(flatten)]
    confirmation: Confirmation,
    /// No effect: this is the default
    #[arg(long)]
    converge: bool,
    /// No effect, as in BOSH
    #[arg(long)]
    force: bool,
    /// Do not wait until it is done
    #[arg(long)]
    no_wait: bool,
}

/// Options of `host stop`.
#[derive(Args, Debug)]
#[command(after_help = STOP_EXAMPLES)]
pub struct StopArguments {
    #[command(flatten)]
    common: StartArguments,
    /// Stop the present pods without their pre-stop and drain scripts
    #[arg(long)]
    skip_drain: bool,
    /// No effect: there is no VM that could be kept
    #[arg(long)]
    hard: bool,
}

/// Options of `host restart`.
#[derive(Args, Debug)]
#[command(after_help = RESTART_EXAMPLES)]
pub struct RestartArguments {
    #[command(flatten)]
    common: StartArguments,
    /// Stop the present pods without their pre-stop and drain scripts
    #[arg(long)]
    skip_drain: bool,
    /// Delete the pod of one instance now, without the order of a rollout
    #[arg(long, conflicts_with = "converge")]
    no_converge: bool,
}

/// Options of `host recreate`.
#[derive(Args, Debug)]
#[command(after_help = RESTART_EXAMPLES)]
pub struct RecreateArguments {
    #[command(flatten)]
    restart: RestartArguments,
    /// Replace only pods that were created before this time, such as 2026-11-28T10:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "no_converge")]
    vms_created_before: Option<Timestamp>,
    /// Also delete pods on nodes that do not answer, without waiting for these
    #[arg(long)]
    fix: bool,
}

/// # Errors
/// See [`ExitError`].
pub fn stop(arguments: &StopArguments) -> Result<(), ExitError> {
    stop_or_start(&arguments.common, Change::Stop, arguments.skip_drain)
}

/// # Errors
/// See [`ExitError`].
pub fn start(arguments: &StartArguments) -> Result<(), ExitError> {
    stop_or_start(arguments, Change::Start, false)
}

/// # Errors
/// See [`ExitError`].
pub fn restart(arguments: &RestartArguments) -> Result<(), ExitError> {
    replace(arguments, "Restart", None, false)
}

/// # Errors
/// See [`ExitError`].
pub fn recreate(arguments: &RecreateArguments) -> Result<(), ExitError> {
    let before = arguments.vms_created_before;
    replace(&arguments.restart, "Recreate", before, arguments.fix)
}

fn stop_or_start(common: &StartArguments, change: Change, skips_drain: bool) -> Result<(), ExitError> {
    let selection = common.selection.clone().unwrap_or_default();
    let stops = change == Change::Stop;
    common.confirmation.check()?;
    common.deployment.run(async |access, found| {
        let spec = &found.deployment.spec;
        let instances = selection.of(Instance::all(&access, &found).await?)?;
        let groups: BTreeSet<String> = groups(&instances);
        if let Selection::Instance { group, .. } = &selection {
            if spec.is_stopped(group) {
                bail!("the instance group '{group}' is stopped as a whole");
            }
            if spec.paused {
                bail!(PAUSED_MESSAGE);
            }
        }
        if stops && let Some(ignored) = instances.iter().find(|one| spec.is_ignored(&one.to_string())) {
            bail!(ignored_error(&ignored.to_string(), &found));
        }
        let verb = if stops { "Stop" } else { "Start" };
        common.confirmation.ask(&announcement(verb, &selection, &found))?;
        if skips_drain {
            drain::skip(&access, &instances).await?;
        }
        let targets: Vec<Target> = match &selection {
            Selection::Instance { .. } => vec![Target::of(selection.to_string())],
            _ => groups.iter().cloned().map(Target::of).collect(),
        };
        let scope = match (&selection, stops) {
            (Selection::Instance { group, index }, true) => instance_scope(group, *index, Wanted::Stopped),
            (Selection::Instance { group, index }, false) => instance_scope(group, *index, Wanted::Running(None)),
            _ => Scope::Groups(groups),
        };
        let written = states::write(&access, &found.deployment.name_any(), &targets, change).await?;
        follow(&access, &written, scope, common.no_wait).await
    })
}

fn instance_scope(group: &str, index: usize, wanted: Wanted) -> Scope {
    Scope::Instance {
        group: group.to_string(),
        index,
        wanted,
    }
}

/// `before`: only pods that were created before this time. `fixes`: pods on nodes that do not answer are deleted.
fn replace(arguments: &RestartArguments, verb: &str, before: Option<Timestamp>, fixes: bool) -> Result<(), ExitError> {
    let common = &arguments.common;
    let selection = common.selection.clone().unwrap_or_default();
    common.confirmation.check()?;
    common.deployment.run(async |access, found| {
        if arguments.no_converge && !matches!(selection, Selection::Instance { .. }) {
            bail!("--no-converge is for one instance: name it as GROUP/INDEX");
        }
        if before.is_some_and(|before| before > Timestamp::now()) {
            bail!("the time of --vms-created-before is in the future");
        }
        let instances = selection.of(Instance::all(&access, &found).await?)?;
        ensure_replaceable(arguments, &selection, &instances, &found)?;
        let spec = &found.deployment.spec;
        let ignored = ignored_names(&instances, spec);
        if !ignored.is_empty() {
            output::eprint(&format!("ignored instances keep their pods: {}\n", ignored.join(", ")));
        }
        common.confirmation.ask(&announcement(verb, &selection, &found))?;
        let meant = |one: &&Instance| {
            let is_old = before.is_none_or(|before| creation_time(one).is_some_and(|created| created < before));
            is_old && !spec.is_ignored(&one.to_string())
        };
        let replaced: Vec<Instance> = instances.iter().filter(meant).cloned().collect();
        if arguments.skip_drain {
            drain::skip(&access, &replaced).await?;
        }
        if arguments.no_converge {
            delete_lost_if(fixes, &access, &replaced).await?;
            let replaced = replace::replace_now(&access, &found, &instances, !common.no_wait);
            return interrupt::unless_interrupted(replaced, "no longer waiting for the new pod").await;
        }
        let targets = Target::replacing(&selection, &instances, before);
        let scope = match (&selection, targets.first()) {
            (Selection::Instance { group, index }, Some(target)) => {
                // Pods that are newer than the given time need not be replaced.
                let time = target.time.clone().filter(|_| before.is_none() || !replaced.is_empty());
                instance_scope(group, *index, Wanted::Running(time))
            }
            _ => Scope::Groups(groups(&instances)),
        };
        let written = states::write(&access, &found.deployment.name_any(), &targets, Change::Restart).await?;
        delete_lost_if(fixes, &access, &replaced).await?;
        follow(&access, &written, scope, common.no_wait).await
    })
}

/// Fails if these instances are stopped, ignored or paused, so that their pods would not be replaced.
fn ensure_replaceable(
    arguments: &RestartArguments,
    selection: &Selection,
    instances: &[Instance],
    found: &Found,
) -> anyhow::Result<()> {
    let spec = &found.deployment.spec;
    if matches!(selection, Selection::Instance { .. }) {
        if let Some(ignored) = ignored_names(instances, spec).first() {
            bail!(ignored_error(ignored, found));
        }
        if instances.iter().any(|one| spec.is_stopped(&one.group)) {
            bail!("the instance group is stopped: `host start` starts it");
        }
    }
    if arguments.no_converge && spec.is_stopped(&selection.to_string()) {
        bail!("the instance is stopped: `host start` starts it");
    }
    if spec.paused && !arguments.no_converge {
        bail!(PAUSED_MESSAGE);
    }
    Ok(())
}

async fn delete_lost_if(fixes: bool, access: &Access, instances: &[Instance]) -> anyhow::Result<()> {
    if fixes {
        lost::delete(access, instances).await?;
    }
    Ok(())
}

/// `written`: the deployment with the change.
async fn follow(access: &Access, written: &BoshDeployment, scope: Scope, no_wait: bool) -> anyhow::Result<()> {
    if no_wait {
        return Ok(());
    }
    let name = written.name_any();
    let following = Following {
        access,
        name: &name,
        generation: written.metadata.generation.unwrap_or_default(),
        scope,
        timeout: None,
    };
    Ok(following.run().await?.report(access, &name)?)
}

/// The groups that exist.
fn groups(instances: &[Instance]) -> BTreeSet<String> {
    let existing = instances.iter().filter(|one| one.index.is_some());
    existing.map(|one| one.group.clone()).collect()
}

fn ignored_names(instances: &[Instance], spec: &BoshDeploymentSpec) -> Vec<String> {
    let names: BTreeSet<String> = instances.iter().map(ToString::to_string).collect();
    names.into_iter().filter(|name| spec.is_ignored(name)).collect()
}

fn ignored_error(instance: &str, found: &Found) -> String {
    let deployment = found.deployment.name_any();
    format!("instance '{instance}' is ignored: run `host unignore {instance} -d {deployment}` first")
}

/// What is said before the question.
fn announcement(verb: &str, selection: &Selection, found: &Found) -> String {
    format!("{verb} {selection} of deployment '{}'\n", found.deployment.name_any())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts<A: Args>(options: &str) -> bool {
        let command = A::augment_args(clap::Command::default());
        let words = ["host", "-d", "d"].into_iter().chain(options.split(' '));
        command.try_get_matches_from(words).is_ok()
    }

    #[test]
    fn options_of_bosh_are_accepted_unless_they_promise_what_does_not_happen() {
        assert!(accepts::<StopArguments>(
            "web --hard --force --skip-drain --converge --non-interactive"
        ));
        assert!(accepts::<StartArguments>("web --converge -y"));
        assert!(accepts::<RestartArguments>(
            "web/0 --force --no-converge --skip-drain --yes"
        ));
        assert!(accepts::<RecreateArguments>("web --fix --converge --yes"));
        assert!(!accepts::<RestartArguments>("web/0 --converge --no-converge"));
        for option in ["--skip-drain=web", "--canaries=1", "--max-in-flight=1", "--dry-run"] {
            assert!(!accepts::<RecreateArguments>(option), "{option}");
            assert!(!accepts::<StopArguments>(option), "{option}");
        }
    }
}
