//! Reading JSON with errors that can be logged: they name the place and never a value.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::redaction::without_values;

/// Why a text could not be read as JSON, without any value of that text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", self.location())]
pub struct Error {
    message: String,
    line: usize,
    column: usize,
}

/// Reads one JSON document.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(Error::from)
}

impl Error {
    /// Line of the error, from 1; `None` if the location is unknown.
    pub fn line(&self) -> Option<usize> {
        (self.line > 0).then_some(self.line)
    }

    /// Column of the error in bytes, from 1; `None` if the location is unknown.
    pub fn column(&self) -> Option<usize> {
        (self.line > 0).then_some(self.column)
    }

    fn location(&self) -> String {
        match self.line() {
            Some(line) => format!(" at line {line} column {}", self.column),
            None => String::new(),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let location = format!(" at line {line} column {column}");
        let message = text.strip_suffix(&location).unwrap_or(&text);
        let message = match error.classify() {
            Category::Data => without_values(message),
            Category::Io | Category::Syntax | Category::Eof => message.to_owned(),
        };
        Self {
            message,
            line,
            column,
        }
    }
}
