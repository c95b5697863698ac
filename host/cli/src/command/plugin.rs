//! `host plugin`: the commands for plugins.

use crate::command::plugin_diff;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_plugin_tools::command::{
    approve, component, inspect, list, new, pack, precompile, pull, push, rollback, test, verify, wit,
};
use clap::Subcommand;

/// About plugins.
#[derive(Subcommand, Debug)]
pub enum PluginCommand {
    /// Approve the version of a plugin in a cluster, if the operator requires approvals of updates
    Approve(approve::ApproveArguments),
    /// Make a component of the core module that a compiler has written
    Component(component::ComponentArguments),
    /// Convert a deployment with two versions of a plugin, and show what differs
    Diff(Box<plugin_diff::DiffArguments>),
    /// Show the versions of the plugins in a cluster: digest, since when, why one was rejected
    History(rollback::HistoryArguments),
    /// List the plugins that a conversion would use: stage, name, version, digest, source
    List(list::ListArguments),
    /// Compile the components of an installation, so that they load in milliseconds
    Precompile(precompile::PrecompileArguments),
    /// Create a directory with a plugin that builds, and a case that passes
    New(new::NewArguments),
    /// Show what a component is: stage, name, digest, size, interfaces, settings, diagnostics, signatures, SBOM
    Inspect(inspect::InspectArguments),
    /// Write the ConfigMaps that give a component to the operator
    Pack(Box<pack::PackArguments>),
    /// Write the component in an image of a registry to a file
    Pull(pull::PullArguments),
    /// Push a component to a registry as an OCI artifact, or write the image to an archive
    Push(push::PushArguments),
    /// Give a plugin in a cluster the content of an earlier version
    Rollback(rollback::RollbackArguments),
    /// Call a plugin with recorded or written inputs, and compare its replies with the expected ones
    Test(test::TestArguments),
    /// Check that a component or its image is signed by a key, as an operator with the key does
    Verify(verify::VerifyArguments),
    /// Write the plugin interface of a stage as WIT files, for bindings generators; or push it to a registry, for wkg
    Wit(wit::WitArguments),
}

pub fn run(command: &PluginCommand, color: Color) -> Result<(), ExitError> {
    match command {
        PluginCommand::Approve(arguments) => approve::run(arguments),
        PluginCommand::Component(arguments) => component::run(arguments, color),
        PluginCommand::Diff(arguments) => plugin_diff::run(arguments, color),
        PluginCommand::History(arguments) => rollback::history(arguments),
        PluginCommand::List(arguments) => list::run(arguments, color),
        PluginCommand::Precompile(arguments) => precompile::run(arguments, color),
        PluginCommand::New(arguments) => new::run(arguments, color),
        PluginCommand::Inspect(arguments) => inspect::run(arguments, color),
        PluginCommand::Pack(arguments) => pack::run(arguments, color),
        PluginCommand::Pull(arguments) => pull::run(arguments, color),
        PluginCommand::Push(arguments) => push::run(arguments, color),
        PluginCommand::Rollback(arguments) => rollback::run(arguments),
        PluginCommand::Test(arguments) => test::run(arguments, color),
        PluginCommand::Verify(arguments) => verify::run(arguments, color),
        PluginCommand::Wit(arguments) => wit::run(arguments, color),
    }
}
