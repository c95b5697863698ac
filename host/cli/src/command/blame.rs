//! `host blame`: shows where a field of an object comes from.

use crate::command::convert::{ConvertArguments, Watching, dry_run};
use crate::command::inputs::variables::Kept;
use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_document::Tree;
use boson_pipeline::blame::{Blame, Input, Question, Step};
use boson_pipeline::report::{self, Sources, clean};
use boson_plugin_tools::cases::replies;
use clap::Args;

const EXAMPLES: &str = "\
The command converts the deployment as `host convert` with the same options does, and writes nothing. Who wrote a field is exact: the \
objects before and after each step are compared. Which inputs determine it is found by changing each of them and repeating the call of \
the plugin, so inputs that have an effect only together are not found. Of the inputs of a plugin of the \
stage `resources`, only its settings are known. \
Values of variables are shown as `<redacted>`, and values in Secrets not at all.

Examples:
  host blame StatefulSet/nats-broker-z0-v1 spec.template.spec.containers.0.image manifest.yml --release ./nats-release
  host blame nats-broker /spec/ports/*/port manifest.yml --release ./nats-release --target quarks";

/// Options of `host blame`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BlameArguments {
    /// The object: KIND/NAME, or NAME
    #[arg(value_name = "OBJECT")]
    object: String,
    /// The field: a path such as `spec.ports[0].port` or `spec.ports.name=http.port`, or a JSON pointer; `*` stands for
    /// any part of a name. An empty text is the whole object
    #[arg(value_name = "FIELD")]
    field: String,
    #[command(flatten)]
    convert: ConvertArguments,
}

pub fn run(arguments: &BlameArguments, color: Color) -> Result<(), ExitError> {
    let question = Question::new(&arguments.object, &arguments.field);
    let watching = Watching::Fields(&question);
    let (done, sources) = dry_run(&arguments.convert, watching, color, |arguments| {
        arguments.variables.kept = Kept::InMemory;
    })?;
    let shown = |value: &Tree| done.secrets.redact(value.clone(), &sources);
    let texts = done.blames.iter().map(|blame| text(blame, &shown, &sources));
    Ok(output::print(&texts.collect::<Vec<_>>().join("\n"))?)
}

fn text(blame: &Blame, shown: &dyn Fn(&Tree) -> Tree, sources: &Sources) -> String {
    let is_secret = blame.object.starts_with("Secret/");
    let value = if is_secret {
        "<redacted>".to_string()
    } else {
        replies::short(&shown(&blame.value))
    };
    let mut text = format!(
        "{} {}\n= {value}\n",
        blame.object,
        clean::line(&blame.field.to_string())
    );
    for step in &blame.steps {
        text.push_str(&of_step(step, sources));
    }
    text
}

fn of_step(step: &Step, sources: &Sources) -> String {
    let mut text = format!("\n{}: {}\n", clean::line(&step.by), clean::text(&step.what));
    for input in &step.inputs {
        text.push_str(&of_input(input, sources));
    }
    for unknown in &step.unknown {
        text.push_str(&format!("  not known: {}\n", clean::text(unknown)));
    }
    text
}

fn of_input(input: &Input, sources: &Sources) -> String {
    let located = input.place.as_ref().and_then(|place| sources.locate(place).path);
    let pointer = located.or_else(|| input.pointer.as_ref().map(ToString::to_string));
    let of = clean::line(&input.of);
    let mut text = match pointer {
        Some(pointer) => format!("  from {} of {of}\n", clean::line(&pointer)),
        None => format!("  from {of}\n"),
    };
    if let Some(place) = &input.place {
        for line in report::located(place, sources).lines() {
            text.push_str(&format!("    {line}\n"));
        }
    }
    text
}
