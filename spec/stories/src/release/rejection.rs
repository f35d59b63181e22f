//! Why a job cannot be rendered.

use std::fmt;

use serde::Deserialize;

#[derive(Clone, Debug, thiserror::Error)]
pub struct Rejection {
    job: String,
    errors: Vec<Fault>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Fault {
    /// The template's file name; none if it did not come to templates.
    pub template: Option<String>,
    pub line: Option<u32>,
    pub text: String,
}

impl Rejection {
    pub(super) fn new(job: &str, errors: Vec<Fault>) -> Self {
        Self {
            job: job.to_owned(),
            errors,
        }
    }

    pub fn job(&self) -> &str {
        &self.job
    }

    pub fn errors(&self) -> &[Fault] {
        &self.errors
    }

    pub fn texts(&self) -> Vec<&str> {
        self.errors
            .iter()
            .map(|error| error.text.as_str())
            .collect()
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "could not render job `{}`", self.job)?;
        for (position, error) in self.errors.iter().enumerate() {
            let separator = if position == 0 { ": " } else { "; " };
            write!(formatter, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.template, self.line) {
            (Some(template), Some(line)) => {
                write!(formatter, "`{template}`, line {line}: {}", self.text)
            }
            (Some(template), None) => write!(formatter, "`{template}`: {}", self.text),
            (None, _) => formatter.write_str(&self.text),
        }
    }
}
