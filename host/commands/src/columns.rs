//! Text in columns.

use boson_pipeline::report::clean;

/// A line for each row; the cells of a column are as wide as its longest. Cells are cleaned: whoever made a plugin
/// chooses such texts.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let clean = |cell: &String| clean::line(cell);
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(clean)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The same, indented.
pub fn indented<const N: usize>(rows: &[[String; N]]) -> String {
    columns(rows).lines().map(|line| format!("  {line}\n")).collect()
}

pub fn section<const N: usize>(title: &str, rows: &[[String; N]]) -> String {
    match rows {
        [] => format!("\n{title}: none\n"),
        rows => format!("\n{title}:\n{}", indented(rows)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_cleaned_as_all_other_foreign_texts() {
        let cells = ["a\u{1b}[2J".to_string(), "b\u{202e}c\n".to_string()];
        assert_eq!(columns(std::slice::from_ref(&cells)), "a␛[2J  b\\u{202e}c␊\n");
        assert_eq!(indented(&[cells]), "  a␛[2J  b\\u{202e}c␊\n");
    }
}
