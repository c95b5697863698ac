//! Rows that call the sandbox directly, with the built-in plugins.

use crate::measure::{Sample, in_turns, milliseconds, process, time};
use crate::table::Row;
use anyhow::{Context, Result, anyhow, ensure};
use boson_document::{Tree, json};
use boson_pipeline::stage::{CheckPolicy, Named, Rendered, Template};
use boson_pipeline::{Stage, Stages, yaml};
use boson_sandbox::{Cache, Limits, Plugin, Plugins, Sandbox, Source};
use boson_tests::wrapper::wrapper;
use boson_tests::{binary, root, synthetic, templates};
use std::path::Path;
use std::process::Command;

const INSTANCES: usize = 200;
const CALLS: usize = 500;
const RENDERINGS: usize = 15;
/// Templates that are rendered one by one.
const TEMPLATES: usize = 500;
/// Unmeasured renderings: the first ones read the image from disk.
const WARM_UP_RENDERINGS: usize = 20;
/// Size of the manifest that a call reads and returns.
const MANIFEST_BYTES: usize = 100_000;

/// Cost of a rendering before Ruby runs, with reused memory slots.
pub fn instance() -> Result<Vec<Row>> {
    let (sandbox, plugin) = plugin(Stage::Render)?;
    let (mut makes, mut whole) = (Vec::new(), Vec::new());
    for nth in 0..INSTANCES + 5 {
        // Not `describe`, which is called once.
        let described = sandbox.call_json(&plugin, "describe", &Tree::object());
        described.map_err(|error| anyhow!("{error:?}"))?;
        let mut made = None;
        let all = time(|| {
            made = Some(sandbox.instantiate(&plugin)?);
            Ok(())
        })?;
        // The first ones read the image from disk.
        if let Some(measures) = made.filter(|_| nth >= 5) {
            makes.push(milliseconds(measures.elapsed));
            whole.push(all.wall);
        }
    }
    let (makes, whole) = (Sample::of(makes), Sample::of(whole));
    let (p99, whole) = (makes.percentile(99), whole.median());
    let details = format!("median of {INSTANCES}, p99 {p99:.3} ms; with taking it down again {whole:.3} ms");
    Ok(vec![Row::below(
        "fresh instance of the CRuby component",
        makes.median(),
        0.2,
        "ms",
        &details,
    )])
}

/// The same operations on the same manifest, in the sandbox and natively; both from tree to text, through the plugin,
/// and back to a tree.
pub fn overhead() -> Result<Vec<Row>> {
    let (sandbox, plugin) = plugin(Stage::Ops)?;
    let mut plugins = Plugins::new(sandbox);
    plugins.add(plugin, true, CheckPolicy::default())?;
    let (document, operations) = (manifest()?, read("ops.yml", &synthetic::ops_file(0, 10))?);
    let bytes = json::to_text(&document).len();
    let sandboxed = || apply(&plugins, &document, &operations);
    let native = || apply_natively(&document, &operations);
    ensure!(sandboxed()? == native()?, "the sandboxed and the native rule disagree");
    in_turns(20, || time(sandboxed), || time(native))?;
    let pairs = in_turns(CALLS, || time(sandboxed), || time(native))?;
    let over = Sample::of(pairs.iter().map(|(sandboxed, native)| sandboxed.wall - native.wall));
    let over_on_core = Sample::of(pairs.iter().map(|(sandboxed, native)| sandboxed.cpu - native.cpu));
    let sandboxed = Sample::of(pairs.iter().map(|pair| pair.0.wall));
    let native = Sample::of(pairs.iter().map(|pair| pair.1.wall));
    // Tail against tail: the machine disturbs both alike. The tail of the differences would include the disturbances of
    // either run.
    let above = sandboxed.percentile(99) - native.percentile(99);
    let details = format!(
        "p99 of {CALLS} calls above the p99 of {CALLS} native ones, which is {:.2} ms for {} kB; of the paired differences: median {:.2} ms, \
         on a core {:.2} ms, p99 {:.2} ms",
        native.percentile(99),
        bytes / 1000,
        over.median(),
        over_on_core.median(),
        over.percentile(99),
    );
    let overhead = Row::below("stage call overhead with a 100 kB manifest", above, 1.0, "ms", &details);
    Ok(vec![overhead, wrapped(&plugins, &document, &operations)?])
}

/// A call of the rule through a wrapper that only passes it on, against a call of the rule.
fn wrapped(plain: &Plugins, document: &Tree, operations: &Tree) -> Result<Row> {
    let (sandbox, rule) = plugin(Stage::Ops)?;
    let component = wrapper("ops", "operations", &["apply", "find"], 1, "")?;
    let wrapper = sandbox.load("wrapper", &component, Source::Bytes("wrapper".into()))?;
    let mut plugins = Plugins::new(sandbox);
    plugins.add(rule, true, CheckPolicy::default())?;
    plugins.add(wrapper, true, CheckPolicy::default())?;
    let (with, without) = (
        || apply(&plugins, document, operations),
        || apply(plain, document, operations),
    );
    ensure!(with()? == without()?, "the wrapper changes the reply");
    let pairs = in_turns(CALLS, || time(with), || time(without))?;
    let ratio = Sample::of(pairs.iter().map(|(with, without)| with.wall / without.wall));
    let with = Sample::of(pairs.iter().map(|pair| pair.0.wall)).median();
    let without = Sample::of(pairs.iter().map(|pair| pair.1.wall)).median();
    let details = format!("median of {CALLS} pairs; {with:.2} ms against {without:.2} ms, document compared");
    Ok(Row::below(
        "a wrapped call, against the rule alone",
        ratio.median(),
        2.0,
        "x",
        &details,
    ))
}

/// A job's templates in one call, and with a `ruby` process for each.
pub fn render() -> Result<Vec<Row>> {
    let what = "rendering a job of 5 templates, against native `ruby`";
    let (sandbox, plugin) = plugin(Stage::Render)?;
    let mut plugins = Plugins::new(sandbox);
    plugins.add(plugin, true, CheckPolicy::default())?;
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("context.json"), synthetic::CONTEXT)?;
    for (name, _, text) in synthetic::TEMPLATES {
        std::fs::write(directory.path().join(name), text)?;
    }
    let context = json::parse(synthetic::CONTEXT).map_err(|error| anyhow!("{error}"))?;
    let ours = || files(&plugins, &context);
    ours()?;
    if Command::new("ruby").arg("--version").output().is_err() {
        let alone = Sample::of(
            (0..RENDERINGS)
                .map(|_| Ok(time(ours)?.wall))
                .collect::<Result<Vec<_>>>()?,
        );
        return Ok(vec![Row::left_out(
            what,
            &format!("{:.2} ms; there is no `ruby` to compare with", alone.median()),
        )]);
    }
    same_as_native(&ours()?, directory.path())?;
    let pairs = in_turns(RENDERINGS, || Ok(time(ours)?.wall), || rubies(directory.path()))?;
    let (ours, native) = (
        Sample::of(pairs.iter().map(|pair| pair.0)),
        Sample::of(pairs.iter().map(|pair| pair.1)),
    );
    let ratio = Sample::of(pairs.iter().map(|(ours, native)| native / ours)).median();
    let details = format!(
        "median of {RENDERINGS} pairs; {:.2} ms, five times `ruby` {:.0} ms",
        ours.median(),
        native.median()
    );
    Ok(vec![Row::at_least(what, ratio, 10.0, "times faster", &details)])
}

/// Single templates, each in its own instance, as `host render --batch` renders them: the time of one core for one
/// template. They are made up, with the sizes of real releases.
pub fn batch() -> Result<Vec<Row>> {
    let (sandbox, plugin) = plugin(Stage::Render)?;
    let mut plugins = Plugins::new(sandbox);
    plugins.add(plugin, true, CheckPolicy::default())?;
    let context = json::parse(synthetic::CONTEXT).map_err(|error| anyhow!("{error}"))?;
    let texts = templates::of_all_sizes(TEMPLATES);
    let mut times = Vec::new();
    for (nth, text) in texts.iter().cycle().take(texts.len() + WARM_UP_RENDERINGS).enumerate() {
        let one = [Template {
            name: "job/file.erb".into(),
            text: text.into(),
        }];
        let taken = time(|| {
            plugins
                .render(None, &one, &context)
                .map_err(|error| anyhow!("{error:?}"))
        })?;
        if nth >= WARM_UP_RENDERINGS {
            times.push(taken);
        }
    }
    let wall = Sample::of(times.iter().map(|taken| taken.wall));
    let core = Sample::of(times.iter().map(|taken| taken.cpu));
    let details = format!(
        "median of {TEMPLATES} different ones on a core, p95 {:.2} ms; by the clock {:.2} ms, p95 {:.2} ms",
        core.percentile(95),
        wall.median(),
        wall.percentile(95)
    );
    Ok(vec![Row::below(
        "a template of `host render --batch`",
        core.median(),
        5.0,
        "ms",
        &details,
    )])
}

fn plugin(stage: Stage) -> Result<(Sandbox, Plugin)> {
    let sandbox = Sandbox::new(Limits::default(), Cache::none())?;
    let folder = binary()?
        .ancestors()
        .nth(2)
        .context("the binary lies in no target directory")?
        .join("plugins");
    let plugin = sandbox.load_built_in(stage, &folder.join(format!("{stage}.wasm")))?;
    Ok((sandbox, plugin))
}

fn read(name: &str, text: &str) -> Result<Tree> {
    yaml::read(name, text)
        .map(|document| document.tree)
        .map_err(|diagnostic| anyhow!("{diagnostic:?}"))
}

fn manifest() -> Result<Tree> {
    (10..)
        .map(|groups| read("manifest.yml", &synthetic::manifest(groups)))
        .find(|tree| {
            tree.as_ref()
                .map_or(true, |tree| json::to_text(tree).len() >= MANIFEST_BYTES)
        })
        .context("no manifest")?
}

fn apply(plugins: &Plugins, document: &Tree, operations: &Tree) -> Result<Tree> {
    let files = [Named::new("ops.yml", operations)];
    let reply = plugins.apply(Named::new("manifest.yml", document), &files);
    reply
        .map(|(applied, _)| applied.document)
        .map_err(|error| anyhow!("{error:?}"))
}

fn apply_natively(document: &Tree, operations: &Tree) -> Result<Tree> {
    let again = |tree: &Tree| json::parse(&json::to_text(tree)).map_err(|error| anyhow!("{error}"));
    let files = vec![boson_ops::OperationsFile {
        name: "ops.yml".into(),
        operations: again(operations)?,
    }];
    let (applied, _) =
        boson_ops::apply(again(document)?, "manifest.yml", files).map_err(|diagnostics| anyhow!("{diagnostics:?}"))?;
    again(&applied.document)
}

fn files(plugins: &Plugins, context: &Tree) -> Result<Vec<Rendered>> {
    let templates = synthetic::TEMPLATES.map(|(name, _, text)| Template {
        name: name.into(),
        text: text.into(),
    });
    plugins
        .render(None, &templates, context)
        .map(|(files, _)| files)
        .map_err(|error| anyhow!("{error:?}"))
}

fn ruby(directory: &Path, template: &str) -> Command {
    let mut command = Command::new("ruby");
    command
        .arg(root().join("tests/benches/speed/native.rb"))
        .arg(template)
        .arg("context.json")
        .current_dir(directory);
    command
}

fn rubies(directory: &Path) -> Result<f64> {
    synthetic::TEMPLATES
        .iter()
        .map(|(name, ..)| Ok(process(&mut ruby(directory, name))?.wall))
        .sum()
}

/// Otherwise a fast wrong answer would win.
fn same_as_native(ours: &[Rendered], directory: &Path) -> Result<()> {
    for file in ours {
        let output = ruby(directory, &file.name).output()?;
        let native = String::from_utf8_lossy(&output.stdout);
        ensure!(
            native == file.content,
            "{}: native ruby gives\n{native}{}\nand we\n{}",
            file.name,
            String::from_utf8_lossy(&output.stderr),
            file.content
        );
    }
    Ok(())
}
