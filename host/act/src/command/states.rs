//! `host stop`, `start`, `restart` and `recreate`: desired states of instance groups and instances. The commands write
//! them to the BOSHDeployment, and the operator keeps to them, also after the manifest has changed.

use crate::follow::{self, Following};
use crate::selection::Selection;
use crate::states::{self, Change, Target};
use anyhow::bail;
use boson_api::BoshDeploymentSpec;
use boson_commands::confirm::Confirmation;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::{Access, DeploymentArguments, Found};
use boson_look::instances::Instance;
use clap::Args;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound, Unit};
use kube::ResourceExt;
use std::collections::{BTreeMap, BTreeSet};

const RESTART_EXAMPLES: &str = "\
Replaces pods in the order of a rollout: zone by zone, canaries first, and at most max_in_flight at a time. Pods that are created meanwhile are not \
replaced again, so a command that is interrupted needs no second run. A stopped instance group is started. Ignored instances keep their pods.

The command needs the permissions get and patch for BOSHDeployments, and list for QuarksStatefulSets and pods; with --no-converge, delete for pods in \
place of patch.

Examples:
  host restart -d nats
  host recreate nats -d nats -n messaging --yes
  host restart nats/0 -d nats --no-converge";
const STOP_EXAMPLES: &str = "\
A stopped instance group has no pods, and nothing waits for any. A stopped instance has a pod that runs on no node. Their claims stay, and so do their \
states, and the instances in links, when the manifest changes. All pods of a group are deleted, or created, at the same time; one instance is stopped in \
the order of a rollout.

The command needs the permissions get and patch for BOSHDeployments, and list for QuarksStatefulSets and pods.

Examples:
  host stop -d nats
  host stop nats -d nats -n messaging --yes
  host start nats -d nats";

const PAUSED: &str = "the deployment is paused: run `host resume`, or set spec.paused to false, first";

/// Options of all these commands.
#[derive(Args, Debug)]
struct Common {
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
    common: Common,
    /// No effect: there is no VM that could be kept
    #[arg(long)]
    hard: bool,
}

/// Options of `host start`.
#[derive(Args, Debug)]
#[command(after_help = STOP_EXAMPLES)]
pub struct StartArguments {
    #[command(flatten)]
    common: Common,
}

/// Options of `host restart`.
#[derive(Args, Debug)]
#[command(after_help = RESTART_EXAMPLES)]
pub struct RestartArguments {
    #[command(flatten)]
    common: Common,
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
    /// No effect: a pod that does not answer is replaced, too
    #[arg(long)]
    fix: bool,
}

/// # Errors
/// See [`ExitError`].
pub fn stop(arguments: &StopArguments) -> Result<(), ExitError> {
    stop_or_start(&arguments.common, true)
}

/// # Errors
/// See [`ExitError`].
pub fn start(arguments: &StartArguments) -> Result<(), ExitError> {
    stop_or_start(&arguments.common, false)
}

/// # Errors
/// See [`ExitError`].
pub fn restart(arguments: &RestartArguments) -> Result<(), ExitError> {
    replace(arguments, "Restart", None)
}

/// # Errors
/// See [`ExitError`].
pub fn recreate(arguments: &RecreateArguments) -> Result<(), ExitError> {
    replace(&arguments.restart, "Recreate", arguments.vms_created_before)
}

fn stop_or_start(common: &Common, stops: bool) -> Result<(), ExitError> {
    let selection = common.selection.clone().unwrap_or_default();
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
                bail!(PAUSED);
            }
        }
        if stops && let Some(ignored) = instances.iter().find(|one| spec.is_ignored(&one.to_string())) {
            bail!(refusal(&ignored.to_string(), &found));
        }
        let verb = if stops { "Stop" } else { "Start" };
        if !common.confirmation.ask(&announcement(verb, &selection, &found))? {
            return Ok(Err(ExitError::Input));
        }
        let change = if stops { Change::Stop } else { Change::Start };
        let targets: Vec<Target> = match &selection {
            Selection::Instance { .. } => vec![Target::of(selection.to_string())],
            _ => groups.iter().cloned().map(Target::of).collect(),
        };
        carry_out(&access, found, &targets, change, groups, common.no_wait).await
    })?
}

fn replace(arguments: &RestartArguments, verb: &str, before: Option<Timestamp>) -> Result<(), ExitError> {
    let common = &arguments.common;
    let selection = common.selection.clone().unwrap_or_default();
    let is_one = matches!(selection, Selection::Instance { .. });
    common.confirmation.check()?;
    common.deployment.run(async |access, found| {
        if arguments.no_converge && !is_one {
            bail!("--no-converge is for one instance: name it as GROUP/INDEX");
        }
        if before.is_some_and(|before| before > Timestamp::now()) {
            bail!("the time of --vms-created-before is in the future");
        }
        let instances = selection.of(Instance::all(&access, &found).await?)?;
        let spec = &found.deployment.spec;
        let ignored: Vec<String> = ignored(&instances, spec);
        if let (true, Some(ignored)) = (is_one, ignored.first()) {
            bail!(refusal(ignored, &found));
        }
        if is_one && instances.iter().any(|one| spec.is_stopped(&one.group)) {
            bail!("the instance group is stopped: `host start` starts it");
        }
        if arguments.no_converge && spec.is_stopped(&selection.to_string()) {
            bail!("the instance is stopped: `host start` starts it");
        }
        if spec.paused && !arguments.no_converge {
            bail!(PAUSED);
        }
        if !ignored.is_empty() {
            output::complain(&format!("ignored instances keep their pods: {}\n", ignored.join(", ")));
        }
        if !common.confirmation.ask(&announcement(verb, &selection, &found))? {
            return Ok(Err(ExitError::Input));
        }
        if arguments.no_converge {
            let replaced = follow::replace_now(&access, &found, &instances, !common.no_wait);
            return follow::unless_interrupted(replaced, "no longer waiting for the new pod").await;
        }
        let targets = targets(&selection, &instances, before);
        let groups = groups(&instances);
        carry_out(&access, found, &targets, Change::Replace, groups, common.no_wait).await
    })?
}

async fn carry_out(
    access: &Access,
    found: Found,
    targets: &[Target],
    change: Change,
    groups: BTreeSet<String>,
    no_wait: bool,
) -> anyhow::Result<Result<(), ExitError>> {
    let name = found.deployment.name_any();
    let written = states::write(access, &name, targets, change).await?;
    if no_wait {
        return Ok(Ok(()));
    }
    let following = Following {
        deployment: written,
        selector: found.selector,
        groups,
    };
    let still = format!(
        "no longer followed; the operator goes on: see `host status -d {name} -n {}`",
        access.namespace
    );
    follow::unless_interrupted(following.run(access), &still).await
}

/// What is to be replaced. The newest pod gives the time, not the clock of this machine.
fn targets(selection: &Selection, instances: &[Instance], before: Option<Timestamp>) -> Vec<Target> {
    let mut newest: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
    for instance in instances.iter().filter(|one| one.index.is_some()) {
        let name = match selection {
            Selection::Instance { .. } => instance.to_string(),
            _ => instance.group.clone(),
        };
        let pod = instance.pod.as_ref();
        let created = pod.and_then(|pod| Some(pod.metadata.creation_timestamp.as_ref()?.0));
        let of_target = newest.entry(name).or_default();
        *of_target = (*of_target).max(created);
    }
    // Kubernetes has no fractions of seconds.
    let up = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Ceil);
    let before = before.map(|time| time.round(up).unwrap_or(time));
    let after = |created: Timestamp| created.checked_add(SignedDuration::from_secs(1)).unwrap_or(created);
    let target = |(name, newest): (String, Option<Timestamp>)| Target {
        name,
        time: before.or(newest.map(after)).map(Time),
    };
    newest.into_iter().map(target).collect()
}

/// The groups that exist.
fn groups(instances: &[Instance]) -> BTreeSet<String> {
    let existing = instances.iter().filter(|one| one.index.is_some());
    existing.map(|one| one.group.clone()).collect()
}

fn ignored(instances: &[Instance], spec: &BoshDeploymentSpec) -> Vec<String> {
    let names: BTreeSet<String> = instances.iter().map(ToString::to_string).collect();
    names.into_iter().filter(|name| spec.is_ignored(name)).collect()
}

fn refusal(instance: &str, found: &Found) -> String {
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
    use serde_json::{from_value, json};

    fn accepts<A: Args>(options: &str) -> bool {
        let command = A::augment_args(clap::Command::default());
        let words = ["host", "-d", "d"].into_iter().chain(options.split(' '));
        command.try_get_matches_from(words).is_ok()
    }

    #[test]
    fn options_of_bosh_are_accepted_unless_they_promise_what_does_not_happen() {
        assert!(accepts::<StopArguments>(
            "web --hard --force --converge --non-interactive"
        ));
        assert!(accepts::<StartArguments>("web --converge -y"));
        assert!(accepts::<RestartArguments>("web/0 --force --no-converge --yes"));
        assert!(accepts::<RecreateArguments>("web --fix --converge --yes"));
        assert!(!accepts::<RestartArguments>("web/0 --converge --no-converge"));
        for option in ["--skip-drain", "--canaries=1", "--max-in-flight=1", "--dry-run"] {
            assert!(!accepts::<RecreateArguments>(option), "{option}");
            assert!(!accepts::<StopArguments>(option), "{option}");
        }
    }

    #[test]
    fn what_is_replaced_is_older_than_the_newest_pod_of_its_group() {
        let instance = |group: &str, index: Option<usize>, created: Option<&str>| Instance {
            group: group.into(),
            index,
            az: String::new(),
            pod: created.map(|time| from_value(json!({"metadata": {"creationTimestamp": time}})).unwrap()),
        };
        let (early, late) = ("2026-11-28T10:00:00Z", "2026-11-28T11:00:00Z");
        let all = [
            instance("gone", None, Some(late)),
            instance("web", Some(0), Some(late)),
            instance("web", Some(1), Some(early)),
            instance("zero", Some(0), None),
        ];
        let found = |selection: &str, instances: &[Instance], before: Option<&str>| -> Vec<String> {
            let selection = selection.parse().unwrap_or_default();
            let before = before.map(|time| time.parse().unwrap());
            let text = |one: Target| {
                let time = one.time.map(|time| time.0.to_string());
                format!("{} {}", one.name, time.unwrap_or_default())
            };
            targets(&selection, instances, before).into_iter().map(text).collect()
        };
        assert_eq!(found("", &all, None), ["web 2026-11-28T11:00:01Z", "zero "]);
        assert_eq!(found("web/1", &all[2..3], None), ["web/1 2026-11-28T10:00:01Z"]);
        assert_eq!(found("web", &all[1..3], Some(early)), ["web 2026-11-28T10:00:00Z"]);
        let fraction = Some("2026-11-28T10:00:00.5Z");
        assert_eq!(found("web", &all[1..3], fraction), ["web 2026-11-28T10:00:01Z"]);
        assert_eq!(groups(&all).into_iter().collect::<Vec<_>>(), ["web", "zero"]);
    }
}
