use std::error::Error;
use std::fmt;
use std::path::Path;

/// Why something cannot be done, for the person who asked for it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct KitError {
    message: String,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl KitError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn because(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            message: message.into(),
            source: Some(source.into()),
        }
    }

    /// A file or folder with which something could not be done, such as `could not read`.
    pub(crate) fn of_file(failure: &str, path: &Path, source: std::io::Error) -> Self {
        Self::because(format!("{failure} `{}`", path.display()), source)
    }
}

/// An error and its causes, joined by colons.
pub(crate) struct Chain<'e>(pub(crate) &'e dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        self.0
            .source()
            .map_or(Ok(()), |cause| write!(f, ": {}", Chain(cause)))
    }
}
