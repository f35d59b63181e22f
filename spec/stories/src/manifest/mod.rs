//! BOSH manifests as `bosh interpolate` and `bosh deploy` make them: a base, ops files over it, variables in it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`mod@pointer`] | paths such as `/instance_groups/name=broker/jobs/-` |
//! | [`operations`] | ops files: `replace` and `remove` |
//! | [`variables`] | `((names))` and their values |
//! | [`generated`] | what a Director makes for the `variables:` of a manifest |
//! | [`example`] | the variables of the project's own example |
//!
//! The rules are those of <https://bosh.io/docs/cli-ops-files/>, <https://bosh.io/docs/cli-int/> and
//! <https://bosh.io/docs/variable-types/>.

mod example;
mod generated;
mod operations;
mod pointer;
mod variables;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use odb_adapter_sdk::yaml;
use serde_json::Value;

pub use example::find;
pub use generated::GenerationError;
pub use operations::{OperationError, OperationErrorKind, OpsFile};
pub use pointer::{Pointer, PointerError};
pub use variables::{Interpolation, VariableError, Variables};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A manifest, or another document of BOSH such as a cloud config.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    document: Value,
}

/// A file that is to be put together with others is of no use.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("could not read `{}`", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is not YAML, or not of the shape that such a file has.
    #[error("`{file}` is not {kind}")]
    Malformed {
        /// Which.
        file: String,
        /// The expected type.
        kind: &'static str,
        /// Why not.
        #[source]
        source: yaml::Error,
    },
    /// An operation in it means nothing.
    #[error("`{file}` has an operation that means nothing")]
    Operation {
        /// Which.
        file: String,
        /// Why.
        #[source]
        source: Box<OperationError>,
    },
}

/// A manifest could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A variable is at an invalid location.
    #[error("the variables do not fit the manifest")]
    Variable(#[from] VariableError),
    /// An entry of `variables:` cannot be generated.
    #[error("the manifest's `variables` cannot be generated")]
    Generation(#[from] GenerationError),
}

impl Manifest {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Self, FileError> {
        Self::parse(&file.display().to_string(), &text_of(file)?)
    }

    /// Reads a file of this project, such as `manifests/redis.yml`. One that cannot be read fails the test.
    pub fn of_project(file: &str) -> Self {
        Self::read(&in_project(file)).unwrap_or_else(|error| panic!("{error}: {error:?}"))
    }

    /// Reads a text; errors name it by `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        let document = yaml::from_str(text).map_err(|source| FileError::Malformed {
            file: name.to_owned(),
            kind: "a YAML document",
            source,
        })?;
        Ok(Self { document })
    }

    /// The same with all operations of a file carried out, in their order.
    pub fn with_operations(mut self, file: &OpsFile) -> Result<Self, OperationError> {
        file.apply(&mut self.document)?;
        Ok(self)
    }

    /// The same with variables in place of their names, as `bosh interpolate` leaves it: what is not given stays.
    pub fn interpolate(&self, given: &Variables) -> Result<Interpolation, VariableError> {
        given.interpolate(&self.document)
    }

    /// The manifest as a Director deploys it: given variables replace their names, and those of `variables:` that are
    /// not given are generated as by CredHub.
    pub fn complete(&self, given: &Variables) -> Result<Interpolation, ManifestError> {
        let first = given.interpolate(&self.document)?;
        let generated = generated::generate(&first.document, given)?;
        let second = generated.variables.interpolate(&first.document)?;
        let mut unused = first.unused;
        // An authority that signs others is used, even without a reference to it.
        let idle = |name: &String| !generated.signers.contains(name);
        unused.extend(second.unused.into_iter().filter(idle));
        Ok(Interpolation {
            document: second.document,
            missing: second.missing,
            unused,
        })
    }

    /// All of it.
    pub fn document(&self) -> &Value {
        &self.document
    }
}

impl From<Value> for Manifest {
    fn from(document: Value) -> Self {
        Self { document }
    }
}

fn in_project(file: &str) -> PathBuf {
    Path::new(PROJECT).join(file)
}

fn text_of(file: &Path) -> Result<String, FileError> {
    fs::read_to_string(file).map_err(|source| FileError::Unreadable {
        file: file.to_owned(),
        source,
    })
}
