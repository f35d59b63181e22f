//! What a check found: of a start, of upstreams, of an offer.

use std::{borrow::Cow, error::Error, fmt};

use odb_redaction::Chain;
use serde::Serialize;

use crate::code::Code;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    Error,
}

/// A place in a file. Line and column begin at one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    pub file: String,
    pub line: Option<u64>,
    pub column: Option<u64>,
}

impl Location {
    /// The file as a whole.
    pub fn file(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: None,
            column: None,
        }
    }
}

/// `FILE:LINE:COLUMN`, as far as it is known.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

/// One result of a start, `check`, `doctor`, or of the check of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub code: Code,
    /// The key of the configuration to check first, if there is one.
    pub key: Option<Cow<'static, str>>,
    /// What was tried; empty for a finding that only `check` shows.
    pub tried: String,
    /// What that means. It names the upstream, because a start shows it alone.
    pub found: String,
    /// The causes of that, in one line; empty where `found` says all.
    pub cause: String,
    pub remedy: String,
    pub is_in_file: bool,
    /// The place in an author's file.
    pub location: Option<Location>,
}

impl Finding {
    pub fn error(
        code: Code,
        key: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            key: Some(key.into()),
            ..Self::tried(code, None, "", found, remedy)
        }
    }

    pub fn tried(
        code: Code,
        key: Option<&'static str>,
        tried: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            code,
            key: key.map(Cow::Borrowed),
            tried: tried.into(),
            found: found.into(),
            cause: String::new(),
            remedy: remedy.into(),
            is_in_file: false,
            location: None,
        }
    }

    #[must_use]
    pub fn warning(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }

    /// A finding in an author's file. `key` is the path of the value there, if it is about one.
    pub fn located(
        code: Code,
        location: Location,
        key: Option<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            key: key.map(Cow::Owned),
            is_in_file: true,
            location: Some(location),
            ..Self::tried(code, None, "", found, remedy)
        }
    }

    #[must_use]
    pub fn because(mut self, error: &(dyn Error + 'static)) -> Self {
        self.cause = Chain(error).to_string();
        self
    }

    /// What came of what was tried.
    pub fn came(&self) -> &str {
        match self.cause.as_str() {
            "" => &self.found,
            cause => cause,
        }
    }

    pub fn found_because(&self) -> String {
        match self.cause.as_str() {
            "" => self.found.clone(),
            cause => format!("{}: {cause}", self.found),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.found_because(), self.remedy)
    }
}

impl Error for Finding {}

/// Lets `?` end a check with one finding.
impl From<Finding> for Vec<Finding> {
    fn from(finding: Finding) -> Self {
        vec![finding]
    }
}
