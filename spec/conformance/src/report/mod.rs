//! The results of a run: `text` for people, `json` for programs, `junit` for continuous integration.

mod json;
mod junit;
mod text;

use super::{Objection, Outcome, Report};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Junit,
}

#[derive(Debug, thiserror::Error)]
#[error("the report cannot be written as {format}")]
pub struct FormatError {
    format: &'static str,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl Report {
    /// The report as a text that ends with a newline.
    pub fn write(&self, format: Format) -> Result<String, FormatError> {
        match format {
            Format::Text => Ok(text::write(self)),
            Format::Json => json::write(self).map_err(|error| failed("JSON", error)),
            Format::Junit => junit::write(self).map_err(|error| failed("JUnit", error)),
        }
    }
}

fn failed(
    format: &'static str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> FormatError {
    FormatError {
        format,
        source: Box::new(source),
    }
}

/// Why a check did not pass, in one sentence.
fn reason(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Passed => None,
        Outcome::Objected(Objection::NotShown(why)) => Some(why),
        Outcome::Objected(Objection::Broken { what, .. }) => Some(what),
    }
}

fn shown_by(outcome: &Outcome) -> Option<&super::Exchange> {
    match outcome {
        Outcome::Objected(Objection::Broken { exchange, .. }) => exchange.as_deref(),
        Outcome::Objected(Objection::NotShown(_)) | Outcome::Passed => None,
    }
}
