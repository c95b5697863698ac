//! Tables as the BOSH CLI prints them: with header and number of rows on a terminal, only data with tabs into a pipe,
//! and as JSON.

use boson_commands::output::{self, Color};
use boson_pipeline::report::clean;
use clap::Args;
use serde_json::{Map, Value, json};
use std::io::IsTerminal;

const EMPTY_CELL: &str = "-";
/// Shown on a terminal where the first column has the same value as in the row before.
const REPEATED_CELL: &str = "~";
const TERMINAL_BORDER: &str = "  ";
/// The default delimiter of `cut`.
const PIPE_BORDER: &str = "\t";
const BOLD: &str = "1";
const GREEN: &str = "32";
const RED: &str = "31";

/// How tables are printed.
#[derive(Args, Clone, Debug, Default)]
pub struct TableArguments {
    /// Show only this column; repeat it for several
    #[arg(long, value_name = "NAME")]
    column: Vec<String>,
    /// Print the result as JSON, in the form of `bosh --json`
    #[arg(long)]
    json: bool,
    /// Print tables into a pipe as on a terminal, with header and number of rows
    #[arg(long)]
    tty: bool,
}

/// A cell. It may have several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    color: Option<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub title: Option<String>,
    /// What it counts: `instances`.
    pub content: &'static str,
    /// How many of these.
    pub count: usize,
    pub header: Vec<&'static str>,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// What a reader has to know about it.
    pub notes: Vec<String>,
}

// === impl TableArguments ===

impl TableArguments {
    /// Prints tables.
    ///
    /// # Errors
    /// No table has a selected column, or the output is closed.
    pub fn print(&self, tables: Vec<Table>, color: Color) -> anyhow::Result<()> {
        let tables = select_columns(tables, &self.column).map_err(anyhow::Error::msg)?;
        if self.json {
            output::print(&json_text(&tables, &[]))?;
        } else if self.is_as_on_terminal() {
            output::print(&on_terminal(&tables, color.enabled_on_output()))?;
        } else {
            let notes = tables.iter().flat_map(|table| &table.notes);
            notes.for_each(|note| output::eprint(&format!("{}\n", clean::line(note))));
            output::print(&in_pipe(&tables))?;
        }
        Ok(())
    }

    /// Whether all columns are printed for a person, who has seen what the command said before.
    pub fn are_for_person(&self) -> bool {
        !self.json && self.column.is_empty() && self.is_as_on_terminal()
    }

    fn is_as_on_terminal(&self) -> bool {
        self.tty || std::io::stdout().is_terminal()
    }
}

// === impl Cell ===

impl Cell {
    /// Green if it is good, otherwise red.
    pub fn state(text: impl Into<String>, is_good: bool) -> Self {
        Self {
            text: text.into(),
            color: Some(if is_good { GREEN } else { RED }),
        }
    }

    /// A line for each of these.
    pub fn lines(lines: &[String]) -> Self {
        lines.join("\n").into()
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            color: None,
        }
    }
}

// === impl Table ===

impl Table {
    /// A table that counts its rows.
    pub fn new(content: &'static str, header: &[&'static str], rows: Vec<Vec<Cell>>) -> Self {
        Self {
            content,
            count: rows.len(),
            header: header.to_vec(),
            rows,
            ..Self::default()
        }
    }

    /// Only these columns, in the order of the table.
    fn with_columns(mut self, wanted: &[String]) -> Self {
        for row in &mut self.rows {
            let mut titles = self.header.iter();
            row.retain(|_| titles.next().is_some_and(|title| is_any(title, wanted)));
        }
        self.header.retain(|title| is_any(title, wanted));
        self
    }

    fn tree(&self) -> Value {
        let header = self.header.iter().map(|title| (key(title), json!(title)));
        let row = |row: &Vec<Cell>| {
            let cells = self.header.iter().zip(row);
            let members = cells.map(|(title, cell)| (key(title), json!(cell.text)));
            Value::Object(members.collect())
        };
        let notes = (!self.notes.is_empty()).then_some(&self.notes);
        json!({
            "Content": self.content,
            "Header": header.collect::<Map<String, Value>>(),
            "Rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "Notes": notes,
        })
    }
}

/// The tables with these columns; without columns: all. A table without one of them is left out.
fn select_columns(tables: Vec<Table>, wanted: &[String]) -> Result<Vec<Table>, String> {
    if wanted.is_empty() || tables.is_empty() {
        return Ok(tables);
    }
    let mut keys: Vec<String> = Vec::new();
    for title in tables.iter().flat_map(|table| &table.header) {
        let key = key(title);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if let Some(unknown) = wanted.iter().find(|name| !keys.contains(&key(name))) {
        return Err(format!("there is no column '{unknown}'; columns: {}", keys.join(", ")));
    }
    let with_columns = tables.into_iter().map(|table| table.with_columns(wanted));
    Ok(with_columns.filter(|table| !table.header.is_empty()).collect())
}

fn is_any(title: &str, wanted: &[String]) -> bool {
    wanted.iter().any(|name| key(name) == key(title))
}

/// The name of a column in JSON: `process_state` for `Process State`.
fn key(title: &str) -> String {
    let words = title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

/// The form of `bosh --json`.
pub fn json_text(tables: &[Table], blocks: &[String]) -> String {
    let tables: Vec<Value> = tables.iter().map(Table::tree).collect();
    let or_null = |is_empty: bool, list: Value| if is_empty { Value::Null } else { list };
    let result = json!({
        "Tables": or_null(tables.is_empty(), json!(tables)),
        "Blocks": or_null(blocks.is_empty(), json!(blocks)),
        "Lines": [],
    });
    format!("{result:#}\n")
}

fn on_terminal(tables: &[Table], colored: bool) -> String {
    let texts = tables.iter().map(|table| {
        let title = table.title.iter().map(|title| format!("{}\n\n", clean::line(title)));
        let header = table.header.iter().map(|title| Cell::from(*title)).collect();
        let mut text: String = title.collect();
        text.push_str(&lines(
            &[header],
            &without_repetitions(&table.rows),
            TERMINAL_BORDER,
            colored,
        ));
        if !table.notes.is_empty() {
            text.push('\n');
        }
        table
            .notes
            .iter()
            .for_each(|note| text.push_str(&format!("{}\n", clean::line(note))));
        text + &format!("\n{} {}\n", table.count, table.content)
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn in_pipe(tables: &[Table]) -> String {
    let texts = tables.iter().map(|table| lines(&[], &table.rows, PIPE_BORDER, false));
    texts.collect()
}

fn without_repetitions(rows: &[Vec<Cell>]) -> Vec<Vec<Cell>> {
    let mut last = None;
    let mut rows = rows.to_vec();
    for first in rows.iter_mut().filter_map(|row| row.first_mut()) {
        if last.as_ref() == Some(first) {
            *first = REPEATED_CELL.into();
        } else {
            last = Some(first.clone());
        }
    }
    rows
}

/// The lines of header and rows. As in BOSH, the last column has a border, too, but is not filled up.
fn lines(header: &[Vec<Cell>], rows: &[Vec<Cell>], border: &str, colored: bool) -> String {
    let split = |row: &Vec<Cell>| -> Vec<Vec<String>> { row.iter().map(lines_of_cell).collect() };
    let all: Vec<(&Vec<Cell>, Vec<Vec<String>>)> = header.iter().chain(rows).map(|row| (row, split(row))).collect();
    let width = |column: usize| {
        let cells = all.iter().filter_map(|(_, cells)| cells.get(column));
        cells.flatten().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let columns = all.iter().map(|(row, _)| row.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, (row, cells)) in all.iter().enumerate() {
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let part = cells.get(column).and_then(|lines| lines.get(line));
                let part = part.map_or("", String::as_str);
                let color = if number < header.len() { Some(BOLD) } else { cell.color };
                match color.filter(|_| colored && !part.is_empty()) {
                    Some(color) => text.push_str(&format!("\u{1b}[{color}m{part}\u{1b}[0m")),
                    None => text.push_str(part),
                }
                if column + 1 < row.len() {
                    text.push_str(&" ".repeat(width - part.chars().count()));
                }
                text.push_str(border);
            }
            text.push('\n');
        }
    }
    text
}

/// Cleaned: users choose the names of objects, and everybody who may write one what is in its status.
fn lines_of_cell(cell: &Cell) -> Vec<String> {
    if cell.text.is_empty() {
        return vec![EMPTY_CELL.into()];
    }
    cell.text.lines().map(clean::line).collect()
}

/// Both forms of a table, for tests of the commands.
#[cfg(test)]
pub mod forms {
    use super::*;

    /// The lines on a terminal, without spaces at their ends.
    pub fn on_terminal(table: &Table) -> Vec<String> {
        let text = super::on_terminal(std::slice::from_ref(table), false);
        text.lines().map(|line| line.trim_end().to_string()).collect()
    }

    /// The header and the rows of its JSON, with bars between the cells.
    pub fn in_json(table: &Table) -> Vec<String> {
        let found: Value = serde_json::from_str(&json_text(std::slice::from_ref(table), &[])).unwrap();
        let found = &found["Tables"][0];
        let header = found["Header"].as_object().unwrap();
        let row = |row: &Value| {
            let cells = header.keys().map(|key| row[key].as_str().unwrap());
            cells.collect::<Vec<_>>().join("|")
        };
        let keys = header.keys().map(String::as_str).collect::<Vec<_>>().join("|");
        let rows = found["Rows"].as_array().unwrap().iter().map(row);
        std::iter::once(keys).chain(rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row =
            |name: &str, state: &str, ips: &str| vec![name.into(), Cell::state(state, state == "running"), ips.into()];
        let rows = vec![
            row("web/0", "running", "10.0.0.1\nfd00::1"),
            row("web/0", "failing", ""),
            row("worker/10", "running", "10.0.0.2\u{1b}[2J"),
        ];
        Table::new("instances", &["Instance", "Process State", "IPs"], rows)
    }

    #[test]
    fn a_terminal_gets_header_and_number_and_no_repeated_name() {
        let mut table = table();
        table.title = Some("Deployment 'nats'".into());
        let text = on_terminal(std::slice::from_ref(&table), false);
        let wanted = [
            "Deployment 'nats'",
            "",
            "Instance   Process State  IPs  ",
            "web/0      running        10.0.0.1  ",
            "                          fd00::1  ",
            "~          failing        -  ",
            "worker/10  running        10.0.0.2␛[2J  ",
            "",
            "3 instances",
            "",
        ];
        assert_eq!(text, wanted.join("\n"));
        let text = on_terminal(&[table], true);
        assert!(text.contains("\u{1b}[1mInstance\u{1b}[0m   "), "{text}");
        assert!(text.contains("\u{1b}[31mfailing\u{1b}[0m        -"), "{text}");
        assert!(text.contains("\u{1b}[32mrunning\u{1b}[0m        "), "{text}");
    }

    #[test]
    fn a_pipe_gets_data_with_tabs() {
        let text = in_pipe(&[table()]);
        let wanted = [
            "web/0    \trunning\t10.0.0.1\t",
            "         \t       \tfd00::1\t",
            "web/0    \tfailing\t-\t",
            "worker/10\trunning\t10.0.0.2␛[2J\t",
            "",
        ];
        assert_eq!(text, wanted.join("\n"));
    }

    #[test]
    fn json_has_the_form_of_bosh() {
        let tables = select_columns(vec![table()], &["instance".into(), "Process State".into()]).unwrap();
        let found: Value = serde_json::from_str(&json_text(&tables, &[])).unwrap();
        let row = |name: &str, state: &str| json!({"instance": name, "process_state": state});
        let wanted = json!({
            "Tables": [{
                "Content": "instances",
                "Header": {"instance": "Instance", "process_state": "Process State"},
                "Rows": [row("web/0", "running"), row("web/0", "failing"), row("worker/10", "running")],
                "Notes": null,
            }],
            "Blocks": null,
            "Lines": [],
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn unknown_columns_are_errors_and_tables_without_the_columns_are_left_out() {
        let other = Table::new("problems", &["Pod"], Vec::new());
        let found = select_columns(vec![table(), other.clone()], &["pod".into()]).unwrap();
        assert_eq!(found, [other]);
        let why = select_columns(vec![table()], &["vm_cid".into()]).unwrap_err();
        assert_eq!(
            why,
            "there is no column 'vm_cid'; columns: instance, process_state, ips"
        );
    }
}
