//! How far an errand has come: a bar with rate and estimate where stderr is a terminal, else a plain line per event.

mod pace;
mod screen;
#[cfg(test)]
mod tests;

pub use screen::Screen;

use std::time::Instant;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::Console;
use pace::Pace;

/// The progress bar with its texts: `upgrading ━━━╸ 12/1000 · 3.1/min · about 5 h left · name of the last one`, cut to
/// the width of the terminal.
const TEMPLATE: &str = "{prefix} {bar:24} {pos}/{len} · {pace}{wide_msg}";

/// The progress of an errand. Dropping it removes its bar.
#[derive(Debug)]
pub struct Progress {
    console: Console,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts: `activity` is the verb for each of the `total`.
    pub fn begin(console: &Console, activity: &'static str, total: u64) -> Self {
        Self::resume(console, activity, total, 0)
    }

    /// Begins after this many of `total` were done earlier. They do not count for the rate.
    pub fn resume(
        console: &Console,
        activity: &'static str,
        total: u64,
        already_done: u64,
    ) -> Self {
        let bar = console.screen().bar(total).inspect(|bar| {
            bar.set_style(style(Instant::now(), already_done));
            bar.set_position(already_done);
            bar.set_prefix(activity);
            bar.tick();
        });
        Self {
            console: console.clone(),
            bar,
        }
    }

    /// Reports an event in one line. On a terminal it is part of the bar, until the next event replaces it.
    pub fn event(&self, text: &str) {
        match &self.bar {
            Some(bar) => {
                let text = crate::console::harmless(text).replace('\n', " ");
                bar.set_message(format!(" · {text}"));
            }
            None => self.console.say(text),
        }
    }

    /// Another one is done.
    pub fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(began: Instant, already_done: u64) -> ProgressStyle {
    ProgressStyle::with_template(TEMPLATE)
        .expect("the template is a constant of this file")
        .progress_chars("━╸─")
        .with_key(
            "pace",
            move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let pace = Pace {
                    done: state.pos().saturating_sub(already_done),
                    total: state.len().unwrap_or_default().saturating_sub(already_done),
                    elapsed: began.elapsed(),
                };
                // A bar that cannot be written is not seen either.
                let _ = write!(out, "{pace}");
            },
        )
}
