//! `host util`: what the pods of a deployment run. Not meant for people; documented, because manifests show it.

mod bpm;
mod extract_jobs;
mod instance_group;
mod interpolate;
mod leaving;
mod mounted;
mod template_render;

use crate::exit::Failed;
use crate::output::Color;
use clap::Subcommand;

/// Commands that the pods of a deployment run
#[derive(Subcommand, Debug)]
pub enum UtilCommand {
    /// Put the values of variables into a manifest
    Interpolate(interpolate::InterpolateArguments),
    /// Bind properties and resolve links of an instance group
    InstanceGroup(instance_group::InstanceGroupArguments),
    /// Render the templates of an instance group, and keep what shapes its pods
    Bpm(bpm::BpmArguments),
    /// Copy the job sources of a release image
    ExtractJobs(extract_jobs::ExtractJobsArguments),
    /// Render all templates of this pod's instance
    TemplateRender(template_render::TemplateRenderArguments),
}

pub fn run(command: &UtilCommand, color: Color) -> Result<(), Failed> {
    match command {
        UtilCommand::Interpolate(arguments) => interpolate::run(arguments, color),
        UtilCommand::InstanceGroup(arguments) => instance_group::run(arguments, color),
        UtilCommand::Bpm(arguments) => bpm::run(arguments, color),
        UtilCommand::ExtractJobs(arguments) => extract_jobs::run(arguments),
        UtilCommand::TemplateRender(arguments) => template_render::run(arguments, color),
    }
}
