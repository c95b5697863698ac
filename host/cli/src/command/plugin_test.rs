//! `host plugin test`: calls a plugin with the cases of a folder, and compares its replies with those that are expected.

use crate::cases::{self, Called, Case, Headroom, Outcome, Tested, replies};
use crate::exit::Failed;
use crate::inputs;
use crate::output::{self, Color};
use crate::plugins;
use crate::storage::durable;
use anyhow::Context;
use boson_document::{Tree, json};
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources, clean};
use boson_sandbox::{Limits, Measures, Plugin, Sandbox};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
A case is a directory with `call.json`, the input of one call, and `reply.json`, the expected reply. `host convert --record` writes
cases of real conversions. Replies are compared exactly, also the order of members. Each call is made twice, to find plugins that
are not deterministic. Cases of other stages are skipped.

Examples:
  host convert manifest.yml --release ./nats-release --record cases --record-stage resources > /dev/null
  host plugin test my-labels.wasm cases --update
  host plugin test my-labels.wasm cases --junit report.xml";

/// Options of `host plugin test`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TestArguments {
    /// The component
    component: PathBuf,
    /// Directory of cases, or one case
    cases: PathBuf,
    /// Settings for calls that have none: a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Write the replies of the plugin as the expected ones
    #[arg(long)]
    update: bool,
    /// Write a report in the format of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub fn run(arguments: &TestArguments, color: Color) -> Result<(), Failed> {
    let mut sources = Sources::default();
    let (sandbox, plugin, cases) = load(arguments, &mut sources).map_err(|errors| {
        output::show(&errors, &sources, color);
        Failed::Input
    })?;
    let all = cases.len();
    let ours = cases.into_iter().filter(|case| case.stage == plugin.stage);
    let mut tested = Vec::new();
    let mut headroom = Headroom::default();
    for case in ours {
        let name = case.name();
        let (outcome, measures, size) = test(&sandbox, &plugin, &case, arguments.update)?;
        headroom.add(&name, &measures, size, sandbox.limits());
        let one = Tested {
            name,
            measures,
            outcome,
        };
        output::print(&line(&one))?;
        tested.push(one);
    }
    if let Some(file) = &arguments.junit {
        let report = cases::report(plugin.name(), &tested);
        durable::write(file, report.as_bytes(), 0o644).with_context(|| format!("cannot write '{}'", file.display()))?;
    }
    output::print(&summary(&tested, all - tested.len(), &headroom))?;
    let failed = |one: &Tested| matches!(one.outcome, Outcome::Failed(_));
    match tested.is_empty() || tested.iter().any(failed) {
        true => Err(Failed::Input),
        false => Ok(()),
    }
}

fn load(arguments: &TestArguments, sources: &mut Sources) -> Result<(Sandbox, Plugin, Vec<Case>), Vec<Diagnostic>> {
    let settings = arguments
        .settings
        .as_ref()
        .map(|file| inputs::secret_file(file, sources));
    let settings = settings.transpose().map_err(|error| vec![*error])?;
    let sandbox = plugins::sandbox(Limits::default()).map_err(|failure| vec![failure.diagnostic()])?;
    let plugin = plugins::alone(&sandbox, &arguments.component, settings.as_ref())?;
    let folders = cases::folders(&arguments.cases).map_err(|error| vec![*error])?;
    let (mut cases, mut errors) = (Vec::new(), Vec::new());
    for folder in folders {
        match Case::read(&folder) {
            Ok(case) => cases.push(case),
            Err(error) => errors.push(*error),
        }
    }
    match errors.is_empty() {
        true => Ok((sandbox, plugin, cases)),
        false => Err(errors),
    }
}

/// How the case ends, what its call used, and the bytes of the reply.
fn test(sandbox: &Sandbox, plugin: &Plugin, case: &Case, update: bool) -> anyhow::Result<(Outcome, Measures, usize)> {
    let twice = case
        .call(sandbox, plugin)
        .and_then(|called| Ok((called, case.call(sandbox, plugin)?.reply)));
    let (
        Called {
            reply,
            measures,
            failure,
        },
        again,
    ) = match twice {
        Ok(called) => called,
        Err(error) => {
            let lines = vec![report::text(&[*error], &Sources::default(), false)];
            return Ok((Outcome::Failed(lines), Measures::default(), 0));
        }
    };
    let size = json::to_text(&reply).len();
    let outcome = match compare(case.reply.as_ref(), &reply, &again) {
        Ok(()) => Outcome::Passed,
        Err(_) if update && failure.is_none() && replies::are_same(&reply, &again) => {
            case.write_reply(&reply)?;
            Outcome::Updated
        }
        Err(lines) => match failure {
            Some(failure) => Outcome::Failed(vec![report::text(&[failure], &Sources::default(), false)]),
            None => Outcome::Failed(lines),
        },
    };
    Ok((outcome, measures, size))
}

/// Compares the reply with the expected one. Returns lines that say how they differ.
fn compare(expected: Option<&Tree>, reply: &Tree, again: &Tree) -> Result<(), Vec<String>> {
    if !replies::are_same(reply, again) {
        return Err(vec!["two calls with the same input gave two replies".to_string()]);
    }
    let Some(expected) = expected else {
        return Err(vec!["there is no reply.json; write it with --update".to_string()]);
    };
    if replies::are_same(reply, &replies::changed(reply)) {
        return Err(vec![
            "the negative control failed: a changed reply was accepted".to_string(),
        ]);
    }
    match replies::are_same(expected, reply) {
        true => Ok(()),
        false => Err(replies::lines(expected, reply)),
    }
}

fn line(one: &Tested) -> String {
    let name = clean::line(&one.name);
    match &one.outcome {
        Outcome::Passed => format!("ok       {name}\n"),
        Outcome::Updated => format!("updated  {name}\n"),
        Outcome::Failed(lines) => {
            let lines: String = lines
                .iter()
                .flat_map(|text| text.lines())
                .map(|line| format!("         {line}\n"))
                .collect();
            format!("FAILED   {name}\n{lines}")
        }
    }
}

fn summary(tested: &[Tested], skipped: usize, headroom: &Headroom) -> String {
    let count = |wanted: fn(&Outcome) -> bool| tested.iter().filter(|one| wanted(&one.outcome)).count();
    let mut parts = vec![format!("{} passed", count(|one| *one == Outcome::Passed))];
    let mut add = |count: usize, what: &str| parts.extend((count > 0).then(|| format!("{count} {what}")));
    add(count(|one| *one == Outcome::Updated), "updated");
    add(count(|one| matches!(one, Outcome::Failed(_))), "failed");
    add(skipped, "of other stages skipped");
    let parts = parts.join(", ");
    match tested {
        [] => format!("no case belongs to the stage of this plugin: {parts}\n"),
        _ => format!("\n{parts}\n{headroom}"),
    }
}
