//! Text in columns.

/// A line for each row; the cells of a column are as wide as its longest.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The same, indented, without control characters: whoever made a plugin chooses such texts.
pub fn indented<const N: usize>(rows: &[[String; N]]) -> String {
    let clean = |text: &String| text.chars().filter(|c| !c.is_control()).collect::<String>();
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(clean)).collect();
    columns(&rows).lines().map(|line| format!("  {line}\n")).collect()
}

/// A section with a title.
pub fn section<const N: usize>(title: &str, rows: &[[String; N]]) -> String {
    match rows {
        [] => format!("\n{title}: none\n"),
        rows => format!("\n{title}:\n{}", indented(rows)),
    }
}
