//! `host util`: commands that the pods of a deployment run. Not for users, but documented because manifests contain
//! them.

mod bpm;
mod extract_jobs;
mod instance_group;
mod interpolate;
mod job_sources;
mod mounted;
mod own_deployment;
mod persist_output;
mod pod_contract;
mod pod_names;
mod pre_render_scripts;
mod processes;
mod results;
mod template_render;
mod wait;

use boson_commands::exit::{self, ExitError};
use boson_commands::output::Color;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::Sources;
use clap::Subcommand;

/// Commands that the pods of a deployment run
#[derive(Subcommand, Debug)]
pub enum UtilCommand {
    /// Put the values of variables into a manifest
    Interpolate(interpolate::InterpolateArguments),
    /// Bind properties and resolve links of an instance group
    InstanceGroup(instance_group::InstanceGroupArguments),
    /// Render the templates of an instance group, and output the files that shape its pods
    Bpm(bpm::BpmArguments),
    /// Copy the job sources of a release image
    ExtractJobs(extract_jobs::ExtractJobsArguments),
    /// Make Secrets from the output files of the other containers of this pod
    PersistOutput(persist_output::PersistOutputArguments),
    /// Write the pre-render scripts of this pod's jobs as files
    PreRenderScripts(pre_render_scripts::PreRenderScriptsArguments),
    /// Render all templates of this pod's instance
    TemplateRender(template_render::TemplateRenderArguments),
    /// Wait until names resolve, or answer
    Wait(wait::WaitArguments),
}

pub fn run(command: &UtilCommand, color: Color) -> Result<(), ExitError> {
    if let Err(error) = pod_contract::check() {
        return refuse(command, error, color);
    }
    match command {
        UtilCommand::Interpolate(arguments) => interpolate::run(arguments, color),
        UtilCommand::InstanceGroup(arguments) => instance_group::run(arguments, color),
        UtilCommand::Bpm(arguments) => bpm::run(arguments, color),
        UtilCommand::ExtractJobs(arguments) => extract_jobs::run(arguments),
        UtilCommand::PersistOutput(arguments) => persist_output::run(arguments, color),
        UtilCommand::PreRenderScripts(arguments) => pre_render_scripts::run(arguments, color),
        UtilCommand::Wait(arguments) => wait::run(arguments, color),
        UtilCommand::TemplateRender(arguments) => template_render::run(arguments, color),
    }
}

/// Reports an error before the command has begun; to the operator if it is a step of a conversion.
fn refuse(command: &UtilCommand, error: Diagnostic, color: Color) -> Result<(), ExitError> {
    let results = match command {
        UtilCommand::Interpolate(arguments) => &arguments.results,
        UtilCommand::InstanceGroup(arguments) => &arguments.results,
        UtilCommand::Bpm(arguments) => &arguments.results,
        _ => return Err(exit::fail(error, color)),
    };
    results.write(Err(vec![error]), Vec::new(), &Sources::default(), "", color)
}
