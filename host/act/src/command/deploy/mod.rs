//! Deploys: stores the inputs, applies the BOSHDeployment, follows the rollout, and records what was done. The command
//! line reads the files and shows the differences: that needs plugins, and this crate has none.

mod apply;
mod plan;
mod pods;
mod record;
mod update_block;
mod values;

pub use plan::{CLOUD_CONFIG_KEY, File, Inputs, MANIFEST_KEY, OPS_KEY, Plan, Present, RUNTIME_CONFIG_KEY, Stamp};
pub use pods::{PodOptions, PodRequest};
pub use record::{Document, Record, Revision, Stored, result};
pub use update_block::{Amount, overrides};
pub use values::Content;

#[cfg(test)]
pub use record::samples;

use crate::display::elapsed_text;
use crate::drain;
use crate::follow::{End, Following, Scope};
use boson_api::deployment::ConversionMode;
use boson_commands::confirm::Confirmation;
use boson_commands::duration::duration;
use boson_commands::exit::ExitError;
use boson_commands::output;
use boson_look::access::Access;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// Options of `host deploy` that are not about a conversion.
#[derive(Args, Debug)]
pub struct DeployOptions {
    /// Name of the BOSHDeployment, which must be the manifest's name, too
    #[arg(short, long, value_name = "NAME")]
    pub deployment: String,
    /// Override the number of canaries of all instance groups: an integer or a percentage
    #[arg(long, value_name = "N|N%", value_parser = Amount::parse, allow_hyphen_values = true)]
    pub canaries: Option<Amount>,
    /// Override how many instances of a group are updated at the same time: an integer or a percentage
    #[arg(long, value_name = "N|N%", value_parser = Amount::parse)]
    pub max_in_flight: Option<Amount>,
    /// Where the operator converts the manifest [default: as before, in pods of a new deployment]
    #[arg(long, value_enum, value_name = "MODE")]
    pub conversion_mode: Option<ModeArgument>,
    #[command(flatten)]
    pub pods: PodOptions,
    #[command(flatten)]
    pub change: ChangeArguments,
}

/// Where a manifest is converted.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ModeArgument {
    /// In pods that run the release images
    Jobs,
    /// In the operator, which reads the release images
    InProcess,
}

/// Options of a change of a deployment.
#[derive(Args, Debug)]
pub struct ChangeArguments {
    #[command(flatten)]
    confirmation: Confirmation,
    /// Show the differences, check what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not follow the rollout
    #[arg(long)]
    no_wait: bool,
    /// Maximum time to follow the rollout, such as 90s, 5m or 1h [default: until it ends]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "no_wait")]
    timeout: Option<Duration>,
    /// Number of revisions to keep, for `host rollback`
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    keep: u16,
}

// === impl ModeArgument ===

impl From<ModeArgument> for ConversionMode {
    fn from(mode: ModeArgument) -> Self {
        match mode {
            ModeArgument::Jobs => Self::Jobs,
            ModeArgument::InProcess => Self::InProcess,
        }
    }
}

// === impl ChangeArguments ===

impl ChangeArguments {
    /// Checks that the change can be confirmed, before anything is shown.
    ///
    /// # Errors
    /// The user cannot be asked, and has not confirmed.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.dry_run {
            Ok(())
        } else {
            self.confirmation.check()
        }
    }

    /// Carries out a plan, after confirmation, and follows it. Without a plan, the deployment has the inputs already:
    /// then it only does what is requested of pods, and follows the present rollout.
    ///
    /// # Errors
    /// The user declines, something cannot be written, or the deployment fails.
    pub async fn carry_out(
        &self,
        access: &Access,
        present: &Present,
        plan: Option<&Plan>,
        options: &PodOptions,
    ) -> Result<(), ExitError> {
        let name = &present.name;
        let found = match &present.deployment {
            Some(_) => Some(access.deployment(name).await?),
            None => None,
        };
        let pods = options.read(access, found.as_ref(), present.is_cancelled()).await?;
        if let Some(plan) = plan {
            output::print(&plan.values.text())?;
        }
        output::print(&pods.text())?;
        if self.dry_run {
            return check(access, present, plan).await;
        }
        if plan.is_some() || pods.replaces() {
            self.confirmation.ask("")?;
        }
        drain::skip(access, &pods.without_drain).await?;
        let mut applied = write(access, present, plan).await?;
        let again = pods.replace(access, name).await?;
        let generation = again.or(applied.as_ref().map(|one| one.generation));
        let generation = generation.unwrap_or_else(|| apply::generation(present.deployment.as_ref()));
        let number = plan.map_or_else(|| present.number(), |plan| plan.number);
        if self.no_wait {
            return Ok(());
        }
        let end = self.follow(access, present, generation, number).await;
        if let Some(result) = recorded_result(&end) {
            // Pods that the rollout has not replaced drain again.
            drain::end(access, &pods.without_drain).await;
            if let Some(applied) = &mut applied {
                applied.record_result(access, result).await?;
            }
        }
        end?;
        if applied.is_some() {
            // The deployment is ready all the same, and the next deploy tries again.
            let keep = self.keep.into();
            if let Err(why) = apply::delete_garbage(access, &present.names, number, keep).await {
                output::eprint(&format!("old revisions are not deleted: {why:#}\n"));
            }
        }
        Ok(())
    }

    async fn follow(&self, access: &Access, present: &Present, generation: i64, number: u64) -> Result<(), ExitError> {
        let name = &present.name;
        let began = std::time::Instant::now();
        let following = Following {
            access,
            name,
            generation,
            scope: Scope::Deployment,
            timeout: self.timeout,
        };
        let end = following.run().await?;
        if end == End::Ready {
            let elapsed = elapsed_text(began.elapsed());
            output::print(&format!(
                "deployment '{name}': revision {number} is ready ({elapsed})\n"
            ))?;
        }
        end.report(access, name)
    }
}

async fn check(access: &Access, present: &Present, plan: Option<&Plan>) -> Result<(), ExitError> {
    let Some(plan) = plan else {
        return Ok(output::print(&unchanged_text(present))?);
    };
    apply::check(access, plan).await?;
    let (name, number) = (&present.name, plan.number);
    let text = format!("deployment '{name}': revision {number} can be applied (dry run)\n");
    Ok(output::print(&text)?)
}

/// None: the deployment had the inputs already.
async fn write(access: &Access, present: &Present, plan: Option<&Plan>) -> anyhow::Result<Option<apply::Applied>> {
    let Some(plan) = plan else {
        output::print(&unchanged_text(present))?;
        return Ok(None);
    };
    let applied = apply::apply(access, present, plan).await?;
    let (name, number) = (&present.name, plan.number);
    output::print(&format!("deployment '{name}': revision {number} applied\n"))?;
    Ok(Some(applied))
}

fn unchanged_text(present: &Present) -> String {
    let (name, number) = (&present.name, present.number());
    format!("deployment '{name}' has these inputs already: revision {number}\n")
}

/// The result for the record; none if it is not known.
fn recorded_result(end: &Result<(), ExitError>) -> Option<&'static str> {
    match end {
        Ok(()) => Some(result::DEPLOYED),
        Err(ExitError::Input) => Some(result::FAILED),
        Err(_) => None,
    }
}
