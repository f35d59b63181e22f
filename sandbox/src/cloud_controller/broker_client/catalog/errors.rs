//! The errors of a catalog.

use std::fmt;

/// The errors of a catalog, a service, a plan or its schemas, with those of its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cloud_controller) struct CatalogErrors {
    found: Vec<String>,
    below: Vec<(String, CatalogErrors)>,
}

impl CatalogErrors {
    pub(super) fn are_none(&self) -> bool {
        self.found.is_empty() && self.below.is_empty()
    }

    pub(super) fn say(&mut self, error: impl Into<String>) {
        self.found.push(error.into());
    }

    /// Takes over what was found below, under a heading.
    pub(super) fn below(&mut self, heading: impl Into<String>, found: Self) {
        if !found.are_none() {
            self.below.push((heading.into(), found));
        }
    }

    /// Takes over what was found elsewhere on this level.
    pub(super) fn append(&mut self, mut other: Self) {
        self.found.append(&mut other.found);
        self.below.append(&mut other.below);
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = 2 * depth;
        for error in &self.found {
            writeln!(f, "{:indent$}{error}", "")?;
        }
        for (heading, below) in &self.below {
            writeln!(f, "{:indent$}{heading}", "")?;
            below.write(f, depth + 1)?;
        }
        Ok(())
    }
}

/// A line each, those below indented.
impl fmt::Display for CatalogErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}
