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
    file: PathBuf,
    location: Option<Location>,
    key: String,
    message: Message,
    code: Option<Code>,
}

/// What is wrong, and what would be right unless it is obvious.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub(super) wrong: String,
    pub(super) right: String,
}

impl<W: Into<String>, R: Into<String>> From<(W, R)> for Message {
    fn from((wrong, right): (W, R)) -> Self {
        Self {
            wrong: wrong.into(),
            right: right.into(),
        }
    }
}

impl From<String> for Message {
    fn from(wrong: String) -> Self {
        (wrong, "").into()
    }
}

impl From<&str> for Message {
    fn from(wrong: &str) -> Self {
        (wrong, "").into()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.right.as_str() {
            "" => f.write_str(&self.wrong),
            right => write!(f, "{}; {right}", self.wrong),
        }
    }
}

impl ConfigFinding {
    /// A finding about the complete file.
    pub fn of_file(file: &Path, message: impl Into<Message>) -> Self {
        Self {
            file: file.to_owned(),
            location: None,
            key: String::new(),
            message: message.into(),
            code: None,
        }
    }

    /// The same with its own code.
    #[must_use]
    pub fn with_code(self, code: Code) -> Self {
        Self {
            code: Some(code),
            ..self
        }
    }

    /// Its code, unless it is that of all errors in a file, [`Code::ConfigurationInvalid`].
    pub fn code(&self) -> Option<Code> {
        self.code.filter(|code| *code != Code::ConfigurationInvalid)
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Line and column, both counted from one, where they are known.
    pub fn location(&self) -> Option<(u64, u64)> {
        self.location
            .map(|location| (location.line, location.column))
    }

    /// The full name of the key; empty for the complete file.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The key, the error and the expected value.
    pub fn text(&self) -> String {
        if self.key.is_empty() {
            self.message.to_string()
        } else {
            format!("`{}` {}", self.key, self.message)
        }
    }

    /// What is wrong, as the rest of a sentence that begins with the key.
    pub fn wrong(&self) -> &str {
        &self.message.wrong
    }

    /// What would be right; empty if it is obvious.
    pub fn right(&self) -> &str {
        &self.message.right
    }
}

impl fmt::Display for ConfigFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(location) = self.location {
            write!(f, "{}:{}:", location.line, location.column)?;
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

/// Collects while the sections are read.
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
        let finding = self.finding(location, key, message.into());
        let mut rejections = self.rejections.borrow_mut();
        // A section that two readers look at is refused once.
        if !rejections.contains(&finding) {
            rejections.push(finding);
        }
        None
    }

    /// Records a warning.
    pub(super) fn warning(&self, location: Location, key: &str, message: impl Into<Message>) {
        self.warnings
            .borrow_mut()
            .push(self.finding(location, key, message.into()));
    }

    /// Whether a location has an error.
    pub(super) fn are_refused_at(&self, location: Location) -> bool {
        let rejections = self.rejections.borrow();
        rejections
            .iter()
            .any(|rejection| rejection.location == Some(location))
    }

    /// The errors and the warnings.
    pub(super) fn into_parts(self) -> (Vec<ConfigFinding>, Vec<ConfigFinding>) {
        (self.rejections.into_inner(), self.warnings.into_inner())
    }

    /// A finding of a later step, after the file was read.
    pub(super) fn finding(&self, location: Location, key: &str, message: Message) -> ConfigFinding {
        ConfigFinding {
            file: self.file.clone(),
            location: (location != Location::default()).then_some(location),
            key: key.to_owned(),
            message,
            code: None,
        }
    }
}
