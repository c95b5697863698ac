//! The table: name, measured value, target, and whether it is met.

use std::fs;

pub struct Row {
    what: String,
    measured: String,
    target: String,
    met: Option<bool>,
}

// === impl Row ===

impl Row {
    /// A value that must not exceed a limit. `details`: how it was measured, and other facts.
    pub fn below(what: &str, value: f64, limit: f64, unit: &str, details: &str) -> Self {
        let measured = format!("{} {unit}, {details}", short(value));
        Self {
            what: what.into(),
            measured,
            target: format!("< {} {unit}", short(limit)),
            met: Some(value < limit),
        }
    }

    /// A value that must reach a limit.
    pub fn at_least(what: &str, value: f64, limit: f64, unit: &str, details: &str) -> Self {
        let measured = format!("{} {unit}, {details}", short(value));
        Self {
            what: what.into(),
            measured,
            target: format!(">= {} {unit}", short(limit)),
            met: Some(value >= limit),
        }
    }

    /// A part of the row above, without a target of its own.
    pub fn part(what: &str, measured: &str) -> Self {
        Self {
            what: what.into(),
            measured: measured.into(),
            target: "-".into(),
            met: None,
        }
    }

    /// A row that cannot be measured here.
    pub fn left_out(what: &str, why: &str) -> Self {
        Self::part(what, why)
    }
}

/// Three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Prints the rows, and below them the load of the machine.
#[allow(clippy::print_stdout, reason = "a table for people is all that this program is for")]
pub fn print(rows: &[Row]) {
    let width = |column: fn(&Row) -> &str, title: &str| {
        rows.iter()
            .map(|row| column(row).chars().count())
            .chain([title.len()])
            .max()
            .unwrap_or(0)
    };
    let (what, measured, target) = (
        width(|row| &row.what, "what"),
        width(|row| &row.measured, "measured"),
        width(|row| &row.target, "target"),
    );
    println!("{:what$} | {:measured$} | {:target$} | ", "what", "measured", "target");
    println!("{:-<what$}-|-{:-<measured$}-|-{:-<target$}-|-----", "", "", "");
    for row in rows {
        let verdict = row.met.map_or("-", |met| if met { "ok" } else { "over" });
        println!(
            "{:what$} | {:measured$} | {:target$} | {verdict}",
            row.what, row.measured, row.target
        );
    }
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split(' ').take(3).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "\n{cores} cores, load average {} at the end; above {cores} the machine was busy with other things, and times are too long",
        load.join(" ")
    );
}
