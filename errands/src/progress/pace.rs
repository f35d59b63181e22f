//! The rate, and the remaining time.

use std::{fmt, time::Duration};

/// The rate of operations. They take minutes each, so the rate covers the complete process and not the last seconds.
/// Operations finished before the start are not counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) done: u64,
    pub(super) total: u64,
    pub(super) elapsed: Duration,
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

/// Seconds, to two units.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
