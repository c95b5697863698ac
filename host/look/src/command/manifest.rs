//! `host manifest`: the manifest that the operator has stored.

use crate::access::{Access, DeploymentArguments, Found};
use crate::applied::Applied;
use crate::table::json_text;
use anyhow::Context;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_pipeline::{runtime_config, yaml};
use clap::Args;
use kube::ResourceExt;

const EXAMPLES: &str = "\
Prints the manifest with ops files applied, and with placeholders for variables, without what runtime configs add. Values that the manifest itself has \
are shown. While a deployment is paused, it is the manifest from before the pause. The command needs the permissions to get the BOSHDeployment and the Secret <deployment>.with-ops.

Example: host manifest -d nats -n messaging";

/// Options of `host manifest`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ManifestArguments {
    #[command(flatten)]
    deployment: DeploymentArguments,
    /// Print the result as JSON, in the form of `bosh --json`
    #[arg(long)]
    json: bool,
}

pub(super) async fn applied(access: &Access, found: &Found) -> anyhow::Result<Applied> {
    let name = found.deployment.name_any();
    let applied = Applied::read(access, &name).await?;
    applied.with_context(|| format!("BOSHDeployment '{name}' has no manifest yet: see its conditions"))
}

pub fn run(arguments: &ManifestArguments) -> Result<(), ExitError> {
    let applied = arguments
        .deployment
        .run(async |access, found| applied(&access, &found).await)?;
    if let Some(why) = &applied.unapplied {
        output::eprint(&format!("this manifest is not applied: {why}\n"));
    }
    let text = yaml::write_manifest(&[runtime_config::without(applied.manifest.tree)]);
    let text = if arguments.json { json_text(&[], &[text]) } else { text };
    Ok(output::print(&text)?)
}
