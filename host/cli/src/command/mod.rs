//! The commands, one file or folder each.

pub mod arguments;
pub mod blame;
pub mod called;
pub mod cluster;
pub mod complete;
pub mod completions;
pub mod convert;
pub mod diff;
pub mod dns;
pub mod explain;
pub mod image;
pub mod inputs;
pub mod interpolate;
pub mod operator;
pub mod plugin;
pub mod plugin_diff;
pub mod render;
mod signals;
pub mod util;

use crate::log;
use arguments::Command;
use boson_act::command as act;
use boson_commands::exit::ExitError;
use boson_commands::output::Color;
use boson_look::command as look;
use boson_plugin_tools::command::{check_settings, compile_plugin, make_component, run_plugin};
use called::Invocation;
use cluster::{deploy, import, prune, rollback, wait};

/// Parses the command line and runs the command.
///
/// # Errors
/// See [`ExitError`]. Wrong usage ends the process with code 2 right here.
pub fn run() -> Result<(), ExitError> {
    let called = Invocation::current();
    if called == Invocation::Completion {
        return complete::run();
    }
    let arguments = called.parse();
    log::begin(
        &arguments.log,
        matches!(arguments.command, Command::Operator(_) | Command::Dns(_)),
    );
    run_command(arguments.command, called, arguments.color)
}

fn run_command(command: Command, called: Invocation, color: Color) -> Result<(), ExitError> {
    match command {
        Command::Convert(arguments) => convert::run(&arguments, color),
        Command::Diff(arguments) => diff::run(&arguments, color),
        Command::Deploy(arguments) => deploy::run(&arguments, color),
        Command::Rollback(arguments) => rollback::run(&arguments, color),
        Command::History(arguments) => act::history::run(&arguments, color),
        Command::Blame(arguments) => blame::run(&arguments, color),
        Command::Interpolate(arguments) => interpolate::run(&arguments, color),
        Command::Render(arguments) => render::run(&arguments, color),
        Command::RunPlugin(arguments) => run_plugin::run(&arguments, color),
        Command::Image(arguments) => image::run(&arguments, color),
        Command::Operator(arguments) => operator::run(&arguments, color),
        Command::Dns(command) => dns::run(&command),
        Command::Deployments(arguments) => look::deployments::run(&arguments, color),
        Command::Instances(arguments) => look::instances::run(&arguments, color),
        Command::Status(arguments) => look::status::run(&arguments, color),
        Command::Disks(arguments) => look::disks::run(&arguments, color),
        Command::Errands(arguments) => look::errands::run(&arguments, color),
        Command::Events(arguments) => look::events::run(&arguments, color),
        Command::Variables(arguments) => look::variables::run(&arguments, color),
        Command::Graph(arguments) => look::graph::run(&arguments),
        Command::Manifest(arguments) => look::manifest::run(&arguments),
        Command::Stop(arguments) => act::states::stop(&arguments),
        Command::Start(arguments) => act::states::start(&arguments),
        Command::Restart(arguments) => act::states::restart(&arguments),
        Command::Recreate(arguments) => act::states::recreate(&arguments),
        Command::Cancel(arguments) => act::cancel::cancel(&arguments),
        Command::Resume(arguments) => act::cancel::resume(&arguments),
        Command::CloudCheck(arguments) => act::cloud_check::run(&arguments, color),
        Command::AttachDisk(arguments) => act::disk::attach(&arguments),
        Command::OrphanDisk(arguments) => act::disk::orphan_disk(&arguments),
        Command::DeleteDisk(arguments) => act::disk::delete_disk(&arguments),
        Command::Ignore(arguments) => act::ignore::ignore(&arguments),
        Command::Unignore(arguments) => act::ignore::unignore(&arguments),
        Command::Rotate(arguments) => act::rotate::run(&arguments, color),
        Command::Import(arguments) => import::run(&arguments, color),
        Command::Logs(arguments) => act::logs::run(&arguments),
        Command::Ssh(arguments) => act::ssh::run(&arguments, color),
        Command::Scp(arguments) => act::scp::run(&arguments),
        Command::RunErrand(arguments) => act::run_errand::run(&arguments, color),
        Command::Prune(arguments) => prune::run(&arguments),
        Command::Wait(arguments) => wait::run(&arguments),
        Command::Plugin(command) => plugin::run(&command, color),
        Command::Explain(arguments) => explain::run(&arguments, color),
        Command::Completions(arguments) => completions::run(&arguments, called.command(), called.program()),
        Command::Util(command) => util::run(&command, color),
        Command::CompilePlugin => compile_plugin::run(),
        Command::MakeComponent => make_component::run(),
        Command::CheckSettings => check_settings::run(),
    }
}
