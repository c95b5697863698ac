//! `host import`: the values of variables of a BOSH director become the Secrets that the operator adopts. The command
//! line reads the manifest: that needs plugins, and this crate has none.

mod draft;
mod input;
mod plan;

pub use draft::{Drafts, Wanted};

use anyhow::bail;
use boson_cluster::client::FieldManager;
use boson_commands::confirm::Confirmation;
use boson_commands::exit::ExitError;
use boson_commands::inputs;
use boson_commands::output::{self, Color};
use boson_look::access::{Access, PlaceArguments};
use boson_look::table::TableArguments;
use boson_manifest::names::Names;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use clap::Args;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use plan::Plan;
use std::collections::BTreeMap;
use std::path::PathBuf;

const MANAGER: FieldManager = FieldManager("host-import");

/// Options of `host import` that are not about a manifest.
#[derive(Args, Debug)]
pub struct ImportOptions {
    /// Name of the BOSHDeployment, which need not exist yet
    #[arg(short, long, value_name = "NAME")]
    deployment: String,
    #[command(flatten)]
    files: FileArguments,
    /// Create the Secrets
    #[arg(long)]
    apply: bool,
    /// Also replace the values of Secrets that have others
    #[arg(long, requires = "apply")]
    overwrite: bool,
    #[command(flatten)]
    confirmation: Confirmation,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    table: TableArguments,
}

/// Files with values.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
struct FileArguments {
    /// A vars store of the BOSH CLI; repeat it for several
    #[arg(long = "vars-store", value_name = "FILE")]
    vars_stores: Vec<PathBuf>,
    /// The output of `credhub export`, YAML or JSON; repeat it for several
    #[arg(long = "credhub-export", value_name = "FILE")]
    credhub_exports: Vec<PathBuf>,
}

// === impl ImportOptions ===

impl ImportOptions {
    /// Reads the files. `wanted`: the variables of the manifest, if there is one.
    ///
    /// # Errors
    /// A file cannot be read, or a value cannot be imported.
    pub fn read(&self, wanted: Option<&Wanted>, sources: &mut Sources) -> Result<Drafts, Vec<Diagnostic>> {
        // Names of Secrets do not depend on the namespace.
        let names = Names::new(&self.deployment, "", "").map_err(|error| draft::name_error(&error))?;
        let mut entries = Vec::new();
        for file in &self.files.vars_stores {
            entries.extend(input::of_vars_store(&inputs::secret_file(file, sources)?)?);
        }
        for file in &self.files.credhub_exports {
            let document = inputs::secret_file(file, sources)?;
            entries.extend(input::of_credhub_export(&document, &self.deployment)?);
        }
        draft::drafts(&entries, wanted, &names)
    }

    /// Shows what would be written and, with --apply, writes it.
    ///
    /// # Errors
    /// The user declines, a Secret has another value, or something cannot be read or written.
    pub fn carry_out(&self, drafts: Drafts, color: Color) -> Result<(), ExitError> {
        self.place.run(async |access| {
            let mut existing = BTreeMap::new();
            for name in drafts.secrets.keys() {
                let found = access.get::<Secret>(name).await?;
                existing.extend(found.map(|secret| (name.clone(), secret)));
            }
            let plan = Plan::of(drafts, &existing);
            self.table.print(vec![plan.table()], color)?;
            if self.apply {
                self.apply(&access, &plan).await?;
            }
            Ok(())
        })
    }

    async fn apply(&self, access: &Access, plan: &Plan) -> anyhow::Result<()> {
        let (new, changed) = (plan.new.len(), plan.changed.len());
        if changed > 0 && !self.overwrite {
            let names: Vec<String> = plan
                .changed
                .iter()
                .map(|secret| format!("'{}'", secret.name_any()))
                .collect();
            bail!(
                "these Secrets have other values, and nothing was written: {}; use --overwrite to replace them",
                names.join(", ")
            );
        }
        if new + changed == 0 {
            return Ok(());
        }
        let overwritten = if changed > 0 {
            format!(" and overwrite {changed}")
        } else {
            String::new()
        };
        let what = format!(
            "Create {new} Secrets{overwritten} in namespace '{}'.\n",
            access.namespace
        );
        self.confirmation.ask(&what)?;
        for secret in &plan.new {
            let mut secret = secret.clone();
            secret.metadata.namespace = Some(access.namespace.clone());
            if access.call(access.cluster.create(MANAGER, &secret)).await?.is_none() {
                bail!(
                    "Secret '{}' was created meanwhile: run the command again",
                    secret.name_any()
                );
            }
        }
        for secret in &plan.changed {
            access.call(access.cluster.replace(MANAGER, secret)).await?;
        }
        output::eprint(&format!("{new} Secrets created, {changed} overwritten\n"));
        Ok(())
    }
}
