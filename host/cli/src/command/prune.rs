//! `host prune`: deletes the values of variables that a deployment no longer has.

use crate::exit::Failed;
use crate::output;
use anyhow::Context;
use boson_controllers::api::QuarksSecret;
use boson_controllers::client::{Cluster, Connection, connect};
use boson_controllers::prune::Pruning;
use clap::Args;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
The values of variables that were removed from a manifest are kept, so that adding them again brings back the same passwords. Secrets that \
you made yourself, and those that something still refers to, are never deleted.

Examples:
  host prune nats --dry-run
  host prune nats -n messaging --yes";

/// Delete the values of variables that a deployment's manifest no longer has
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PruneArguments {
    /// The BOSHDeployment
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
    /// Kubeconfig [default: as kubectl finds it]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,
}

pub fn run(arguments: &PruneArguments) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(prune(arguments))
}

async fn prune(arguments: &PruneArguments) -> Result<(), Failed> {
    let connection = match &arguments.kubeconfig {
        None => Connection::Default,
        Some(path) => Connection::File {
            path: path.clone(),
            context: arguments.context.clone(),
        },
    };
    let client = connect(&connection)
        .await
        .map_err(anyhow::Error::msg)
        .context("no way to the API server")?;
    let namespace = arguments.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_string());
    let cluster = Cluster::new(client, Arc::default());
    let found = Pruning::find(&cluster, &namespace, &arguments.deployment).await;
    let found = found.map_err(anyhow::Error::from)?;
    for (name, reader) in &found.keep {
        output::complain(&format!("{} stays: {reader} refers to it\n", title(name)));
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
    for secret in &found.remove {
        let deleted = Pruning::delete(&cluster, secret).await;
        deleted.map_err(anyhow::Error::from)?;
        output::print(&format!("{} deleted\n", title(name(secret))))?;
    }
    Ok(())
}

fn name(secret: &QuarksSecret) -> &str {
    secret.metadata.name.as_deref().unwrap_or_default()
}

/// As kubectl names it.
fn title(name: &str) -> String {
    format!("quarkssecret.quarks.cloudfoundry.org \"{name}\"")
}

fn described(secret: &QuarksSecret) -> String {
    format!("{}, with secret \"{}\"\n", title(name(secret)), secret.spec.secret_name)
}

/// Asks, where somebody can answer.
fn is_wanted(count: usize) -> Result<bool, Failed> {
    if !std::io::stdin().is_terminal() {
        return Err(anyhow::anyhow!("nobody can be asked here: give --yes to delete these").into());
    }
    let these = if count == 1 { "this" } else { "these" };
    output::complain(&format!("Delete {these}? The values are lost. [y/N] "));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
