//! The Rust toolchain that an operator adds.

use std::path::Path;

use anyhow::{Context, ensure};

use super::{copy_file, sources};
use crate::contents::Digest;

/// Stages the file for the package `rust`, and returns its digest.
pub(super) fn stage(project: &Path, file: &Path, sources: &Path) -> anyhow::Result<Digest> {
    let minimum = sources::rust_version(project)?;
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    check(name, &minimum).map_err(|error| anyhow::anyhow!("`{}` {error}", file.display()))?;
    copy_file(file, &sources.join("rust").join(name))?;
    Digest::of_file(file)
}

fn check(name: &str, minimum: &str) -> anyhow::Result<()> {
    let found = name
        .strip_prefix("rust-")
        .and_then(|rest| {
            rest.strip_suffix("-unknown-linux-gnu.tar.xz")
                .or_else(|| rest.strip_suffix("-unknown-linux-gnu.tar.gz"))
        })
        .and_then(|rest| rest.rsplit_once('-'))
        .and_then(|(version, _)| Some((version, numbers(version)?)));
    let (found, version) = found.with_context(|| {
        format!(
            "is not called like the standalone installer of a Rust toolchain: `rust-{minimum}.0-x86_64-unknown-linux-gnu.tar.xz` \
             or `.tar.gz`, or with a later version"
        )
    })?;
    ensure!(
        version >= numbers(minimum).unwrap_or_default(),
        "is Rust {found}, and the sources want {minimum} or later"
    );
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
        let error = |name| check(name, "1.95").unwrap_err().to_string();
        assert_eq!(
            error("rust-1.94.1-x86_64-unknown-linux-gnu.tar.xz"),
            "is Rust 1.94.1, and the sources want 1.95 or later"
        );
        for name in [
            "",
            "rustc-1.95.0-src.tar.xz",
            "rust-1.95.0-x86_64-apple-darwin.tar.gz",
            "rust-nightly-x86_64-unknown-linux-gnu.tar.gz",
            "rust-1.95.0-x86_64-unknown-linux-gnu.zip",
        ] {
            assert!(error(name).starts_with("is not called like"), "{name}");
        }
    }
}
