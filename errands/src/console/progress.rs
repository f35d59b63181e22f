//! How far an errand has come: a bar with rate and estimate where stderr is a terminal, else a plain line per event.

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::{Console, harmless};

/// The progress bar with its texts: `upgrading ━━━╸ 12/1000 · 3.1/min · about 5 h left · name of the last one`, cut to
/// the width of the terminal. Failures follow the pace: `· 2 failed`.
const TEMPLATE: &str = "{prefix} {bar:24} {pos}/{len} · {pace}{failures}{wide_msg}";

/// The progress of an errand. Dropping it removes its bar.
#[derive(Debug)]
pub struct Progress {
    console: Console,
    bar: Option<ProgressBar>,
    failures: Arc<AtomicUsize>,
}

impl Progress {
    /// Starts: `activity` is the verb for each of the `total`. Those that were done earlier do not count for the rate.
    pub fn begin(
        console: &Console,
        activity: &'static str,
        total: usize,
        already_done: usize,
    ) -> Self {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let already_done = count(already_done);
        let failures = Arc::<AtomicUsize>::default();
        let bar = console.screen().bar(count(total)).inspect(|bar| {
            bar.set_style(style(Instant::now(), already_done, failures.clone()));
            bar.set_position(already_done);
            bar.set_prefix(activity);
            bar.tick();
        });
        Self {
            console: console.clone(),
            bar,
            failures,
        }
    }

    /// Reports an event in one line. On a terminal it is part of the bar, until the next event replaces it.
    pub fn event(&self, text: &str) {
        match &self.bar {
            Some(bar) => {
                let text = harmless(text).replace('\n', " ");
                bar.set_message(format!(" · {text}"));
            }
            None => self.console.log(text),
        }
    }

    /// Counts a failure; the bar shows how many there are.
    pub fn fail(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// One more is done.
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

fn style(began: Instant, already_done: u64, failures: Arc<AtomicUsize>) -> ProgressStyle {
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
        .with_key(
            "failures",
            move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let failures = failures.load(Ordering::Relaxed);
                if failures > 0 {
                    let _ = write!(out, " · {failures} failed");
                }
            },
        )
}

/// The rate of operations. They take minutes each, so the rate covers the complete process and not the last seconds.
/// Operations finished before the start are not counted.
#[derive(Clone, Copy, Debug)]
struct Pace {
    done: u64,
    total: u64,
    elapsed: Duration,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.done == 0 || self.elapsed.is_zero() {
            return f.write_str("no estimate yet");
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "fleets are smaller than a quadrillion"
        )]
        let per_minute = self.done as f64 * 60.0 / self.elapsed.as_secs_f64();
        let left = u128::from(self.total.saturating_sub(self.done));
        let left = self.elapsed.as_millis() * left / u128::from(self.done) / 1000;
        let left = u64::try_from(left).unwrap_or(u64::MAX);
        write!(f, "{per_minute:.1}/min · about {} left", Rough(left))
    }
}

struct Rough(u64);

impl fmt::Display for Rough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds @ 0..MINUTE => write!(f, "{seconds} s"),
            seconds @ MINUTE..HOUR => write!(f, "{} min", seconds.div_ceil(MINUTE)),
            seconds => write!(f, "{} h {} min", seconds / HOUR, seconds % HOUR / MINUTE),
        }
    }
}
