//! `host util`: what the pods of a deployment run. Not meant for people; documented, because manifests show it.

mod template_render;

use crate::exit::Failed;
use crate::output::Color;
use clap::Subcommand;

/// Commands that the pods of a deployment run
#[derive(Subcommand, Debug)]
pub enum UtilCommand {
    /// Render all templates of this pod's instance
    TemplateRender(template_render::TemplateRenderArguments),
}

pub fn run(command: &UtilCommand, color: Color) -> Result<(), Failed> {
    match command {
        UtilCommand::TemplateRender(arguments) => template_render::run(arguments, color),
    }
}
