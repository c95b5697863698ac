//! `host import`: reads the manifest, and has [`boson_act`] import the values of its variables.

use crate::command::inputs::variables::{self, VariableArguments};
use boson_act::command::import::{Drafts, ImportOptions, Wanted};
use boson_commands::exit::ExitError;
use boson_commands::memory;
use boson_commands::output::{self, Color};
use boson_pipeline::report::Sources;
use boson_pipeline::stage::{Named, VariableRules};
use boson_pipeline::{Diagnostic, Stage, Stages};
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use clap::Args;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Prints a table and writes nothing, unless --apply is given. State is `new`, `same` (the Secret exists with this value), `differs` (it exists with \
another value) or `unused` (the manifest does not have the variable). Values are never printed. --apply creates Secrets after a confirmation. If one \
has another value, it is an error, and nothing is written, unless --overwrite is given.

Import before the first deploy: the operator adopts the Secrets, as if it had generated the values. In an export of CredHub, \
/DIRECTOR/NAME/ before a variable of the deployment NAME is removed; other names stay absolute. Without --manifest, all values are imported: those of \
the types password, user, certificate, ssh and rsa for variables that the manifest defines, others for variables that it only refers to.

The command needs the permission to get Secrets; with --apply also to create, and with --overwrite to update them.

Examples:
  host import -d nats --vars-store vars.yml --manifest manifest.yml -o ops/scale.yml
  host import -d nats --credhub-export export.json --manifest manifest.yml --apply -n messaging";

/// Options of `host import`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ImportArguments {
    #[command(flatten)]
    options: ImportOptions,
    /// Import only the variables that this manifest defines or refers to
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Apply this ops file to the manifest; repeat it for several, in order
    #[arg(short = 'o', long = "ops-file", value_name = "FILE", requires = "manifest")]
    ops: Vec<PathBuf>,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &ImportArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let mut warnings = Vec::new();
    match read(arguments, &mut sources, &mut warnings) {
        Ok(drafts) => {
            output::show(&warnings, &sources, color);
            arguments.options.carry_out(drafts, color)
        }
        Err(diagnostics) => Err(arguments.plugins.failed(&diagnostics, &sources, color)),
    }
}

fn read(
    arguments: &ImportArguments,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Drafts, Vec<Diagnostic>> {
    let manifest = arguments.manifest.as_deref();
    let wanted = manifest.map(|manifest| wanted(manifest, arguments, sources, warnings));
    arguments.options.read(wanted.transpose()?.as_ref(), sources)
}

fn wanted(
    manifest: &Path,
    arguments: &ImportArguments,
    sources: &mut Sources,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Wanted, Vec<Diagnostic>> {
    let plugins = plugins::prepare(&arguments.plugins, &[Stage::Ops, Stage::Variables], sources)?;
    let variables = VariableArguments {
        ops: arguments.ops.clone(),
        ..VariableArguments::default()
    };
    let read = variables::read(manifest, &variables, sources)?;
    let document = read.apply(&plugins, sources, warnings)?;
    let named = Named::new(read.name(), &document);
    let (plan, reported) = plugins.plan(named, VariableRules::Director)?;
    warnings.extend(reported);
    let definitions = plan.definitions.into_iter();
    Ok(Wanted {
        // Without a type, the value must be given, as for a variable that is not defined.
        defined: definitions.filter_map(|one| Some((one.name, one.kind?))).collect(),
        used: plan.references.into_iter().map(|one| one.name).collect(),
    })
}
