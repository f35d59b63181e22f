//! The Rust toolchain that an operator adds.

use std::path::Path;

use super::{StageError, copy_file, failed, sources};
use crate::digest::Digest;

/// Errors in a toolchain's file.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// It is not called as the installers are.
    #[error(
        "is not called like the standalone installer of a Rust toolchain: `rust-{minimum}.0-x86_64-unknown-linux-gnu.tar.xz` \
         or `.tar.gz`, or with a later version"
    )]
    Name {
        /// The version that the sources want.
        minimum: String,
    },
    /// It is too old.
    #[error("is Rust {found}, and the sources want {minimum} or later")]
    TooOld {
        /// Its version.
        found: String,
        /// The version that the sources want.
        minimum: String,
    },
}

/// Stages the file for the package `rust`, and returns its digest.
pub(super) fn stage(project: &Path, file: &Path, sources: &Path) -> Result<Digest, StageError> {
    let minimum = sources::rust_version(project)?;
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    check(name, &minimum).map_err(|error| StageError::Toolchain {
        path: file.to_owned(),
        error,
    })?;
    copy_file(file, &sources.join("rust").join(name))?;
    Digest::of_file(file).map_err(|source| failed(file, source))
}

fn check(name: &str, minimum: &str) -> Result<(), ToolchainError> {
    let error = || ToolchainError::Name {
        minimum: minimum.to_owned(),
    };
    let found = name
        .strip_prefix("rust-")
        .and_then(|rest| {
            rest.strip_suffix("-unknown-linux-gnu.tar.xz")
                .or_else(|| rest.strip_suffix("-unknown-linux-gnu.tar.gz"))
        })
        .and_then(|rest| rest.rsplit_once('-'))
        .map(|(version, _)| version)
        .ok_or_else(error)?;
    if numbers(found).ok_or_else(error)? < numbers(minimum).unwrap_or_default() {
        return Err(ToolchainError::TooOld {
            found: found.to_owned(),
            minimum: minimum.to_owned(),
        });
    }
    Ok(())
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installers_of_the_wanted_version_and_later_are_taken() {
        for name in [
            "rust-1.95.0-x86_64-unknown-linux-gnu.tar.xz",
            "rust-1.95.0-x86_64-unknown-linux-gnu.tar.gz",
            "rust-1.103.2-aarch64-unknown-linux-gnu.tar.gz",
        ] {
            assert!(check(name, "1.95").is_ok(), "{name}");
        }
    }

    #[test]
    fn older_ones_and_other_files_are_refused() {
        assert!(matches!(
            check("rust-1.94.1-x86_64-unknown-linux-gnu.tar.xz", "1.95"),
            Err(ToolchainError::TooOld { found, .. }) if found == "1.94.1"
        ));
        for name in [
            "",
            "rustc-1.95.0-src.tar.xz",
            "rust-1.95.0-x86_64-apple-darwin.tar.gz",
            "rust-nightly-x86_64-unknown-linux-gnu.tar.gz",
            "rust-1.95.0-x86_64-unknown-linux-gnu.zip",
        ] {
            assert!(
                matches!(check(name, "1.95"), Err(ToolchainError::Name { .. })),
                "{name}"
            );
        }
    }
}
