//! `host plugin list`: the plugins that a conversion would use.

use crate::plugin_arguments::PluginArguments;
use crate::plugins;
use boson_commands::columns::columns;
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_oci::short_digest;
use boson_pipeline::report::Sources;
use boson_pipeline::{Diagnostic, Stage};
use clap::Args;

/// Options of `host plugin list`.
#[derive(Args, Debug)]
#[command(after_help = "Example: host plugin list --plugin resources=./my-labels.wasm")]
pub struct ListArguments {
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &ListArguments, color: Color) -> Result<(), ExitError> {
    let arguments = &arguments.plugins;
    let fail = |diagnostics: Vec<Diagnostic>| arguments.failed(&diagnostics, &Sources::default(), color);
    let plugins = plugins::load(arguments, &Stage::ALL).map_err(fail)?;
    let mut rows = vec![["STAGE", "NAME", "VERSION", "DIGEST", "GROUPS", "SOURCE"].map(str::to_string)];
    for plugin in plugins.iter() {
        let description = plugin
            .describe(plugins.sandbox())
            .map_err(|error| fail(vec![error.diagnostic()]))?;
        rows.push([
            plugin.stage.to_string(),
            description.name.clone(),
            description.version.clone(),
            short_digest(plugin.digest.as_ref()).to_string(),
            plugin
                .groups()
                .map_or_else(|| "all".to_string(), |groups| groups.join(",")),
            plugin.source.to_string(),
        ]);
    }
    Ok(output::print(&columns(&rows))?)
}
