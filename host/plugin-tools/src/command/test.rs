//! `host plugin test`: calls a plugin with the cases of a folder, and compares its replies with those that are
//! expected; checks it against the contract; calls it with changed inputs.

use crate::cases::folders::StoredCase;
use crate::cases::{
    self, Case, Compared, Headroom, Mismatch, Outcome, Tested, compare, conformance, edge, folders, fuzz, replies,
};
use crate::plugins;
use crate::printed::Printed;
use anyhow::Context;
use boson_commands::exit::{self, ExitError};
use boson_commands::inputs;
use boson_commands::output::{self, Color};
use boson_commands::storage::durable;
use boson_document::json;
use boson_pipeline::Diagnostic;
use boson_pipeline::report::{self, Sources, clean};
use boson_sandbox::{Account, Limits, Measures, Plugin, Sandbox};
use clap::Args;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
A case is a directory with `call.json`, the input of one call, and `reply.json`, the expected reply. `host convert --record` writes \
cases of real conversions. Replies are compared exactly, also the order of members. Each call is made twice, to find plugins that \
are not deterministic. Cases of other stages are skipped.

--conformance checks the description of the plugin, and its replies to edge cases of each function and to the given cases as a \
conversion does: references to the input, documents, objects, diagnostics and their codes, the same reply and the same fuel twice, \
and that members of later versions are ignored.

--fuzz changes values in the same inputs. The plugin has to give a reply or diagnostics; a trap or a reply that violates the \
contract is a failure. The changes are the same in each run.

Examples:
  host convert manifest.yml --release ./nats-release --record cases --record-stage resources > /dev/null
  host plugin test my-labels.wasm cases --update
  host plugin test my-labels.wasm cases --junit report.xml
  host plugin test my-labels.wasm --conformance --fuzz 1000";

/// Failures with changed inputs, after which no more are tried.
const MAX_FAILURES: usize = 10;

/// Options of `host plugin test`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct TestArguments {
    /// The component
    component: PathBuf,
    /// Directory of cases, or one case
    #[arg(required_unless_present_any = ["conformance", "fuzz"])]
    cases: Option<PathBuf>,
    /// Settings for calls that have none: a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Write the replies of the plugin as the expected ones
    #[arg(long)]
    update: bool,
    /// Check the plugin against the contract of its stage
    #[arg(long)]
    conformance: bool,
    /// Call the plugin with this number of changed inputs
    #[arg(long, value_name = "NUMBER")]
    fuzz: Option<u64>,
    /// Write changed inputs that the plugin fails with as cases
    #[arg(long, value_name = "DIR", requires = "fuzz")]
    keep: Option<PathBuf>,
    /// Write a report in the format of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// The tests of a plugin.
struct Tests<'a> {
    arguments: &'a TestArguments,
    sandbox: &'a Sandbox,
    /// What the plugin prints in the calls of cases.
    printed: Printed,
    plugin: &'a Plugin,
    tested: Vec<Tested>,
    headroom: Headroom,
}

pub fn run(arguments: &TestArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::default();
    let printed = Printed::default();
    let loaded = load(arguments, &printed, &mut sources);
    let loaded = loaded.map_err(|errors| exit::refused(&errors, &sources, color))?;
    let Loaded { sandbox, plugin, cases } = loaded;
    let all = cases.len();
    let ours = cases.into_iter().filter(|stored| stored.case.stage == plugin.stage);
    let ours: Vec<StoredCase> = ours.collect();
    let skipped = all - ours.len();
    // What `describe` has printed.
    output::print(&printed.take())?;
    let mut tests = Tests {
        arguments,
        sandbox: &sandbox.clone().without_console(),
        printed,
        plugin: &plugin,
        tested: Vec::new(),
        headroom: Headroom::default(),
    };
    tests.compare(&ours, &sandbox)?;
    if arguments.conformance || arguments.fuzz.is_some() {
        let mut inputs = edge::inputs(plugin.stage).map_err(anyhow::Error::msg)?;
        inputs.extend(ours.into_iter().map(|stored| stored.case));
        tests.contract(&inputs)?;
        tests.fuzz(&inputs)?;
    }
    tests.end(skipped)
}

// === impl Tests ===

impl Tests<'_> {
    fn add(&mut self, one: Tested, size: usize) -> anyhow::Result<()> {
        self.headroom.add(&one.name, &one.measures, size, self.sandbox.limits());
        output::print(&line(&one))?;
        self.tested.push(one);
        Ok(())
    }

    /// Compares the replies to cases with the expected ones, and shows what the plugin prints. `sandbox`: with a
    /// console.
    fn compare(&mut self, cases: &[StoredCase], sandbox: &Sandbox) -> anyhow::Result<()> {
        for StoredCase { folder, case } in cases {
            let update = self.arguments.update.then_some(folder.as_path());
            let (tested, reply_bytes) = test(sandbox, self.plugin, case, update)?;
            self.add(tested, reply_bytes)?;
            output::print(&indented(&self.printed.take()))?;
        }
        Ok(())
    }

    fn contract(&mut self, inputs: &[Case]) -> anyhow::Result<()> {
        if !self.arguments.conformance {
            return Ok(());
        }
        self.add(conformance::description(self.sandbox, self.plugin), 0)?;
        for input in inputs {
            self.add(conformance::input(self.sandbox, self.plugin, input), 0)?;
        }
        Ok(())
    }

    /// Calls the plugin with changed inputs. Only failures have a line of their own.
    fn fuzz(&mut self, inputs: &[Case]) -> anyhow::Result<()> {
        let Some(count) = self.arguments.fuzz.filter(|_| !inputs.is_empty()) else {
            return Ok(());
        };
        let (mut called, mut most, mut failed) = (0, Measures::default(), Vec::new());
        // A change may leave an input that the host never passes.
        for (number, input) in (0..count.saturating_mul(20)).zip(inputs.iter().cycle()) {
            if called == count || failed.len() == MAX_FAILURES {
                break;
            }
            let changed = fuzz::changed(input, number);
            if !conformance::is_possible(&changed) {
                continue;
            }
            let Some(measures) = self.try_input(&changed, &mut failed)? else {
                continue;
            };
            called += 1;
            most.fuel = most.fuel.max(measures.fuel);
            most.memory = most.memory.max(measures.memory);
            most.elapsed = most.elapsed.max(measures.elapsed);
        }
        self.add(Tested::of(format!("fuzz: {called} changed inputs"), most, failed), 0)
    }

    /// Calls the plugin with an input; `None` if it is no input of the function.
    fn try_input(&self, case: &Case, failed: &mut Vec<String>) -> anyhow::Result<Option<Measures>> {
        let Ok(called) = case.call(self.sandbox, self.plugin) else {
            return Ok(None);
        };
        let error = match called.failure {
            Some(failure) => Some(failure),
            None => conformance::violation(self.sandbox, self.plugin, case),
        };
        if let Some(error) = error {
            let mut lines = format!("{}: {}", case.name, report::text(&[error], &Sources::default(), false));
            if let Some(directory) = &self.arguments.keep {
                let folder = directory.join(case.name.replace(' ', "-"));
                folders::write_call(&folder, case)?;
                lines.push_str(&format!("the input is in {}\n", folder.display()));
            }
            failed.push(lines);
        }
        Ok(Some(called.measures))
    }

    fn end(&self, skipped: usize) -> Result<(), ExitError> {
        let tested = &self.tested;
        if let Some(file) = &self.arguments.junit {
            let report = cases::report(self.plugin.name(), tested);
            durable::write(file, report.as_bytes(), 0o644)
                .with_context(|| format!("cannot write '{}'", file.display()))?;
        }
        output::print(&summary(tested, skipped, &self.headroom))?;
        let failed = |one: &Tested| matches!(one.outcome, Outcome::Failed(_));
        if tested.is_empty() || tested.iter().any(failed) {
            Err(ExitError::Input)
        } else {
            Ok(())
        }
    }
}

struct Loaded {
    sandbox: Sandbox,
    plugin: Plugin,
    cases: Vec<StoredCase>,
}

fn load(arguments: &TestArguments, printed: &Printed, sources: &mut Sources) -> Result<Loaded, Vec<Diagnostic>> {
    let settings = arguments.settings.as_deref();
    let settings = settings.map(|file| inputs::secret_file(file, sources)).transpose()?;
    let sandbox = plugins::sandbox(Limits::default())?.with_console(printed.console());
    let plugin = plugins::alone(&sandbox, &arguments.component, settings.as_ref())?;
    let cases = arguments.cases.as_deref().map(folders::read_all).transpose()?;
    let cases = cases.unwrap_or_default();
    let is_ours = |case: &&Case| case.stage == plugin.stage;
    let lacks_own = |case: &Case| plugins::own_settings(&case.arguments).is_none();
    let generated = arguments.conformance || arguments.fuzz.is_some();
    if generated || cases.iter().map(|stored| &stored.case).filter(is_ours).any(lacks_own) {
        let errors = plugins::check_settings(&plugin, &sandbox, settings.as_ref(), plugins::SETTINGS_FILE);
        if !errors.is_empty() {
            return Err(errors);
        }
    }
    Ok(Loaded { sandbox, plugin, cases })
}

/// Tests a case; with the bytes of the reply. `update`: the folder to write the reply to.
fn test(sandbox: &Sandbox, plugin: &Plugin, case: &Case, update: Option<&Path>) -> anyhow::Result<(Tested, usize)> {
    let failed = |errors: &[Diagnostic]| Outcome::Failed(vec![report::text(errors, &Sources::default(), false)]);
    let tested = |outcome: Outcome, measures: Measures| Tested {
        name: case.name.clone(),
        measures,
        outcome,
    };
    let errors = plugins::check_call(plugin, sandbox, &case.arguments, &format!("{}/call.json", case.name));
    if !errors.is_empty() {
        return Ok((tested(failed(&errors), Measures::default()), 0));
    }
    let Compared { called, mismatch } = match compare(case, sandbox, plugin, &Account::unbounded()) {
        Ok(compared) => compared,
        Err(error) => return Ok((tested(failed(&[error]), Measures::default()), 0)),
    };
    let size = json::to_text(&called.reply).len();
    let outcome = match (mismatch, update, called.failure) {
        (None, ..) => Outcome::Passed,
        (Some(mismatch), Some(folder), None) if mismatch != Mismatch::Varying => {
            folders::write_reply(folder, &called.reply)?;
            Outcome::Updated
        }
        (_, _, Some(failure)) => failed(&[failure]),
        (Some(mismatch), ..) => Outcome::Failed(match (mismatch, &case.reply) {
            (Mismatch::Different, Some(expected)) => replies::lines(expected, &called.reply),
            (other, _) => vec![other.text().to_string()],
        }),
    };
    Ok((tested(outcome, called.measures), size))
}

fn line(one: &Tested) -> String {
    let name = clean::line(&one.name);
    match &one.outcome {
        Outcome::Passed => format!("ok       {name}\n"),
        Outcome::Updated => format!("updated  {name}\n"),
        Outcome::Failed(lines) => format!("FAILED   {name}\n{}", indented(&lines.join("\n"))),
    }
}

/// Lines below that of a case.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("         {line}\n")).collect()
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
