//! Two builds in turns: this one, and the one in the environment variable `BEFORE` (the path of its `host`, with its
//! plugins beside that folder). Only this shows a change of a few percent.

use crate::measure::{CONVERT, Process, Sample, fed, host, process, program};
use crate::table::Row;
use anyhow::Result;
use boson_tests::{synthetic, templates};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const PAIRS: usize = 9;
/// Templates of a batch: enough that starting does not count.
const TEMPLATES: usize = 400;
const GROUPS: usize = 25;

/// Ratios of this build to the other.
pub fn paired() -> Result<Vec<Row>> {
    let Some(before) = std::env::var_os("BEFORE").map(PathBuf::from) else {
        return Ok(vec![Row::left_out(
            "this build against another",
            "BEFORE=path of its `host`",
        )]);
    };
    let directory = tempfile::tempdir()?;
    synthetic::write_deployment(directory.path(), GROUPS)?;
    process(&mut host(directory.path(), &CONVERT)?)?;
    let mut rows = ratios("`host convert`", &|is_before| {
        if is_before {
            process(&mut program(&before, directory.path(), &CONVERT))
        } else {
            process(&mut host(directory.path(), &CONVERT)?)
        }
    })?;
    let input = directory.path().join("batch.jsonl");
    write_batch(&input)?;
    let batch = ["render", "--batch"];
    rows.extend(ratios("`host render --batch`", &|is_before| {
        if is_before {
            fed(&mut program(&before, directory.path(), &batch), &input)
        } else {
            fed(&mut host(directory.path(), &batch)?, &input)
        }
    })?);
    Ok(rows)
}

/// The kernel's work for a batch of templates: mapping, copying and clearing the pages of fresh instances.
pub fn kernel() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let input = directory.path().join("batch.jsonl");
    write_batch(&input)?;
    let mut parts = Vec::new();
    let mut each = Vec::new();
    for _ in 0..PAIRS {
        let run = fed(&mut host(directory.path(), &["render", "--batch"])?, &input)?;
        parts.push(run.kernel / run.cpu);
        each.push(run.kernel / TEMPLATES as f64);
    }
    let details = format!(
        "median of {PAIRS} runs of {TEMPLATES} templates; {:.2} ms a template",
        Sample::of(each).median()
    );
    let what = "  the kernel's part of the time on cores";
    Ok(vec![Row::below(what, Sample::of(parts).median(), 0.4, "", &details)])
}

fn ratios(what: &str, run: &dyn Fn(bool) -> Result<Process>) -> Result<Vec<Row>> {
    run(true)?;
    run(false)?;
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        pairs.push((run(true)?, run(false)?));
    }
    let ratio = |of: fn(&Process) -> f64| Sample::of(pairs.iter().map(|(before, now)| of(now) / of(before))).median();
    let details = format!(
        "median of {PAIRS} pairs: time on cores; in the kernel {:.2}, by the clock {:.2}",
        ratio(|run| run.kernel),
        ratio(|run| run.wall)
    );
    let what = format!("{what}, this build against another");
    Ok(vec![Row::below(&what, ratio(|run| run.cpu), 1.05, "x", &details)])
}

fn write_batch(path: &Path) -> Result<()> {
    let context: serde_json::Value = serde_json::from_str(synthetic::CONTEXT)?;
    let lines = templates::of_all_sizes(TEMPLATES)
        .into_iter()
        .enumerate()
        .map(|(nth, template)| {
            json!({"id": nth.to_string(), "name": "job/file.erb", "template": template, "context": context}).to_string()
        });
    Ok(fs::write(path, lines.collect::<Vec<_>>().join("\n"))?)
}
