//! The findings of a configuration, all at once.

use std::{
    cell::RefCell,
    fmt,
    path::{Path, PathBuf},
};

use odb_api_types::code::Code;

use super::document::Location;

/// An error or warning: file, location, key, what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFinding {
    /// The file.
    pub file: PathBuf,
    /// Line and column, both counted from one, where they are known.
    pub location: Option<(u64, u64)>,
    /// The full name of the key; empty for the complete file.
    pub key: String,
    /// What is wrong, as the rest of a sentence that begins with the key.
    pub wrong: String,
    /// What would be right; empty if it is obvious.
    pub right: String,
    code: Option<Code>,
}

/// What is wrong, and what would be right unless it is obvious.
pub struct Message {
    pub(super) wrong: String,
    right: String,
}

impl<W: Into<String>, R: Into<String>> From<(W, R)> for Message {
    fn from((wrong, right): (W, R)) -> Self {
        Self {
            wrong: wrong.into(),
            right: right.into(),
        }
    }
}

impl ConfigFinding {
    /// A finding about the complete file.
    pub fn of_file(file: &Path, message: impl Into<Message>) -> Self {
        let Message { wrong, right } = message.into();
        Self {
            file: file.to_owned(),
            location: None,
            key: String::new(),
            wrong,
            right,
            code: None,
        }
    }

    /// The same with its own code.
    #[must_use]
    pub fn with_code(self, code: Code) -> Self {
        let code = Some(code);
        Self { code, ..self }
    }

    /// Its code, unless it is that of all errors in a file, [`Code::ConfigurationInvalid`].
    pub fn code(&self) -> Option<Code> {
        self.code.filter(|code| *code != Code::ConfigurationInvalid)
    }

    /// The key, the error and the expected value.
    pub fn text(&self) -> String {
        let key = match self.key.as_str() {
            "" => String::new(),
            key => format!("`{key}` "),
        };
        match self.right.as_str() {
            "" => format!("{key}{}", self.wrong),
            right => format!("{key}{}; {right}", self.wrong),
        }
    }
}

impl fmt::Display for ConfigFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some((line, column)) = self.location {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.text())
    }
}

/// A configuration that cannot be used, with every reason.
#[derive(Debug, thiserror::Error)]
pub struct InvalidConfig {
    /// The reasons, in the order of the checks. Never empty.
    pub findings: Vec<ConfigFinding>,
    /// The warnings.
    pub warnings: Vec<ConfigFinding>,
}

impl fmt::Display for InvalidConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.findings.len();
        let noun = if count == 1 { "error" } else { "errors" };
        write!(f, "the configuration has {count} {noun}")?;
        for finding in &self.findings {
            write!(f, "\n{finding}")?;
        }
        Ok(())
    }
}

/// A value was present but invalid; its errors are recorded.
pub(super) struct AlreadyReported;

pub(super) struct Problems {
    file: PathBuf,
    rejections: RefCell<Vec<ConfigFinding>>,
    warnings: RefCell<Vec<ConfigFinding>>,
}

impl Problems {
    pub(super) fn of(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            rejections: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// Records an error. Returns `None`, so that a reader can end with it.
    pub(super) fn refuse<T>(
        &self,
        location: Location,
        key: &str,
        message: impl Into<Message>,
    ) -> Option<T> {
        let finding = self.finding(location, key, message);
        let mut rejections = self.rejections.borrow_mut();
        // A section that two readers look at is refused once.
        if !rejections.contains(&finding) {
            rejections.push(finding);
        }
        None
    }

    pub(super) fn warning(&self, location: Location, key: &str, message: impl Into<Message>) {
        let finding = self.finding(location, key, message);
        let mut warnings = self.warnings.borrow_mut();
        // A secret that two readers look at is read twice.
        if !warnings.contains(&finding) {
            warnings.push(finding);
        }
    }

    pub(super) fn are_refused_at(&self, location: Location) -> bool {
        let location = Some((location.line, location.column));
        let rejections = self.rejections.borrow();
        rejections.iter().any(|error| error.location == location)
    }

    pub(super) fn into_parts(self) -> (Vec<ConfigFinding>, Vec<ConfigFinding>) {
        (self.rejections.into_inner(), self.warnings.into_inner())
    }

    /// A finding of a later step, after the file was read.
    pub(super) fn finding(
        &self,
        location: Location,
        key: &str,
        message: impl Into<Message>,
    ) -> ConfigFinding {
        let Location { line, column } = location;
        ConfigFinding {
            location: (location != Location::default()).then_some((line, column)),
            key: key.to_owned(),
            ..ConfigFinding::of_file(&self.file, message)
        }
    }
}
