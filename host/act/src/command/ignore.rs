//! `host ignore` and `host unignore`: instances that the operator does not change.

use crate::selection::Selection;
use crate::states::{self, Change, Target};
use anyhow::bail;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::DeploymentArguments;
use boson_look::instances::Instance;
use clap::Args;
use kube::ResourceExt;

const EXAMPLES: &str = "\
The operator does not replace the pod of an ignored instance, and no rollout waits for it. Its instance group cannot be deleted, stopped or scaled \
down below it. If Kubernetes loses the pod, it creates it again as the newest manifest says. While an instance is ignored, a change of a group without \
disks replaces pods one after the other, and does not start new pods beside them.

The command needs the permissions get and patch for BOSHDeployments, and list for QuarksStatefulSets and pods.

Examples:
  host ignore nats/0 -d nats
  host unignore nats/0 -d nats -n messaging";

/// Options of `host ignore` and `host unignore`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct IgnoreArguments {
    /// Instance, as `host instances` shows it
    #[arg(value_name = "GROUP/INDEX")]
    instance: Selection,
    #[command(flatten)]
    deployment: DeploymentArguments,
}

/// # Errors
/// See [`ExitError`].
pub fn ignore(arguments: &IgnoreArguments) -> Result<(), ExitError> {
    run(arguments, Change::Ignore)
}

/// # Errors
/// See [`ExitError`].
pub fn unignore(arguments: &IgnoreArguments) -> Result<(), ExitError> {
    run(arguments, Change::Unignore)
}

fn run(arguments: &IgnoreArguments, change: Change) -> Result<(), ExitError> {
    let instance = &arguments.instance;
    arguments.deployment.run(async |access, found| {
        let Selection::Instance { .. } = instance else {
            bail!("'{instance}' is no instance: name it as GROUP/INDEX");
        };
        // What is gone can be unignored.
        if change == Change::Ignore {
            instance.of(Instance::all(&access, &found).await?)?;
        }
        let targets = [Target::of(instance.to_string())];
        states::write(&access, &found.deployment.name_any(), &targets, change).await?;
        let word = if change == Change::Ignore {
            "is ignored"
        } else {
            "is no longer ignored"
        };
        Ok(output::print(&format!("instance '{instance}' {word}\n"))?)
    })
}
