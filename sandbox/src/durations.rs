//! Durations as people write them, each with its unit: `1s`, `250ms`, `1h 30m`.

use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a duration with a unit, such as `1s`, `250ms` or `1h 30m`")]
pub struct NotADuration;

pub fn parse(text: &str) -> Result<Duration, NotADuration> {
    let parsed: Result<SignedDuration, _> = text.parse();
    parsed
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or(NotADuration)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map_err(D::Error::custom)
}

/// Writes one as it is read.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let duration = SignedDuration::try_from(*duration).unwrap_or(SignedDuration::MAX);
    serializer.collect_str(&format_args!("{duration:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["250ms", "1m 250ms", "1h 30m", "12h"] {
            let duration = parse(text).unwrap();
            let written = serialize(&duration, serde_json::value::Serializer).unwrap();
            assert_eq!(parse(written.as_str().unwrap()), Ok(duration), "{written}");
        }
        assert_eq!(parse("10"), Err(NotADuration));
        assert_eq!(parse("-1s"), Err(NotADuration));
    }
}
