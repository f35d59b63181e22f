//! Tables for people.

use comfy_table::{Table, presets::NOTHING};

/// The lines of a table: columns as wide as their longest cell and two blanks apart.
pub(crate) fn lines(headings: Vec<&str>, rows: Vec<Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_header(headings)
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}
