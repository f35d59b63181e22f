//! Tables that fit the terminal: the widest columns are cut, one row stays one line.

use odb_errand::{harmless, table_lines};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Tone;

/// Between two columns.
const GAP: usize = 2;

/// A column is not cut below this.
const NARROWEST: usize = 8;

/// Rows of cells below headings.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<(String, Tone)>>,
}

impl Table {
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self {
            headings: headings.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn add<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter();
        self.add_toned(cells.map(|cell| (cell.into(), Tone::Plain)));
    }

    /// Adds a row whose cells have a meaning. Cells quote other programs and stay in their line.
    pub(crate) fn add_toned(&mut self, cells: impl IntoIterator<Item = (String, Tone)>) {
        let cells = cells.into_iter().map(|(cell, tone)| {
            let words: Vec<&str> = cell.split_whitespace().collect();
            (harmless(&words.join(" ")), tone)
        });
        self.rows.push(cells.collect());
    }

    pub(super) fn text(&self, has_headings: bool, width: Option<usize>, colour: bool) -> String {
        if self.rows.is_empty() && !has_headings {
            return String::new();
        }
        let widths = self.widths(width, has_headings);
        let cut = |row: &Vec<(String, Tone)>| -> Vec<String> {
            let cells = row.iter().zip(&widths);
            cells.map(|((cell, _), width)| cut(cell, *width)).collect()
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(cut).collect();
        let mut lines = table_lines(self.headings.clone(), rows.clone());
        let headings = lines.remove(0);
        let mut text = String::new();
        if has_headings {
            text = headings + "\n";
        }
        for ((line, cells), row) in lines.iter().zip(&rows).zip(&self.rows) {
            let tones = row.iter().map(|(_, tone)| *tone);
            text += &coloured(line, cells.iter().zip(tones), colour);
            text.push('\n');
        }
        text
    }

    /// The width of each column: the widest ones give way until a line fits.
    fn widths(&self, width: Option<usize>, has_headings: bool) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|name| name.width()).collect();
        let headings = widths.clone();
        for row in &self.rows {
            for (width, (cell, _)) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let Some(limit) = width else {
            return widths;
        };
        let gaps = GAP * widths.len().saturating_sub(1);
        let least = |column: usize| {
            let heading = if has_headings { headings[column] } else { 0 };
            heading.max(NARROWEST)
        };
        while widths.iter().sum::<usize>() + gaps > limit {
            let columns = 0..widths.len();
            let widest = columns
                .filter(|column| widths[*column] > least(*column))
                .max_by_key(|column| widths[*column]);
            match widest {
                Some(column) => widths[column] -= 1,
                // The terminal is too narrow for the headings.
                None => break,
            }
        }
        widths
    }
}

/// The cell, or its beginning with an ellipsis.
fn cut(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for letter in cell.chars() {
        used += letter.width().unwrap_or_default();
        if used > width {
            break;
        }
        kept.push(letter);
    }
    kept.push('…');
    kept
}

/// The line with colours around its cells, which follow each other in it.
fn coloured<'c>(
    line: &str,
    cells: impl Iterator<Item = (&'c String, Tone)>,
    has_colour: bool,
) -> String {
    let (mut text, mut rest) = (String::new(), line);
    for (cell, tone) in cells {
        if let Some(at) = rest.find(cell.as_str()) {
            let (before, from) = rest.split_at(at);
            text += before;
            text += &tone.apply(cell, has_colour);
            rest = &from[cell.len()..];
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["NAME", "OPERATION", "DESCRIPTION"]);
        table.add_toned([
            ("cache".to_owned(), Tone::Plain),
            ("upgrade failed".to_owned(), Tone::Bad),
            ("the disk of the first VM is full".to_owned(), Tone::Plain),
        ]);
        table.add(["größe", "", "a\u{1b}[31m\nb"]);
        table
    }

    #[test]
    fn without_a_terminal_nothing_is_cut() {
        assert_eq!(
            table().text(true, None, false),
            "NAME   OPERATION       DESCRIPTION\n\
             cache  upgrade failed  the disk of the first VM is full\n\
             größe                  a\\u{1b}[31m b\n"
        );
    }

    #[test]
    fn on_a_terminal_the_widest_column_gives_way() {
        let text = table().text(true, Some(40), false);
        assert_eq!(
            text,
            "NAME   OPERATION       DESCRIPTION\n\
             cache  upgrade failed  the disk of the …\n\
             größe                  a\\u{1b}[31m b\n"
        );
        assert!(text.lines().all(|line| line.width() <= 40), "{text}");
    }

    #[test]
    fn every_line_fits_any_terminal_that_has_room_for_the_headings() {
        for width in 34..80 {
            let text = table().text(true, Some(width), false);
            assert!(text.lines().all(|line| line.width() <= width), "{text}");
        }
    }

    #[test]
    fn headings_are_left_out_on_request() {
        let text = table().text(false, None, false);
        assert!(text.starts_with("cache "), "{text}");
        assert_eq!(Table::new(&["NAME"]).text(false, None, false), "");
        assert_eq!(Table::new(&["NAME"]).text(true, None, false), "NAME\n");
    }

    #[test]
    fn colours_do_not_move_columns() {
        let (plain, coloured) = (
            table().text(true, None, false),
            table().text(true, None, true),
        );
        assert!(
            coloured.contains("\u{1b}[31mupgrade failed\u{1b}[0m"),
            "{coloured}"
        );
        let without = coloured.replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
        assert_eq!(without, plain);
    }
}
