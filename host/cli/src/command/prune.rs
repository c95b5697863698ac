//! `host prune`: deletes the values of variables that a deployment no longer has, and those that outlived their deployment.

use crate::connection::ConnectionArguments;
use crate::exit::Failed;
use crate::output;
use boson_cluster::client::Cluster;
use boson_controllers::prune::{Leftover, Pruning};
use clap::Args;
use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

const EXAMPLES: &str = "\
The values of variables that were removed from a manifest are retained, so that adding them again restores the same passwords. The values of a \
deployment with claims outlive it, so that the data of its claims remains usable; this command deletes them once the deployment is deleted. Secrets that \
you made yourself, and those that something still refers to, are never deleted.

Examples:
  host prune nats --dry-run
  host prune nats -n messaging --yes";

/// Delete generated values that a deployment's manifest no longer has, or that outlived their deployment
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PruneArguments {
    /// The BOSHDeployment, existing or deleted
    deployment: String,
    /// Its namespace [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Only list what would be deleted
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub fn run(arguments: &PruneArguments) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(prune(arguments))
}

async fn prune(arguments: &PruneArguments) -> Result<(), Failed> {
    let client = arguments.connection.client().await?;
    let namespace = arguments.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_string());
    let cluster = Cluster::new(client, Arc::default());
    let found = Pruning::find(&cluster, &namespace, &arguments.deployment).await;
    let found = found.map_err(anyhow::Error::from)?;
    for (leftover, reader) in &found.keep {
        output::complain(&format!("{} stays: {reader} refers to it\n", title(leftover)));
    }
    for claim in &found.claims {
        output::complain(&format!(
            "persistentvolumeclaim \"{claim}\" is still there: its data may be unusable without these values\n"
        ));
    }
    if found.remove.is_empty() {
        let deployment = &arguments.deployment;
        output::complain(&format!("there is nothing to delete of deployment '{deployment}'\n"));
        return Ok(());
    }
    if arguments.dry_run || !arguments.yes {
        let list: String = found.remove.iter().map(described).collect();
        output::print(&list)?;
    }
    if arguments.dry_run || !(arguments.yes || is_wanted(found.remove.len())?) {
        return Ok(());
    }
    for leftover in &found.remove {
        let deleted = Pruning::delete(&cluster, leftover).await;
        deleted.map_err(anyhow::Error::from)?;
        output::print(&format!("{} deleted\n", title(leftover)))?;
    }
    Ok(())
}

/// As kubectl names it.
fn title(leftover: &Leftover) -> String {
    let kind = leftover
        .object
        .as_ref()
        .map_or("secret", |_| "quarkssecret.quarks.cloudfoundry.org");
    format!("{kind} \"{}\"", leftover.name())
}

fn described(leftover: &Leftover) -> String {
    let title = title(leftover);
    match leftover.object {
        Some(_) => format!("{title}, with secret \"{}\"\n", leftover.secret_name()),
        None => format!("{title}\n"),
    }
}

/// Asks for confirmation on a terminal.
fn is_wanted(count: usize) -> Result<bool, Failed> {
    if !std::io::stdin().is_terminal() {
        return Err(anyhow::anyhow!("standard input is not a terminal: give --yes to delete these").into());
    }
    let these = if count == 1 { "this" } else { "these" };
    output::complain(&format!("Delete {these}? The values are lost. [y/N] "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
