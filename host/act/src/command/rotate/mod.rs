//! `host rotate`: new values for variables. The operator rotates; the command requests it, and follows.

mod follow;
mod plan;
mod uses;

use crate::interrupt::unless_interrupted;
use anyhow::bail;
use boson_api::{BoshDeployment, QuarksSecret};
use boson_cluster::client::{ErrorKind, FieldManager};
use boson_cluster::consumers;
use boson_commands::confirm::Confirmation;
use boson_commands::duration::duration;
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_look::access::{Access, DeploymentArguments, Found};
use boson_look::applied::Applied;
use boson_look::table::TableArguments;
use boson_manifest::labels;
use clap::Args;
use follow::Following;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use plan::{Asked, Item};
use serde_json::json;
use std::time::Duration;
use uses::Use;

const EXAMPLES: &str = "\
A CA is rotated in three steps, each of which is rolled out before the next: the new CA is trusted beside the old one; it signs all certificates; the \
old one is removed. So no connection between instances fails. Certificates, keys and passwords get a new value in one step.

The operator makes the steps, and goes on if the command ends. How far a rotation is follows from the certificates: the same command follows a \
rotation that has begun, and begins none.

A password that a database keeps, or a key that encrypts stored data, is not rotated without --allow-kept-values, because a new value alone may not \
work. They are found by the names of jobs and properties, which may miss some.

The command needs the permissions get for the BOSHDeployment; list for BOSHDeployments and QuarksStatefulSets; list and patch for QuarksSecrets; list \
for Secrets, of which it requests only the metadata; and get for the Secret <deployment>.with-ops. With --dry-run, it needs no patch.

Examples:
  host rotate nats_password -d nats
  host rotate --ca nats_ca -d nats -n messaging --yes
  host rotate --expiring 30d -d nats --dry-run";

/// Who owns the requests.
const MANAGER: FieldManager = FieldManager("host-rotate");

/// Options of `host rotate`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
pub struct RotateArguments {
    /// Variables to rotate, as `host variables` shows them
    #[arg(value_name = "VARIABLE", group = "which")]
    variables: Vec<String>,
    /// CA to rotate, with the certificates that it signs; repeat it for several
    #[arg(long = "ca", value_name = "NAME", group = "which")]
    cas: Vec<String>,
    /// Rotate the certificates that expire within this time, such as 30d or 12h
    #[arg(long, value_name = "TIME", value_parser = duration, group = "which")]
    expiring: Option<Duration>,
    #[command(flatten)]
    deployment: DeploymentArguments,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    table: TableArguments,
    /// Only show what would be rotated, and how far rotations are
    #[arg(long)]
    dry_run: bool,
    /// Also rotate passwords that a database keeps, and keys that encrypt stored data
    #[arg(long)]
    allow_kept_values: bool,
    /// Do not wait until it is done
    #[arg(long)]
    no_wait: bool,
}

struct Read {
    objects: Vec<QuarksSecret>,
    deployments: Vec<BoshDeployment>,
    uses: Vec<Use>,
}

/// # Errors
/// See [`ExitError`].
pub fn run(arguments: &RotateArguments, color: Color) -> Result<(), ExitError> {
    if !arguments.dry_run {
        arguments.confirmation.check()?;
    }
    arguments
        .deployment
        .run(async |access, found| rotate(arguments, color, &access, &found).await)
}

async fn rotate(arguments: &RotateArguments, color: Color, access: &Access, found: &Found) -> anyhow::Result<()> {
    let read = read(access, found).await?;
    let items = plan::select(&read.objects, &arguments.asked()?)?;
    if items.is_empty() {
        output::eprint("no certificate expires within this time\n");
        return Ok(());
    }
    let deployments: Vec<Vec<String>> = items.iter().map(|item| read.users(item)).collect();
    let table = plan::table(&items, &read.objects, &read.uses, &deployments);
    arguments.table.print(vec![table], color)?;
    let kept = plan::kept_values(&items, &read.uses);
    kept.iter().for_each(|text| output::eprint(&format!("{text}\n")));
    if arguments.dry_run {
        return Ok(());
    }
    if !kept.is_empty() && !arguments.allow_kept_values {
        bail!("these values are not safe to rotate alone: use --allow-kept-values to rotate them nevertheless");
    }
    let following = Following::new(&read.objects, &items, found);
    if let Some(why) = following.failure(&read.deployments) {
        bail!("{why}; a rotation would wait for it");
    }
    let due: Vec<&Item<'_>> = items.iter().filter(|item| item.step.is_none()).collect();
    if due.is_empty() {
        output::eprint("all of them are being rotated; the command follows\n");
    } else {
        let what = format!("Rotate {} variable(s)\n", due.len());
        arguments.confirmation.ask(&what)?;
    }
    request(access, &due).await?;
    if arguments.no_wait {
        return Ok(());
    }
    let still = "no longer followed; the operator goes on: run the same command again to follow";
    unless_interrupted(following.run(access), still).await
}

async fn read(access: &Access, found: &Found) -> anyhow::Result<Read> {
    let name = found.deployment.name_any();
    let applied = Applied::read(access, &name).await?;
    Ok(Read {
        objects: access.list(&found.selector).await?,
        deployments: access.list("").await?,
        uses: applied
            .map(|applied| uses::uses(&applied.manifest.tree))
            .unwrap_or_default(),
    })
}

/// Requests the rotations. The time is the ID of the request.
async fn request(access: &Access, due: &[&Item<'_>]) -> anyhow::Result<()> {
    let id = Timestamp::now().to_string();
    for item in due {
        let annotation = json!({"metadata": {"annotations": {labels::ROTATION: id}}});
        match access.cluster.merge(MANAGER, item.object, annotation).await {
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::Conflict => {
                bail!(
                    "variable '{}' has changed meanwhile: run the same command again",
                    item.variable
                )
            }
            Err(error) => return Err(access.explain(error)),
        }
    }
    Ok(())
}

// === impl RotateArguments ===

impl RotateArguments {
    fn asked(&self) -> anyhow::Result<Asked> {
        let until = self.expiring.map(|within| {
            let within = SignedDuration::try_from(within)?;
            Timestamp::now().checked_add(within)
        });
        Ok(Asked {
            variables: self.variables.clone(),
            cas: self.cas.clone(),
            until: until.transpose()?,
        })
    }
}

// === impl Read ===

impl Read {
    /// The deployments that get a new value of this variable, or of what it signs.
    fn users(&self, item: &Item<'_>) -> Vec<String> {
        let signed = plan::signed_certificates(&self.objects, std::slice::from_ref(item));
        let secrets = signed.into_iter().chain([item.object]);
        let versions = secrets
            .map(|one| (one.spec.secret_name.clone(), String::new()))
            .collect();
        let users = consumers::users(&self.deployments, &versions);
        users.into_iter().map(ResourceExt::name_any).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(options: &str) -> bool {
        let command = RotateArguments::augment_args(clap::Command::default());
        let words = ["host", "-d", "d"].into_iter().chain(options.split_whitespace());
        command.try_get_matches_from(words).is_ok()
    }

    #[test]
    fn at_least_one_variable_must_be_named() {
        for options in [
            "a b",
            "--ca a --ca b",
            "--expiring 30d",
            "a --ca b --expiring 1h -y --no-wait --dry-run",
        ] {
            assert!(accepts(options), "{options}");
        }
        for options in ["", "--dry-run", "--expiring soon", "--ca"] {
            assert!(!accepts(options), "{options}");
        }
    }
}
