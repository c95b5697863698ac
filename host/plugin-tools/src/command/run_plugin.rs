//! `host run-plugin`: one call of one plugin, in exactly the sandbox that conversions use.

use crate::cases::{self, Case, folders, replies};
use crate::codes;
use crate::plugins;
use crate::printed::Printed;
use boson_commands::columns::columns;
use boson_commands::exit::{self, ExitError};
use boson_commands::files;
use boson_commands::inputs;
use boson_commands::output::{self, Color};
use boson_document::{Tree, json};
use boson_pipeline::diagnostic::Related;
use boson_pipeline::report::{self, Sources};
use boson_pipeline::stage::MANIFEST;
use boson_pipeline::yaml::Document;
use boson_pipeline::{Diagnostic, Place, Severity};
use boson_sandbox::json_call::{JsonCallError, JsonReply};
use boson_sandbox::{Limits, Measures, Plugin, Profile, Sandbox};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// How long `--profile` repeats a call.
const PROFILE_DURATION: Duration = Duration::from_secs(1);
/// Functions of a profile that are shown.
const MAX_FUNCTIONS: usize = 20;

const EXAMPLES: &str = "\
The input is one JSON object with the members `request` (`view` for `resources` and `checks`) and, if necessary, `context`, as \
documented in `wit/`. Write JSON where the contract has JSON text. If the context has no `settings`, --settings applies, otherwise \
{}. A wrapper calls the built-in plugin of its stage. What a plugin prints is shown on standard error.

Examples:
  host run-plugin target/plugins/ops.wasm --call find <<< \
    '{\"request\": {\"document\": {\"a\": [7]}, \"document-name\": \"m.yml\", \"path\": \"/a/0\"}}'
  host run-plugin ./my-rule.wasm --call describe < /dev/null
  host run-plugin ./my-rule.wasm --replay recorded/019-convert-group-broker";

/// Run one function of a plugin in the sandbox
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunPluginArguments {
    /// The component
    component: PathBuf,
    /// Function to call; optional if the stage has only one besides `describe`
    #[arg(long, value_name = "FUNCTION")]
    call: Option<String>,
    /// Settings: a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Arguments of the function: a JSON file
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// Repeat a recorded call, and compare the reply with the recorded one: a directory of a recording
    #[arg(long, value_name = "CASE", conflicts_with_all = ["call", "input"])]
    replay: Option<PathBuf>,
    /// Repeat the call for a second, and show which functions it spends its fuel in
    #[arg(long)]
    profile: bool,
    /// Limit the fuel of the call, in units
    #[arg(long, value_name = "UNITS", help_heading = "Limits")]
    fuel: Option<u64>,
    /// Limit the memory of the call, in MiB
    #[arg(long, value_name = "MIB", help_heading = "Limits")]
    memory: Option<usize>,
    /// Limit the time of the call, in seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    deadline: Option<u64>,
}

pub fn run(arguments: &RunPluginArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::default();
    let fail = |diagnostics: Vec<Diagnostic>, sources: &Sources| exit::refused(&diagnostics, sources, color);
    let file = arguments.settings.as_ref();
    let settings = file.map(|file| inputs::secret_file(file, &mut sources));
    let settings = settings.transpose().map_err(|one| fail(vec![one], &sources))?;
    let limits = limits(arguments);
    let sandbox = plugins::sandbox(limits.clone()).map_err(|failure| fail(vec![failure.diagnostic()], &sources))?;
    let printed = Printed::default();
    let sandbox = sandbox.with_console(printed.console());
    let plugin =
        plugins::alone(&sandbox, &arguments.component, settings.as_ref()).map_err(|all| fail(all, &sources))?;
    let call = call(arguments, &sandbox, &plugin).map_err(|one| fail(vec![one], &sources))?;
    register(&call.arguments, &mut sources);
    let errors = settings_errors(arguments, &sandbox, &plugin, &call, settings.as_ref());
    // What `describe` has printed is shown when it is the function that is called.
    printed.take();
    if !errors.is_empty() {
        return Err(fail(errors, &sources));
    }
    let result = sandbox.call_json(&plugin, &call.function, &call.arguments);
    output::eprint(&printed.take());
    if arguments.profile {
        let profile = sandbox.profile(&plugin, &call.function, &call.arguments, PROFILE_DURATION);
        output::eprint(&profiled(&profile, &result));
    }
    let (reply, outcome) = match result {
        Ok(reply) => {
            show_reply(&reply, &limits, &sources, color)?;
            let outcome = if reply.failed { Err(ExitError::Input) } else { Ok(()) };
            (cases::reply(&reply), outcome)
        }
        Err(JsonCallError::Arguments(message)) => {
            let error = Diagnostic::error(codes::PLUGIN_ARGUMENTS, message);
            let error = error.help("see `wit/` for the function's parameters");
            return Err(fail(vec![error], &sources));
        }
        Err(JsonCallError::Plugin(failure, measures)) => {
            let diagnostic = failure.diagnostic();
            let reply = cases::failure(&diagnostic);
            let failed = fail(vec![diagnostic], &sources);
            output::eprint(&measured(&measures, None, &limits));
            (reply, Err(failed))
        }
    };
    match &call.reply {
        _ if arguments.replay.is_none() => outcome,
        Some(recorded) => compare_with_recorded(recorded, &reply),
        None => {
            output::eprint("the recording has no reply to compare with\n");
            outcome
        }
    }
}

fn limits(arguments: &RunPluginArguments) -> Limits {
    let usual = Limits::default();
    Limits {
        fuel: arguments.fuel.unwrap_or(usual.fuel),
        memory: arguments.memory.map_or(usual.memory, |mib| mib.saturating_mul(1 << 20)),
        deadline: arguments.deadline.map_or(usual.deadline, Duration::from_secs),
        ..usual
    }
}

/// The call to make, with the reply that was recorded.
fn call(arguments: &RunPluginArguments, sandbox: &Sandbox, plugin: &Plugin) -> Result<Case, Diagnostic> {
    let Some(folder) = &arguments.replay else {
        let function = function(arguments, sandbox, plugin)?;
        return Ok(Case {
            name: String::new(),
            stage: plugin.stage,
            arguments: input(arguments, &function)?,
            function,
            reply: None,
        });
    };
    let case = folders::read(folder)?;
    if case.stage != plugin.stage {
        let message = format!(
            "the call belongs to the stage '{}', and the plugin to '{}'",
            case.stage, plugin.stage
        );
        let error = Diagnostic::error(codes::PLUGIN_OTHER_STAGE, message);
        return Err(error.help("select a call of the plugin's stage"));
    }
    Ok(case)
}

/// The errors in the settings of a call: its own, those that were given, or none.
fn settings_errors(
    arguments: &RunPluginArguments,
    sandbox: &Sandbox,
    plugin: &Plugin,
    call: &Case,
    given: Option<&Document>,
) -> Vec<Diagnostic> {
    // It gives the schema. A plugin that cannot be described fails when it is called, with all figures of the call.
    if call.function == "describe" || plugin.describe(sandbox).is_err() {
        return Vec::new();
    }
    if plugins::own_settings(&call.arguments).is_some() {
        let file = arguments
            .replay
            .as_ref()
            .map_or(arguments.input.clone(), |folder| folder.join("call.json"));
        return plugins::check_call(plugin, sandbox, &call.arguments, &files::name(&file));
    }
    plugins::check_settings(plugin, sandbox, given, plugins::SETTINGS_FILE)
}

fn compare_with_recorded(recorded: &Tree, reply: &Tree) -> Result<(), ExitError> {
    if replies::are_same(recorded, reply) {
        output::eprint("the reply matches the recorded one\n");
        return Ok(());
    }
    let lines = replies::lines(recorded, reply);
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    output::eprint(&format!("the reply differs from the recorded one:\n{lines}"));
    Err(ExitError::Input)
}

fn function(arguments: &RunPluginArguments, sandbox: &Sandbox, plugin: &Plugin) -> Result<String, Diagnostic> {
    if let Some(name) = &arguments.call {
        return Ok(name.clone());
    }
    let names = sandbox.functions(plugin);
    let mut stage = names.iter().filter(|name| *name != "describe");
    match (stage.next(), stage.next()) {
        (Some(only), None) => Ok(only.clone()),
        _ => {
            let message = format!("the stage '{}' has several functions", plugin.stage);
            let error = Diagnostic::error(codes::PLUGIN_FUNCTION_NEEDED, message);
            Err(error.help(format!("select one with --call: {}", names.join(", "))))
        }
    }
}

fn input(arguments: &RunPluginArguments, function: &str) -> Result<Tree, Diagnostic> {
    if function == "describe" {
        return Ok(Tree::object());
    }
    let name = files::name(&arguments.input);
    let bytes = files::read(&arguments.input)?;
    let refuse = |message: String| Diagnostic::error(codes::PLUGIN_ARGUMENTS, message).in_document(&name);
    let text = String::from_utf8(bytes).map_err(|_| refuse("the input is not UTF-8".to_string()))?;
    json::parse(&text).map_err(|error| refuse(format!("the input is not JSON: {error}")))
}

/// Lets diagnostics show excerpts: documents of the input, by the names that the input gives them.
fn register(input: &Tree, sources: &mut Sources) {
    if let Some(manifest) = input.get("view").and_then(|view| view.get("manifest")) {
        sources.add_tree(MANIFEST, manifest);
    }
    let Some(request) = input.get("request") else { return };
    let mut add = |name: Option<&str>, tree: Option<&Tree>| {
        if let (Some(name), Some(tree)) = (name, tree) {
            sources.add_tree(name, tree);
        }
    };
    add(request.str("document-name"), request.get("document"));
    for file in request.items("files") {
        add(file.str("name"), file.get("operations"));
    }
}

fn show_reply(reply: &JsonReply, limits: &Limits, sources: &Sources, color: Color) -> std::io::Result<()> {
    output::print(&json::to_lines(&reply.value))?;
    // `checks` replies with nothing else.
    let reported = match reply.value {
        Tree::Array(_) => &reply.value,
        _ => reply.value.get("diagnostics").unwrap_or(&Tree::Null),
    };
    let diagnostics: Vec<Diagnostic> = reported.as_array().into_iter().flatten().map(diagnostic).collect();
    output::eprint(&report::text(&diagnostics, sources, color.enabled()));
    output::eprint(&measured(
        &reply.measures,
        Some(json::to_text(&reply.value).len()),
        limits,
    ));
    Ok(())
}

fn diagnostic(reported: &Tree) -> Diagnostic {
    let text = |name: &str| reported.str(name).map(str::to_string);
    let severity = match reported.str("severity") {
        Some("warning") => Severity::Warning,
        Some("info") => Severity::Info,
        _ => Severity::Error,
    };
    let related = reported.items("related").iter().map(|one| Related {
        place: place(one.get("place")),
        message: one.str("message").unwrap_or_default().to_string(),
    });
    Diagnostic {
        severity,
        code: text("code").unwrap_or_default(),
        message: text("message").unwrap_or_default(),
        place: place(reported.get("place")),
        related: related.collect(),
        help: text("help"),
        follows: None,
        plugin: None,
    }
}

/// A place of the contract: an object with its case as the only member.
fn place(reported: Option<&Tree>) -> Place {
    let text = |tree: &Tree, name: &str| tree.str(name).map(str::to_string);
    let number = |tree: &Tree, name: &str| {
        tree.get(name)
            .and_then(Tree::as_i64)
            .and_then(|value| u32::try_from(value).ok())
    };
    let case = reported.and_then(Tree::as_object).and_then(|cases| cases.iter().next());
    let Some((case, place)) = case else {
        return Place::default();
    };
    let object = |place: &Tree| {
        let object = place.get("object")?;
        Some(format!("{}/{}", object.str("kind")?, object.str("name")?))
    };
    match case.as_str() {
        "setting" => Place {
            document: Some("settings".into()),
            pointer: place.as_str().map(str::to_string),
            ..Place::default()
        },
        _ => Place {
            document: text(place, "document").or_else(|| object(place)),
            pointer: text(place, "pointer"),
            line: number(place, "line"),
            column: number(place, "column"),
        },
    }
}

/// The functions with the most samples, with estimates of their fuel in one call.
fn profiled(profile: &Result<Profile, JsonCallError>, result: &Result<JsonReply, JsonCallError>) -> String {
    let fuel = match result {
        Ok(reply) => reply.measures.fuel,
        Err(JsonCallError::Plugin(_, measures)) => measures.fuel,
        Err(JsonCallError::Arguments(_)) => return String::new(),
    };
    let profile = match profile {
        Ok(profile) => profile,
        Err(_) => return "no profile: the call fails\n".to_string(),
    };
    let mut text = format!(
        "functions by fuel, from {} samples of {} calls:\n",
        profile.samples, profile.calls
    );
    let mut rows = vec![["SELF", "FUEL", "TOTAL", "FUNCTION"].map(str::to_string)];
    let share = |count: u32| f64::from(count) / f64::from(profile.samples.max(1));
    for function in profile.functions.iter().take(MAX_FUNCTIONS) {
        let own = share(function.own);
        rows.push([
            format!("{:.1} %", 100.0 * own),
            format!("{:.0}", own * fuel as f64),
            format!("{:.1} %", 100.0 * share(function.total)),
            function.name.clone(),
        ]);
    }
    text.push_str(&columns(&rows));
    text.push('\n');
    text
}

/// The four numbers that matter to plugin authors, each with its limit.
fn measured(measures: &Measures, output: Option<usize>, limits: &Limits) -> String {
    let share = |used: f64, limit: f64| format!("{:5.1} %", 100.0 * used / limit);
    let mut rows = vec![
        (
            "fuel",
            format!("{} of {}", measures.fuel, limits.fuel),
            share(measures.fuel as f64, limits.fuel as f64),
        ),
        (
            "peak memory",
            format!(
                "{:.1} of {} MiB",
                measures.memory as f64 / f64::from(1 << 20),
                limits.memory >> 20
            ),
            share(measures.memory as f64, limits.memory as f64),
        ),
        (
            "time",
            format!(
                "{:.2} ms of {} s",
                measures.elapsed.as_secs_f64() * 1e3,
                limits.deadline.as_secs()
            ),
            share(measures.elapsed.as_secs_f64(), limits.deadline.as_secs_f64()),
        ),
    ];
    if let Some(bytes) = output {
        rows.push((
            "output",
            format!("{bytes} bytes of {} MiB", limits.output >> 20),
            share(bytes as f64, limits.output as f64),
        ));
    }
    rows.iter()
        .map(|(name, used, share)| format!("{name:<12} {used:<32} {share}\n"))
        .collect()
}
