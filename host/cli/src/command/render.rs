//! `host render`: templates of one job, or a stream of single templates.

use crate::codes;
use boson_commands::exit::ExitError;
use boson_commands::files;
use boson_commands::inputs;
use boson_commands::memory;
use boson_commands::output::{self, Color};
use boson_commands::storage::below::{self, Below};
use boson_document::{Tree, json};
use boson_pipeline::convert::collected::{self, JobErrors};
use boson_pipeline::convert::filling::{self, Filled};
use boson_pipeline::release::{Job, Release, TemplateFile};
use boson_pipeline::report::Sources;
use boson_pipeline::scrub::{Filter, Secrets};
use boson_pipeline::stage::{Rendered, StageError, Template};
use boson_pipeline::{Diagnostic, Stage, Stages};
use boson_plugin_tools::plugin_arguments::PluginArguments;
use boson_plugin_tools::plugins;
use boson_sandbox::Plugins;
use clap::Args;
use parking_lot::Mutex;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc;

const EXAMPLES: &str = "\
The context is the instance's spec hash: deployment, name, index, id, az, address, bootstrap, ip, networks, properties, links, release, ...

With --batch, each line of standard input is {\"id\", \"name\", \"template\", \"context\"}, and each line of the output {\"id\", \"output\"} or \
{\"id\", \"error\": {\"message\"}}, in any order.

Examples:
  host render --release ./nats-release --job nats --context spec.yml
  host render --release ./nats-release --job nats --context spec.yml --out /var/vcap/jobs/nats
  host render --batch < cases.jsonl";

/// Render the templates of a job
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RenderArguments {
    /// Release: a directory, a tarball or an image layout
    #[arg(long, value_name = "PATH", required_unless_present = "batch")]
    release: Option<PathBuf>,
    /// Job of the release
    #[arg(long, value_name = "JOB", required_unless_present = "batch")]
    job: Option<String>,
    /// Context of the templates: a YAML or JSON file
    #[arg(long, value_name = "FILE", required_unless_present = "batch")]
    context: Option<PathBuf>,
    /// Render only this template: its source or its destination
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// Write the files below this directory instead of printing them
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Render templates from standard input, one JSON object per line
    #[arg(long, conflicts_with_all = ["release", "job", "context", "template", "out"])]
    batch: bool,
    #[command(flatten)]
    plugins: PluginArguments,
}

pub fn run(arguments: &RenderArguments, color: Color) -> Result<(), ExitError> {
    let mut sources = Sources::within(memory::of_documents(arguments.plugins.max_memory));
    let loaded = plugins::prepare(&arguments.plugins, &[Stage::Render], &mut sources);
    let plugins = loaded.map_err(|errors| arguments.plugins.failed(&errors, &sources, color))?;
    if arguments.batch {
        return Ok(batch(&plugins)?);
    }
    let text = one_job(arguments, &plugins, &mut sources, color);
    let text = text.map_err(|errors| arguments.plugins.failed(&errors, &sources, color))?;
    Ok(output::print(&text)?)
}

/// Renders the templates of a job. What is not written to a directory is returned.
fn one_job(
    arguments: &RenderArguments,
    plugins: &Plugins,
    sources: &mut Sources,
    color: Color,
) -> Result<String, Vec<Diagnostic>> {
    let (Some(path), Some(name), Some(context)) = (&arguments.release, &arguments.job, &arguments.context) else {
        return Ok(String::new());
    };
    let release = boson_releases::read_noting(path, None, sources, &mut |_| {})?;
    let job = job(&release, name)?;
    let context = inputs::secret_file(context, sources)?.tree;
    let wanted: Vec<_> = job
        .templates
        .iter()
        .filter(|file| {
            arguments
                .template
                .as_ref()
                .is_none_or(|name| *name == file.source || *name == file.destination)
        })
        .collect();
    if wanted.is_empty() {
        let names: Vec<&str> = job.templates.iter().map(|file| file.source.as_str()).collect();
        let error = Diagnostic::error(codes::RELEASE_NO_TEMPLATE, format!("job '{name}' has no such template"))
            .help(format!("it has: {}", names.join(", ")))
            .suggest(arguments.template.as_deref().unwrap_or_default(), names);
        return Err(vec![error]);
    }
    // It is unknown which of its properties came from variables.
    let secrets = Secrets::of_properties(&context);
    let filled = render_files(plugins, None, job, &wanted, &context, &secrets, sources);
    if filled.failed() {
        return Err(with_collected(job, filled.diagnostics));
    }
    output::show(&filled.diagnostics, sources, color);
    write_files(arguments, &wanted, filled.files)
}

/// Writes rendered files to the directory, or returns their text.
fn write_files(
    arguments: &RenderArguments,
    wanted: &[&TemplateFile],
    rendered: Vec<Rendered>,
) -> Result<String, Vec<Diagnostic>> {
    let files = wanted.iter().zip(rendered);
    let Some(directory) = &arguments.out else {
        let several = wanted.len() > 1;
        let text = files.map(|(file, rendered)| {
            if several {
                format!("==> {} <==\n{}\n", file.destination, rendered.content)
            } else {
                rendered.content
            }
        });
        return Ok(text.collect());
    };
    let below = files.map(|(file, rendered)| Below {
        path: file.destination.clone(),
        content: rendered.content,
        mode: filling::mode(file),
    });
    let below: Vec<Below> = below.collect();
    below::write(directory, &below).map_err(|error| {
        let help = "check --out: links in it must not lead out of it";
        vec![files::unwritable(&error).help(help)]
    })?;
    Ok(String::new())
}

/// Renders these templates of a job, in their order. The diagnostics name the files; after an error there may be no
/// files.
pub fn render_files(
    plugins: &Plugins,
    group: Option<&str>,
    job: &Job,
    wanted: &[&TemplateFile],
    context: &Tree,
    secrets: &Secrets,
    sources: &mut Sources,
) -> Filled {
    for file in wanted {
        sources.add_text(&file.document_name, &file.text);
    }
    filling::fill(plugins, group, job, wanted, context, Filter { secrets, sources })
}

/// The errors of one job, and then all of them as BOSH prints them.
fn with_collected(job: &Job, mut reported: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let all = collected::of_job(&JobErrors {
        job,
        errors: reported.iter().filter(|one| one.is_error()).collect(),
    });
    reported.push(all);
    reported
}

fn job<'r>(release: &'r Release, name: &str) -> Result<&'r Job, Vec<Diagnostic>> {
    release.job(name).ok_or_else(|| {
        let names: Vec<&str> = release.jobs.iter().map(|job| job.name.as_str()).collect();
        let what = format!("Job '{name}' not found in release '{}'", release.name);
        let error = Diagnostic::error(codes::RELEASE_NO_JOB, what);
        vec![error.help(format!("it has: {}", names.join(", "))).suggest(name, names)]
    })
}

/// One line in, one line out, on every core.
fn batch(plugins: &Plugins) -> std::io::Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Bounded, so that a long input is not held in memory while templates are slow.
    let (send, receive) = mpsc::sync_channel::<Vec<u8>>(threads * 4);
    let receive = Mutex::new(receive);
    let out = Mutex::new(std::io::stdout());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(plugins, &receive, &out)))
            .collect();
        // By bytes: a line that is not UTF-8 is one bad case, not the end of the stream.
        for line in std::io::stdin().lock().split(b'\n') {
            let line = line?;
            if !line.trim_ascii().is_empty() && send.send(line).is_err() {
                break;
            }
        }
        drop(send);
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })
}

fn work(
    plugins: &Plugins,
    receive: &Mutex<mpsc::Receiver<Vec<u8>>>,
    out: &Mutex<std::io::Stdout>,
) -> std::io::Result<()> {
    loop {
        let next = receive.lock().recv();
        let Ok(line) = next else { return Ok(()) };
        let answer = answer(plugins, &line);
        let mut out = out.lock();
        writeln!(out, "{}", json::to_text(&answer))?;
        out.flush()?;
    }
}

fn answer(plugins: &Plugins, line: &[u8]) -> Tree {
    let error = |id: Tree, message: &str| {
        Tree::object()
            .with("id", id)
            .with("error", Tree::object().with("message", message))
    };
    let Ok(line) = std::str::from_utf8(line) else {
        return error(Tree::Null, "not UTF-8");
    };
    let question = match json::parse(line) {
        Ok(question) => question,
        Err(problem) => return error(Tree::Null, &format!("not JSON: {problem}")),
    };
    let id = question.get("id").cloned().unwrap_or_default();
    let Some(text) = question.str("template") else {
        return error(id, "the member 'template' is missing");
    };
    let template = Template {
        name: question.str("name").unwrap_or("template").into(),
        text: text.into(),
    };
    let nothing = Tree::object();
    match plugins.render(None, &[template], question.get("context").unwrap_or(&nothing)) {
        Ok((files, _)) => {
            let content = files.into_iter().next().map(|file| file.content).unwrap_or_default();
            Tree::object().with("id", id).with("output", content)
        }
        Err(StageError::Input(reported)) => {
            let first = reported.iter().find(|one| one.is_error());
            error(id, first.map_or("no message", |one| one.message.as_str()))
        }
        Err(StageError::Plugin(reported)) => error(id, &reported.message),
    }
}
