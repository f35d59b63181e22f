//! The format of a release's version.

use std::{fmt, str::FromStr};

/// The version of a release, as a Director takes it: `RELEASE[-PRE][+POST]`, each of dotted components.
///
/// A Director reads components of digits as numbers and writes them without leading zeros, so that `1.07` would arrive
/// under another name; such versions are refused here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReleaseVersion(String);

/// A text that is no version of a release.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{version}` is no version of a release: {error}; write it like `1.4.0`, `1.4.0-rc.1` or `1.4.0+g1a2b3c4`"
)]
pub(crate) struct InvalidVersion {
    version: String,
    error: &'static str,
}

impl ReleaseVersion {
    /// The version of a build of that commit, for want of a better name. The `g` keeps a hash of digits a text.
    pub(crate) fn of_commit(release: &str, commit: &str) -> Result<Self, InvalidVersion> {
        let short: String = commit.chars().take(7).collect();
        format!("{release}+g{short}").parse()
    }

    /// The same with another component at its end, for content that no commit names.
    pub(crate) fn with_component(&self, component: &str) -> Result<Self, InvalidVersion> {
        let separator = if self.0.contains('+') { '.' } else { '+' };
        format!("{}{separator}{component}", self.0).parse()
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ReleaseVersion {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match error_of(text) {
            Some(error) => Err(InvalidVersion {
                version: text.to_owned(),
                error,
            }),
            None => Ok(Self(text.to_owned())),
        }
    }
}

fn error_of(text: &str) -> Option<&'static str> {
    let split = |text, separator| match str::split_once(text, separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    };
    let (rest, post) = split(text, '+');
    let (release, pre) = split(rest, '-');
    [Some(release), pre, post]
        .into_iter()
        .flatten()
        .find_map(error_of_segment)
}

fn error_of_segment(segment: &str) -> Option<&'static str> {
    segment.split('.').find_map(|component| {
        let digits = component.bytes().all(|byte| byte.is_ascii_digit());
        let letters = component
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if component.is_empty() {
            Some("a component is empty")
        } else if !letters {
            Some(
                "components hold letters, digits and `_`, with at most one `-` and, after it, one `+` between them",
            )
        } else if digits && component.len() > 1 && component.starts_with('0') {
            Some("a component of digits begins with `0`")
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_directors_take_them_are_taken() {
        for version in [
            "1",
            "0.1.0",
            "1.4.0-rc.1",
            "1.4.0+g1a2b3c4",
            "1.4.0-rc.1+dev.12",
            "2.0_beta",
        ] {
            assert_eq!(
                version
                    .parse::<ReleaseVersion>()
                    .map(|v| v.to_string())
                    .ok(),
                Some(version.to_owned())
            );
        }
    }

    #[test]
    fn versions_that_a_director_refuses_or_renames_are_refused() {
        for version in [
            "", ".", "1.", "1..2", "1-", "1+", "+1", "1-a-b", "1+a+b", "1+a-b", "1 2", "1/2", "ä",
            "1.07", "1+0123",
        ] {
            assert!(version.parse::<ReleaseVersion>().is_err(), "{version}");
        }
    }

    #[test]
    fn a_commit_of_digits_stays_the_text_it_is() -> Result<(), InvalidVersion> {
        let version = ReleaseVersion::of_commit("0.1.0", "0123456789")?;
        assert_eq!(version.to_string(), "0.1.0+g0123456");
        assert_eq!(
            version.with_component("c0ffee00")?.to_string(),
            "0.1.0+g0123456.c0ffee00"
        );
        Ok(())
    }
}
