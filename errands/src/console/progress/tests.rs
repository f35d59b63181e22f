use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressDrawTarget, TermLike};

use super::{Pace, Progress};
use crate::console::{Console, Lines, Screen};

/// The content of a terminal of 80 columns.
#[derive(Clone, Debug, Default)]
struct Terminal(Arc<Mutex<Page>>);

#[derive(Debug, Default)]
struct Page {
    rows: Vec<String>,
    row: usize,
}

impl Terminal {
    fn on_page<T>(&self, change: impl FnOnce(&mut Page) -> T) -> T {
        let mut page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row = page.row;
        if page.rows.len() <= row {
            page.rows.resize(row + 1, String::new());
        }
        change(&mut page)
    }

    /// Its rows without the times of lines.
    fn text(&self) -> String {
        let rows = self.on_page(|page| page.rows.clone());
        let rows: Vec<String> = rows
            .iter()
            .map(|row| match row.split_once("] ") {
                Some((program, rest)) if program.starts_with('[') => {
                    format!("{program}] TIME {}", &rest[27..])
                }
                _ => row.trim_end().to_owned(),
            })
            .collect();
        rows.join("\n").trim_end().to_owned()
    }
}

impl Lines for Terminal {
    fn write(&self, line: &str) {
        self.write_line(line).unwrap();
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        80
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.on_page(|page| page.row -= n);
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.on_page(|page| page.row += n);
        Ok(())
    }

    fn move_cursor_right(&self, _n: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _n: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.on_page(|page| {
            let row = page.row;
            page.rows[row].push_str(line);
            page.row += 1;
        });
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.on_page(|page| {
            let row = page.row;
            page.rows[row].push_str(text);
        });
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.on_page(|page| {
            let row = page.row;
            page.rows[row].clear();
        });
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The console on a terminal, or elsewhere.
fn console(terminal: &Terminal, is_terminal: bool) -> Console {
    let target = is_terminal
        .then(|| ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), u8::MAX));
    let screen = Screen::new(target, Arc::new(terminal.clone()));
    Console::new("upgrade-all-service-instances", screen)
}

#[test]
fn a_terminal_has_lines_above_a_bar_and_never_in_it() {
    let terminal = Terminal::default();
    let console = console(&terminal, true);
    let progress = Progress::begin(&console, "upgrading", 4, 0);
    console.log("[instance-1] Result: operation accepted");
    progress.event("instance-1: deploying");
    console.log("[instance-2] Result: operation accepted");

    insta::assert_snapshot!(terminal.text(), @r"
    [upgrade-all-service-instances] TIME [instance-1] Result: operation accepted
    [upgrade-all-service-instances] TIME [instance-2] Result: operation accepted
    upgrading ──────────────────────── 0/4 · no estimate yet · instance-1: deploying
    ");

    drop(progress);
    console.log("FINISHED");
    insta::assert_snapshot!(terminal.text(), @r"
    [upgrade-all-service-instances] TIME [instance-1] Result: operation accepted
    [upgrade-all-service-instances] TIME [instance-2] Result: operation accepted
    [upgrade-all-service-instances] TIME FINISHED
    ");
}

#[test]
fn without_a_terminal_each_event_is_a_plain_line() {
    let terminal = Terminal::default();
    let console = console(&terminal, false);
    let progress = Progress::begin(&console, "upgrading", 4, 0);
    progress.event("instance-1: deploying");
    progress.advance();
    progress.event("instance-2: deploying");
    drop(progress);

    insta::assert_snapshot!(terminal.text(), @r"
    [upgrade-all-service-instances] TIME instance-1: deploying
    [upgrade-all-service-instances] TIME instance-2: deploying
    ");
}

#[test]
fn what_was_done_before_says_nothing_of_how_fast_it_goes() {
    let terminal = Terminal::default();
    let progress = Progress::begin(&console(&terminal, true), "upgrading", 4, 3);
    progress.event("instance-4: deploying");
    let text = terminal.text();
    assert!(text.contains(" 3/4 · no estimate yet · "), "{text}");
}

#[test]
fn rate_and_estimate_are_those_of_the_whole_run() {
    for (done, total, seconds, expected) in [
        (0, 10, 5, "no estimate yet"),
        (1, 10, 0, "no estimate yet"),
        (10, 1000, 60, "10.0/min · about 1 h 39 min left"),
        (500, 1000, 60, "500.0/min · about 1 min left"),
        (3, 4, 90, "2.0/min · about 30 s left"),
        (4, 4, 90, "2.7/min · about 0 s left"),
    ] {
        let pace = Pace {
            done,
            total,
            elapsed: Duration::from_secs(seconds),
        };
        assert_eq!(pace.to_string(), expected);
    }
}
