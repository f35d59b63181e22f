//! How long something may take.

use std::time::Duration;

use jiff::SignedDuration;

/// A duration as people write it: `90m`, or a number of seconds. For flags.
///
/// # Errors
///
/// It is none, or nothing.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let written = || {
        let parsed: SignedDuration = text.parse().ok()?;
        Duration::try_from(parsed).ok()
    };
    seconds
        .or_else(written)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "give a number of seconds, or a duration such as 90m or 4h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_of_seconds_and_units_can_be_given() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("90m", 5400), ("1h30m", 5400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "0", "0s", "-90", "-1m", "soon", "90 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
