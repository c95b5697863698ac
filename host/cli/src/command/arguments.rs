//! The command line. The options of a command are in the command's module.

use super::cluster::{deploy, import, prune, rollback, wait};
use super::{
    blame, completions, convert, diff, dns, explain, image, interpolate, operator, plugin, render, run_plugin, util,
};
use crate::log::LogArguments;
use boson_act::command::{cancel, cloud_check, disk, history, ignore, logs, rotate, run_errand, scp, ssh, states};
use boson_commands::output::Color;
use boson_look::access::{DeploymentArguments, DeploymentTables};
use boson_look::command::{deployments, disks, errands, events, graph, instances, manifest, status, variables};
use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Runs BOSH deployments on Kubernetes.
#[derive(Parser, Debug)]
#[command(name = "host", version, disable_version_flag = true, styles = STYLES, max_term_width = 110, propagate_version = true)]
#[command(after_help = "Exit codes: 0 success, 1 errors in the input, 2 wrong usage, 70 a defect in this program.")]
pub struct Arguments {
    /// Color messages
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        global = true,
        display_order = 900
    )]
    pub color: Color,
    #[command(flatten)]
    pub log: LogArguments,
    /// Print the version
    #[arg(long, action = clap::ArgAction::Version, global = true, display_order = 900)]
    pub version: Option<bool>,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Convert a BOSH deployment to Kubernetes resources
    Convert(Box<convert::ConvertArguments>),
    /// Show what a change of a deployment does, before it is made
    Diff(Box<diff::DiffArguments>),
    /// Deploy a manifest: show what changes, apply it, and follow the rollout
    Deploy(Box<deploy::DeployArguments>),
    /// List the deploys of a deployment
    #[command(after_help = history::EXAMPLES)]
    History(DeploymentTables),
    /// Deploy what an earlier deploy has applied
    Rollback(Box<rollback::RollbackArguments>),
    /// Show which plugin and which input lines a field of an object comes from
    Blame(Box<blame::BlameArguments>),
    /// Apply ops files and variables to a manifest, as `bosh interpolate` does
    #[command(visible_alias = "int")]
    Interpolate(Box<interpolate::InterpolateArguments>),
    /// Render the templates of a job
    Render(Box<render::RenderArguments>),
    /// Build images of releases
    Image(Box<image::ImageArguments>),
    /// Run the operator in a cluster
    Operator(Box<operator::OperatorArguments>),
    /// Serve the names of BOSH DNS to a deployment's pods
    #[command(subcommand)]
    Dns(dns::DnsCommand),
    /// List the deployments of a namespace
    Deployments(deployments::DeploymentsArguments),
    /// List the instances of deployments, with their states and addresses
    Instances(instances::InstancesArguments),
    /// Show what the rollout of a deployment does and waits for
    #[command(after_help = status::EXAMPLES)]
    Status(DeploymentTables),
    /// List the disks of deployments, also orphaned ones
    Disks(disks::DisksArguments),
    /// List the errands of a deployment, with their last runs
    #[command(after_help = errands::EXAMPLES)]
    Errands(DeploymentTables),
    /// List what has changed deployments and instances, when, by whom and why
    Events(events::EventsArguments),
    /// List the variables of a deployment, without their values
    Variables(variables::VariablesArguments),
    /// Print the instance groups of a deployment and their links as a graph
    Graph(graph::GraphArguments),
    /// Print the manifest of a deployment, with ops files applied
    Manifest(manifest::ManifestArguments),
    /// Stop instance groups or an instance; their disks stay
    Stop(states::StopArguments),
    /// Start stopped instance groups or an instance
    #[command(after_help = states::STOP_EXAMPLES)]
    Start(states::StartArguments),
    /// Replace the pods of instances, in the order of a rollout
    Restart(states::RestartArguments),
    /// Replace the pods of instances, in the order of a rollout; the same as restart
    Recreate(states::RecreateArguments),
    /// Hold a rollout: let updates that have begun end, and begin no others
    #[command(after_help = cancel::EXAMPLES)]
    Cancel(DeploymentArguments),
    /// Let a paused rollout go on
    #[command(after_help = cancel::EXAMPLES)]
    Resume(DeploymentArguments),
    /// Find problems of a deployment in the cluster, and resolve them
    #[command(visible_alias = "cck")]
    CloudCheck(cloud_check::CloudCheckArguments),
    /// Attach a disk to a stopped instance; the disk that it has is orphaned
    AttachDisk(disk::AttachDiskArguments),
    /// Take the disk of a stopped instance away, and keep it
    #[command(after_help = disk::ORPHAN_EXAMPLES)]
    OrphanDisk(disk::DiskArguments),
    /// Delete an orphaned disk
    #[command(after_help = disk::DELETE_EXAMPLES)]
    DeleteDisk(disk::DiskArguments),
    /// Keep an instance as it is, whatever changes
    Ignore(ignore::IgnoreArguments),
    /// Change an ignored instance again
    Unignore(ignore::IgnoreArguments),
    /// Give variables new values; CAs in steps, so that no connection fails
    Rotate(rotate::RotateArguments),
    /// Import the values of variables from a BOSH director
    Import(Box<import::ImportArguments>),
    /// Download the logs of instances, or print their lines
    Logs(logs::LogsArguments),
    /// Open a shell in an instance, or run a command on several
    Ssh(ssh::SshArguments),
    /// Copy files to or from instances
    Scp(scp::ScpArguments),
    /// Run an errand of a deployment, and wait for its end
    RunErrand(run_errand::RunErrandArguments),
    /// Delete generated values of removed variables and deleted deployments
    Prune(prune::PruneArguments),
    /// Wait until a condition of a deployment is met
    Wait(wait::WaitArguments),
    /// Run one function of a plugin in the sandbox
    RunPlugin(run_plugin::RunPluginArguments),
    /// Create, test, inspect, compare and distribute plugins
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// Explain a diagnostic code
    Explain(explain::ExplainArguments),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArguments),
    /// Run a command of a deployment's pod
    #[command(subcommand)]
    Util(Box<util::UtilCommand>),
    /// Compile a component from standard input to machine code on standard output; the sandbox runs this in a process
    /// with its own limits
    #[command(hide = true)]
    CompilePlugin,
    /// Make a component of a core module from standard input; commands that take a plugin run this in a process with
    /// its own limits
    #[command(hide = true)]
    MakeComponent,
    /// Check settings against a schema, both from standard input; the sandbox runs this in a process with its own
    /// limits
    #[command(hide = true)]
    CheckSettings,
}
