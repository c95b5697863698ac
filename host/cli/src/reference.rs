//! `docs/reference/operator.md` is generated from the options and metrics. `BLESS=1` rewrites it.

use crate::command::arguments::Arguments;
use crate::generated;
use boson_cluster::metrics::Metrics;
use clap::{Arg, CommandFactory};

const FILE: &str = "../../docs/reference/operator.md";

const HEAD: &str = "# Options and metrics of the operator

Look up the options, environment variables and metrics of `host operator`. This page is generated from the program:
`BLESS=1 cargo test --release --workspace --locked --bin host` rewrites it.

## Options

An option overrides its environment variable. If an option can be repeated, its variable contains a list. The list is
separated by commas unless the option says otherwise.

| option | variable | default | meaning |
|---|---|---|---|
";

const METRICS: &str = "
## Metrics

`GET /metrics` on `--listen` returns the metrics in the Prometheus text format. Labels have few values and never contain
names that users choose, except for the names of plugins. Only loaded plugins have series of `boson_plugin_*`.

| metric | type | meaning |
|---|---|---|
";

/// The options of `host operator`, those of all commands last.
fn options() -> Vec<Arg> {
    let mut all = Arguments::command();
    all.build();
    let operator = all.find_subcommand("operator").unwrap();
    let shown = |option: &&Arg| !option.is_hide_set() && !["help", "version"].contains(&option.get_id().as_str());
    let mut options: Vec<Arg> = operator.get_arguments().filter(shown).cloned().collect();
    options.sort_by_key(Arg::is_global_set);
    options
}

fn cell(text: &str) -> String {
    text.trim_end_matches('.').replace('|', "\\|")
}

fn option(arg: &Arg) -> String {
    let name = format!("--{}", arg.get_long().unwrap());
    let value = arg
        .get_value_names()
        .filter(|_| arg.get_action().takes_values())
        .map(|names| format!(" {}", names[0]));
    let env = arg.get_env().map(|name| format!("`{}`", name.to_string_lossy()));
    let defaults = arg.get_default_values().iter();
    let default: Vec<String> = defaults
        .filter(|_| arg.get_action().takes_values())
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|_| arg.get_action().takes_values())
        .map(|choice| format!("`{}`", choice.get_name()))
        .collect();
    let mut meaning = cell(&arg.get_help().unwrap().to_string());
    if !choices.is_empty() {
        meaning = format!("{meaning}: {}", choices.join(", "));
    }
    format!(
        "| `{name}{}` | {} | {} | {meaning} |\n",
        value.unwrap_or_default(),
        env.unwrap_or_default(),
        default.join(", ")
    )
}

fn page() -> String {
    let mut page = HEAD.to_string();
    page.extend(options().iter().map(option));
    page.push_str(METRICS);
    for metric in Metrics::default().descriptions() {
        let (name, kind, meaning) = (&metric.name, metric.kind, cell(metric.meaning));
        page.push_str(&format!("| `{name}` | {kind} | {meaning} |\n"));
    }
    page
}

#[test]
fn the_page_is_current() {
    generated::check(FILE, &page());
}

#[test]
fn every_option_of_the_operator_can_stand_in_the_environment() {
    // Options for terminals have NO_COLOR and BOSON_LOG instead.
    let terminal = ["color", "verbose"];
    for option in options() {
        let name = option.get_id().as_str();
        assert!(
            option.get_env().is_some() || terminal.contains(&name),
            "--{name} has no variable"
        );
        let variable = option
            .get_env()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or("BOSON_".into());
        assert!(variable.starts_with("BOSON_"), "{variable}");
    }
}
