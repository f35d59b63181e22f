//! Rows and columns for people.

use std::fmt::Write;

/// Lines up the rows below the headings, two spaces between columns.
pub(super) fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let mut widths = headings.map(|heading| heading.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = line(&headings, &widths);
    for row in rows {
        text.push_str(&line(row, &widths));
    }
    text
}

/// A line per name and value, the values lined up.
pub(super) fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0)
        + 1;
    pairs
        .iter()
        .map(|(name, value)| line(&[&format!("{name}:"), value], &[width, 0]))
        .collect()
}

fn line(cells: &[impl AsRef<str>], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        // Writing to a string does not fail.
        let _ = write!(line, "{:<width$}  ", cell.as_ref());
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::{pairs, table};

    #[test]
    fn columns_line_up_and_lines_end_with_their_last_word() {
        let rows = [
            ["cache".to_owned(), String::new()],
            ["é".to_owned(), "small".to_owned()],
        ];
        assert_eq!(
            table(["name", "plan"], &rows),
            "name   plan\ncache\né      small\n"
        );
    }

    #[test]
    fn values_line_up() {
        assert_eq!(
            pairs(&[("a", "1".to_owned()), ("long", "2".to_owned())]),
            "a:     1\nlong:  2\n"
        );
    }
}
