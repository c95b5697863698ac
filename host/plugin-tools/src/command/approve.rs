//! `host plugin approve`: approves the version of a plugin in a cluster, with the permissions of the user.

use crate::command::rollback::Place;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_commands::runtime::block_on;
use boson_pipeline::report::clean;
use boson_plugins::approval::{Approval, Approving, approve};
use clap::Args;

const ABOUT: &str = "\
Needed if the operator runs with `--plugin-updates approve`. It approves the version that the ConfigMap has now: name, stage, component, \
order, `enforce`, `onFailure`, settings and selector. The operator uses it, and any version that differs only by serving fewer \
deployments. The condition PluginsHealthy of the deployments names the digest, and so does --dry-run; with --digest, a version that was \
applied in the meantime is not approved. Approved versions are in the PluginApproval of the plugin's name. The command needs the \
permissions get for ConfigMaps, and get, create and update for PluginApprovals.

Examples:
  host plugin approve my-labels -n messaging --dry-run
  host plugin approve my-labels -n messaging --digest sha256:1f0c...
  host plugin approve my-labels -n messaging --only";

/// Options of `host plugin approve`.
#[derive(Args, Debug)]
#[command(after_help = ABOUT)]
pub struct ApproveArguments {
    /// Name of the plugin's ConfigMap: the one with `plugin.yaml`
    plugin: String,
    /// Digest of the version to approve; any other is refused [default: the version that the ConfigMap has]
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    /// Revoke the approvals of all other versions, so that nobody can go back to them
    #[arg(long)]
    only: bool,
    /// Show what would be approved, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &ApproveArguments) -> Result<(), ExitError> {
    let approval = block_on(async {
        let (cluster, namespace) = arguments.place.cluster().await?;
        let how = Approving {
            expected: arguments.digest.as_deref(),
            only: arguments.only,
            dry_run: arguments.dry_run,
        };
        anyhow::Ok(approve(&cluster, &namespace, &arguments.plugin, how).await?)
    })??;
    Ok(output::print(&text(arguments, &approval))?)
}

fn text(arguments: &ApproveArguments, approval: &Approval) -> String {
    let state = match (approval.gains.is_empty(), arguments.dry_run, arguments.only) {
        (_, false, true) => "approved, and no other version",
        (true, _, _) => "is approved already",
        (false, true, _) => "is not approved",
        (false, false, _) => "approved",
    };
    let mut text = format!(
        "plugin '{}' {state}\ndigest:    {}\n",
        arguments.plugin, approval.digest
    );
    text.push_str(&format!("component: {}\n", approval.version.component));
    for (nth, gain) in approval.gains.iter().enumerate() {
        let head = if nth == 0 { "gains:" } else { "" };
        text.push_str(&format!("{head:<10} {}\n", clean::line(gain)));
    }
    text
}
