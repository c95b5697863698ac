//! `host plugin`: which plugins there are, and machine code for them.

use crate::command::{
    plugin_approve, plugin_component, plugin_diff, plugin_inspect, plugin_new, plugin_pack, plugin_pull, plugin_push,
    plugin_rollback, plugin_test, plugin_verify, plugin_wit,
};
use crate::plugin_arguments::PluginArguments;
use crate::plugins;
use boson_commands::columns::columns;
use boson_commands::exit::{self, ExitError};
use boson_commands::output::{self, Color};
use boson_pipeline::report::Sources;
use boson_pipeline::{Diagnostic, Stage};
use boson_sandbox::{Cache, Limits, Sandbox};
use clap::Subcommand;
use std::path::PathBuf;

/// About plugins.
#[derive(Subcommand, Debug)]
pub enum PluginCommand {
    /// Approve the version of a plugin in a cluster, if the operator requires approvals of updates
    Approve(plugin_approve::ApproveArguments),
    /// Make a component of the core module that a compiler has written
    Component(plugin_component::ComponentArguments),
    /// Convert a deployment with two versions of a plugin, and show what differs
    Diff(Box<plugin_diff::DiffArguments>),
    /// Show the versions of the plugins in a cluster: digest, since when, why one was rejected
    History(plugin_rollback::HistoryArguments),
    /// List the plugins that a conversion would use: stage, name, version, digest, source
    #[command(after_help = "Example: host plugin list --plugin resources=./my-labels.wasm")]
    List {
        #[command(flatten)]
        plugins: PluginArguments,
    },
    /// Compile the components of an installation, so that they load in milliseconds
    #[command(after_help = "Example: host plugin precompile /usr/share/boson/plugins")]
    Precompile {
        /// Directory with `ops.wasm` and the others
        directory: PathBuf,
    },
    /// Create a directory with a plugin that builds, and a case that passes
    New(plugin_new::NewArguments),
    /// Show what a component is: stage, name, digest, size, interfaces, settings, diagnostics, signatures, SBOM
    Inspect(plugin_inspect::InspectArguments),
    /// Write the ConfigMaps that give a component to the operator
    Pack(Box<plugin_pack::PackArguments>),
    /// Write the component in an image of a registry to a file
    Pull(plugin_pull::PullArguments),
    /// Push a component to a registry as an OCI artifact, or write the image to an archive
    Push(plugin_push::PushArguments),
    /// Give a plugin in a cluster the content of an earlier version
    Rollback(plugin_rollback::RollbackArguments),
    /// Call a plugin with recorded or written inputs, and compare its replies with the expected ones
    Test(plugin_test::TestArguments),
    /// Check that a component or its image is signed by a key, as an operator with the key does
    Verify(plugin_verify::VerifyArguments),
    /// Write the plugin interface of a stage as WIT files, for bindings generators
    Wit(plugin_wit::WitArguments),
}

pub fn run(command: &PluginCommand, color: Color) -> Result<(), ExitError> {
    match command {
        PluginCommand::Approve(arguments) => plugin_approve::run(arguments),
        PluginCommand::Component(arguments) => plugin_component::run(arguments, color),
        PluginCommand::Diff(arguments) => plugin_diff::run(arguments, color),
        PluginCommand::History(arguments) => plugin_rollback::history(arguments),
        PluginCommand::List { plugins } => list(plugins, color),
        PluginCommand::Precompile { directory } => precompile(directory, color),
        PluginCommand::New(arguments) => plugin_new::run(arguments, color),
        PluginCommand::Inspect(arguments) => plugin_inspect::run(arguments, color),
        PluginCommand::Pack(arguments) => plugin_pack::run(arguments, color),
        PluginCommand::Pull(arguments) => plugin_pull::run(arguments, color),
        PluginCommand::Push(arguments) => plugin_push::run(arguments, color),
        PluginCommand::Rollback(arguments) => plugin_rollback::run(arguments),
        PluginCommand::Test(arguments) => plugin_test::run(arguments, color),
        PluginCommand::Verify(arguments) => plugin_verify::run(arguments, color),
        PluginCommand::Wit(arguments) => plugin_wit::run(arguments),
    }
}

fn list(arguments: &PluginArguments, color: Color) -> Result<(), ExitError> {
    let fail = |diagnostics: Vec<Diagnostic>| {
        output::show(&diagnostics, &Sources::default(), color);
        exit::failed(&diagnostics, !arguments.replacements.is_empty())
    };
    let plugins = plugins::load(arguments, &Stage::ALL).map_err(fail)?;
    let mut rows = vec![["STAGE", "NAME", "VERSION", "DIGEST", "GROUPS", "SOURCE"].map(str::to_string)];
    for plugin in plugins.iter() {
        let description = plugin
            .describe(plugins.sandbox())
            .map_err(|failure| fail(vec![failure.diagnostic()]))?;
        let digest = format!("sha256:{}", &plugin.digest.hex()[..12]);
        rows.push([
            plugin.stage.to_string(),
            description.name.clone(),
            description.version.clone(),
            digest,
            plugin
                .groups()
                .map_or_else(|| "all".to_string(), |groups| groups.join(",")),
            plugin.source.to_string(),
        ]);
    }
    Ok(output::print(&columns(&rows))?)
}

fn precompile(directory: &std::path::Path, color: Color) -> Result<(), ExitError> {
    let fail = |failure: boson_sandbox::Error| {
        output::show(&[failure.diagnostic()], &Sources::default(), color);
        ExitError::Input
    };
    let sandbox = Sandbox::new(Limits::default(), Cache::none()).map_err(fail)?;
    for stage in Stage::ALL {
        let file = directory.join(format!("{stage}.wasm"));
        if !file.is_file() {
            continue;
        }
        let started = std::time::Instant::now();
        if sandbox.precompile(&file).map_err(fail)? {
            output::complain(&format!(
                "precompiled {} in {:.1} s\n",
                file.display(),
                started.elapsed().as_secs_f32()
            ));
        }
    }
    Ok(())
}
