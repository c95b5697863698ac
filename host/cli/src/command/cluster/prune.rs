//! `host prune`: deletes the values of variables that a deployment no longer has, and those that outlived their
//! deployment.

use boson_commands::confirm::Confirmation;
use boson_commands::connection::ConnectionArguments;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_commands::runtime::block_on;
use boson_controllers::prune::{Leftover, PruneError, Pruning};
use boson_look::access::Access;
use clap::Args;

const EXAMPLES: &str = "\
The values of variables that were removed from a manifest are retained, so that adding them again restores the same passwords. The values of a \
deployment with claims are retained after its deletion, so that the data of its claims remains usable; this command then deletes them. It never deletes \
Secrets that you created yourself, or that another object refers to.

Examples:
  host prune nats --dry-run
  host prune nats -n messaging --yes";

/// Delete generated values of removed variables and deleted deployments
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PruneArguments {
    /// Name of the BOSHDeployment, existing or deleted
    deployment: String,
    /// Namespace of the deployment [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    confirmation: Confirmation,
    /// List the objects without deleting them
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub fn run(arguments: &PruneArguments) -> Result<(), ExitError> {
    block_on(prune(arguments))?
}

async fn prune(arguments: &PruneArguments) -> Result<(), ExitError> {
    let access = Access::connect(&arguments.connection, arguments.namespace.as_deref()).await?;
    let found = Pruning::find(&access.cluster, &access.namespace, &arguments.deployment).await;
    let found = found.map_err(|error| match error {
        PruneError::Api(error) => access.explain(error),
        error => error.into(),
    })?;
    for (leftover, reader) in &found.keep {
        output::eprint(&format!("{} is retained: {reader} refers to it\n", title(leftover)));
    }
    for claim in &found.claims {
        output::eprint(&format!(
            "persistentvolumeclaim \"{claim}\" still exists: its data may be unusable without these values\n"
        ));
    }
    if found.remove.is_empty() {
        let deployment = &arguments.deployment;
        output::eprint(&format!("nothing to delete for deployment '{deployment}'\n"));
        return Ok(());
    }
    if arguments.dry_run || !arguments.confirmation.is_given() {
        let list: String = found.remove.iter().map(description).collect();
        output::print(&list)?;
    }
    if arguments.dry_run {
        return Ok(());
    }
    arguments
        .confirmation
        .ask("These objects are deleted. Their values are lost.\n")?;
    for leftover in &found.remove {
        access.call(Pruning::delete(&access.cluster, leftover)).await?;
        output::print(&format!("{} deleted\n", title(leftover)))?;
    }
    Ok(())
}

/// The object as kubectl names it.
fn title(leftover: &Leftover) -> String {
    let kind = leftover
        .object
        .as_ref()
        .map_or("secret", |_| "quarkssecret.quarks.cloudfoundry.org");
    format!("{kind} \"{}\"", leftover.name())
}

fn description(leftover: &Leftover) -> String {
    let title = title(leftover);
    match leftover.object {
        Some(_) => format!("{title}, with secret \"{}\"\n", leftover.secret_name()),
        None => format!("{title}\n"),
    }
}
