//! Versions of charts: kept as text, with the strict version that platforms need.

use std::fmt;

use semver::Version;

/// The version of a chart as its author wrote it, and as a strict semantic version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartVersion {
    text: String,
    strict: Version,
}

impl ChartVersion {
    /// Reads what Helm takes: `1`, `v1.2` and `01.2.3` are versions, too.
    pub fn parse(text: &str) -> Option<Self> {
        let loose = text.strip_prefix('v').unwrap_or(text);
        let end = loose.find(['-', '+']).unwrap_or(loose.len());
        let (numbers, rest) = loose.split_at(end);
        let mut strict = Vec::new();
        for number in numbers.split('.') {
            if number.is_empty() || !number.bytes().all(|digit| digit.is_ascii_digit()) {
                return None;
            }
            let digits = number.trim_start_matches('0');
            strict.push(if digits.is_empty() { "0" } else { digits });
        }
        if strict.len() > 3 {
            return None;
        }
        strict.resize(3, "0");
        let strict = Version::parse(&format!("{}{rest}", strict.join("."))).ok()?;
        Some(Self {
            text: text.to_owned(),
            strict,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn strict(&self) -> &Version {
        &self.strict
    }
}

impl fmt::Display for ChartVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::ChartVersion;

    #[test]
    fn the_versions_that_helm_takes_have_a_strict_form() {
        for (text, strict) in [
            ("18.1.0", "18.1.0"),
            ("1", "1.0.0"),
            ("1.2", "1.2.0"),
            ("v1.2", "1.2.0"),
            ("01.2.3", "1.2.3"),
            ("0.1.1+master", "0.1.1+master"),
            ("1.2-rc.1", "1.2.0-rc.1"),
        ] {
            let version = ChartVersion::parse(text).expect(text);
            assert_eq!(version.strict().to_string(), strict);
            assert_eq!(version.to_string(), text);
        }
        for text in ["one", "", "1.2.3.4", "1..2", "1.x", "1.2.3-"] {
            assert_eq!(ChartVersion::parse(text), None, "{text}");
        }
    }
}
