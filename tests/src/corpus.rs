//! Cases with BOSH's recorded answers, one JSON object a line, and the answers of `host`. The format is described in
//! `tests/corpus/README.md`.

use crate::{Run, host_with_input};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Number of cases, and the differences.
#[derive(Debug, Default)]
pub struct Count {
    cases: usize,
    /// Number of cases without a known answer of BOSH.
    unjudged: usize,
    failed: usize,
    differences: Vec<String>,
}

// === impl Count ===

impl Count {
    /// Adds a case and its difference.
    pub fn add(&mut self, id: &str, difference: Option<String>) {
        self.cases += 1;
        self.differences
            .extend(difference.map(|difference| format!("{id}: {difference}")));
    }

    /// Adds another count.
    pub fn merge(&mut self, other: Self) {
        self.cases += other.cases;
        self.unjudged += other.unjudged;
        self.failed += other.failed;
        self.differences.extend(other.differences);
    }

    /// Whether there are cases, and no difference.
    pub fn is_perfect(&self) -> bool {
        self.cases > 0 && self.differences.is_empty()
    }

    /// One line with the numbers, and the first differences.
    pub fn report(&self, name: &str, shown: usize) -> String {
        let same = self.cases - self.unjudged - self.differences.len();
        let mut report = format!(
            "{name}: {} cases, {same} the same, {} differ",
            self.cases,
            self.differences.len()
        );
        if self.unjudged > 0 {
            report.push_str(&format!(
                ", {} not compared ({} of these failed)",
                self.unjudged, self.failed
            ));
        }
        for difference in self.differences.iter().take(shown) {
            report.push_str(&format!("\n  {}", difference.replace('\n', "\n    ")));
        }
        report
    }
}

/// The cases of a file.
///
/// # Errors
/// The file is missing, or one of its lines is not JSON.
pub fn cases(file: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Renders the templates of a file, all by one `host render --batch`.
///
/// # Errors
/// The file cannot be read, `host` cannot be started, or its answer is not JSON.
pub fn templates(file: &Path) -> Result<Count> {
    let cases = cases(file)?;
    let mut input = String::new();
    for (number, one) in cases.iter().enumerate() {
        let question =
            json!({"id": number, "name": one["name"], "template": one["template"], "context": one["context"]});
        input.push_str(&format!("{question}\n"));
    }
    let ran = host_with_input(Path::new("."), ["render", "--batch"], input.as_bytes())?;
    let mut answers = HashMap::new();
    for line in ran.stdout.lines() {
        let answer: Value = serde_json::from_str(line)?;
        answers.insert(answer["id"].as_u64(), answer);
    }
    let mut count = Count::default();
    for (number, one) in (0..).zip(&cases) {
        let answer = answers.get(&Some(number)).unwrap_or(&Value::Null);
        if one.get("output").or(one.get("error")).is_none() {
            count.unjudged += 1;
            count.failed += usize::from(answer.get("output").is_none());
        }
        count.add(one["id"].as_str().unwrap_or("?"), template(one, answer));
    }
    Ok(count)
}

/// The difference between the recorded answer and ours.
fn template(one: &Value, answer: &Value) -> Option<String> {
    let said = answer["error"]["message"].as_str();
    if let Some(wanted) = one.get("output").and_then(Value::as_str) {
        return match answer["output"].as_str() {
            Some(output) if output == wanted => None,
            Some(output) if one.get("ruby").is_some() && closed(output) == closed(wanted) => None,
            Some(output) => Some(first_difference(wanted, output)),
            None => Some(format!("fails: {}", said.unwrap_or("no answer"))),
        };
    }
    let wanted = one.get("error")?.as_str().unwrap_or("");
    match said {
        None => Some(format!("does not fail: {wanted}")),
        Some(said) if said.contains(wanted) => None,
        Some(said) => Some(format!("says {said:?}, not {wanted:?}")),
    }
}

/// Joins empty brackets: Ruby before 3.4 breaks lines inside them in `JSON.pretty_generate`.
fn closed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let kept = out.trim_end().len();
        if matches!(
            (out[..kept].chars().next_back(), c),
            (Some('{'), '}') | (Some('['), ']')
        ) {
            out.truncate(kept);
        }
        out.push(c);
    }
    out
}

fn first_difference(wanted: &str, got: &str) -> String {
    let end = [None];
    let lines = |text| str::lines(text).map(Some).chain(end).chain(std::iter::repeat(None));
    let pairs = (1..).zip(lines(wanted).zip(lines(got)));
    let most = wanted.lines().count().max(got.lines().count());
    match pairs.take(most).find(|(_, (wanted, got))| wanted != got) {
        Some((number, (wanted, got))) => format!(
            "line {number}\n- {}\n+ {}",
            wanted.unwrap_or("(end)"),
            got.unwrap_or("(end)")
        ),
        None => "other line breaks".to_string(),
    }
}

/// Runs the cases of a file, each by one `host interpolate`.
///
/// # Errors
/// The file cannot be read, or `host` cannot be started.
pub fn interpolations(file: &Path) -> Result<Count> {
    let mut count = Count::default();
    for one in cases(file)? {
        count.add(one["id"].as_str().unwrap_or("?"), interpolation(&one)?);
    }
    Ok(count)
}

fn interpolation(one: &Value) -> Result<Option<String>> {
    let directory = tempfile::tempdir()?;
    for (name, text) in one["files"].as_object().into_iter().flatten() {
        fs::write(directory.path().join(name), text.as_str().unwrap_or(""))?;
    }
    let arguments = one["arguments"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let mut run = Run::new(directory.path(), std::iter::once("interpolate").chain(arguments));
    run.input = one["input"].as_str().unwrap_or("").into();
    run.environment.push(("HOME".into(), directory.path().into()));
    for (name, value) in one["environment"].as_object().into_iter().flatten() {
        run.environment.push((name.into(), value.as_str().unwrap_or("").into()));
    }
    let ran = run.start()?;
    if let Some(wanted) = one.get("output").and_then(Value::as_str) {
        return Ok(match ran.code {
            0 if ran.stdout == wanted => None,
            0 => Some(first_difference(wanted, &ran.stdout)),
            _ => Some(format!("fails: {}", ran.stderr)),
        });
    }
    // If our words differ on purpose, the case has them.
    let wanted = one["ours"].as_str().or(one["error"].as_str()).unwrap_or("");
    let said = ran.stderr.replace(&format!("{}/", directory.path().display()), "");
    Ok(match ran.code {
        1 if words(&said).contains(&words(wanted)) => None,
        1 => Some(format!("says {:?}, not {:?}", words(&said), words(wanted))),
        code => Some(format!("ends with {code}: {said}")),
    })
}

/// A text without its line breaks, indentation and bullets.
fn words(text: &str) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("- "));
    lines.collect::<Vec<_>>().join(" ")
}
