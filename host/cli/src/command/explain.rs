//! `host explain`: what a diagnostic code means.

use boson_commands::exit::ExitError;
use boson_commands::output::{self, Color};
use boson_pipeline::Stage;
use boson_pipeline::codes::{self, Code};
use boson_pipeline::report::Sources;
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use boson_sandbox::Code as Entry;
use clap::Args;

/// Explain a diagnostic code
#[derive(Args, Debug)]
#[command(after_help = "Example: host explain ops-missing-key")]
pub struct ExplainArguments {
    /// The code, as in `error[CODE]`; all codes are listed without one
    code: Option<String>,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &ExplainArguments, color: Color) -> Result<(), ExitError> {
    let entries = entries(&arguments.plugins, color);
    let Some(code) = &arguments.code else {
        let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let line = |Entry { name, title, .. }: &Entry| format!("{name:width$}  {title}\n");
        return Ok(output::print(&entries.iter().map(line).collect::<String>())?);
    };
    let wanted = code.trim_start_matches(|c: char| !c.is_alphanumeric());
    if let Some(Entry {
        name,
        title,
        explanation,
    }) = entries.iter().find(|entry| entry.name == wanted)
    {
        let text = wrap(explanation);
        return Ok(output::print(&format!("{name}: {title}\n\n{text}\n"))?);
    }
    let hint = match nearest_codes(wanted, &entries).as_slice() {
        [] => String::new(),
        near => format!("; near it: {}", near.join(", ")),
    };
    output::eprint(&format!("error: unknown diagnostic code '{wanted}'{hint}\n"));
    Err(ExitError::Input)
}

fn host_codes() -> Vec<&'static Code> {
    let tables = [
        crate::codes::ALL,
        boson_act::CODES,
        boson_commands::CODES,
        boson_plugin_tools::CODES,
        boson_releases::codes::ALL,
        boson_registry::CODES,
        boson_images::CODES,
        boson_compile::CODES,
        boson_in_pod::CODES,
        boson_cluster::CODES,
        boson_output::CODES,
        boson_controllers::CODES,
        boson_plugins::CODES,
        boson_credentials::CODES,
        boson_sandbox::CODES,
    ];
    codes::all().into_iter().chain(tables.concat()).collect()
}

/// The codes of the host, and those of every plugin that describes itself.
fn entries(arguments: &PluginArguments, color: Color) -> Vec<Entry> {
    let entry = |code: &Code| Entry {
        name: code.name.into(),
        title: code.title.into(),
        explanation: code.explanation.into(),
    };
    let mut entries: Vec<Entry> = host_codes().into_iter().map(entry).collect();
    match plugins::load(arguments, &Stage::ALL) {
        Ok(plugins) => {
            for plugin in plugins.iter() {
                match plugin.describe(plugins.sandbox()) {
                    Ok(description) => entries.extend(description.codes.iter().cloned()),
                    Err(error) => output::show(&[error.diagnostic()], &Sources::default(), color),
                }
            }
        }
        Err(diagnostics) => output::show(&diagnostics, &Sources::default(), color),
    }
    entries.sort_by(|a, b| (&a.name, &a.title, &a.explanation).cmp(&(&b.name, &b.title, &b.explanation)));
    entries.dedup_by(|a, b| a.name == b.name);
    entries
}

/// Codes that share most words with what was typed.
fn nearest_codes<'e>(typed: &str, entries: &'e [Entry]) -> Vec<&'e str> {
    let words: Vec<&str> = typed.split('-').filter(|word| word.len() > 2).collect();
    let score = |name: &str| words.iter().filter(|word| name.contains(*word)).count();
    let best = entries.iter().map(|entry| score(&entry.name)).max().unwrap_or(0);
    entries
        .iter()
        .map(|entry| entry.name.as_str())
        .filter(|name| best > 0 && score(name) == best)
        .take(5)
        .collect()
}

/// Breaks paragraphs at 100 columns; lines that are indented or part of a code block stay.
fn wrap(text: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for line in text.lines() {
        code ^= line.starts_with("```");
        if code || line.starts_with([' ', '-']) || line.starts_with("```") {
            out.push_str(line);
        } else {
            let mut column = 0;
            for word in line.split(' ') {
                if column > 0 && column + word.len() > 99 {
                    out.push('\n');
                    column = 0;
                } else if column > 0 {
                    out.push(' ');
                    column += 1;
                }
                out.push_str(word);
                column += word.len();
            }
        }
        out.push('\n');
    }
    out.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_crates_explain_the_same_code() {
        let mut names = HashSet::new();
        let twice: Vec<&str> = host_codes()
            .into_iter()
            .map(|code| code.name)
            .filter(|name| !names.insert(*name))
            .collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn paragraphs_are_wrapped_and_code_is_not() {
        let words = format!("`host` {}", "word ".repeat(40));
        let code = format!("```yaml\n{}\n```", "x".repeat(120));
        let text = wrap(&format!("{words}\n\n{code}"));
        let long: Vec<&str> = text.lines().filter(|line| line.len() > 100).collect();
        assert_eq!(long, ["x".repeat(120)], "{text}");
    }
}
