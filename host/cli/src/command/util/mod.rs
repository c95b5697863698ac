//! `host util`: what the pods of a deployment run. Not meant for people; documented, because manifests show it.

mod persist_output;
mod template_render;
mod wait;

use crate::exit::Failed;
use crate::output::Color;
use clap::Subcommand;

/// Commands that the pods of a deployment run
#[derive(Subcommand, Debug)]
pub enum UtilCommand {
    /// Make Secrets of the files that the other containers of this pod leave
    PersistOutput(persist_output::PersistOutputArguments),
    /// Render all templates of this pod's instance
    TemplateRender(template_render::TemplateRenderArguments),
    /// Wait until names resolve, or answer
    Wait(wait::WaitArguments),
}

pub fn run(command: &UtilCommand, color: Color) -> Result<(), Failed> {
    match command {
        UtilCommand::PersistOutput(arguments) => persist_output::run(arguments, color),
        UtilCommand::Wait(arguments) => wait::run(arguments, color),
        UtilCommand::TemplateRender(arguments) => template_render::run(arguments, color),
    }
}
