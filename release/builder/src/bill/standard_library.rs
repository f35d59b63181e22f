//! Rust's standard library, which is linked into every program and is in no lock file.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use super::{Component, Origin, READING};
use crate::stage::run;

/// The licences of the library and of the crates in it, in a toolchain of the Rust project.
const LICENSES: &str = "share/doc/rust/COPYRIGHT-library.html";

/// That of the compiler in the project's folder.
pub(super) fn of(project: &Path) -> anyhow::Result<Component> {
    let printed = rustc(project, &["--version", "--verbose"])?;
    let version = version(&printed)
        .with_context(|| format!("`rustc` has printed `{printed}`, which has no release"))?;
    let root = PathBuf::from(rustc(project, &["--print", "sysroot"])?.trim());
    let licenses = root.join(LICENSES);
    Ok(Component {
        name: "rust-std".to_owned(),
        version: version.to_owned(),
        purl: format!("pkg:github/rust-lang/rust@{version}#library/std"),
        origin: Origin::Toolchain,
        license: Some("MIT OR Apache-2.0".to_owned()),
        sha256: None,
        // Linux distributions package it elsewhere: the standard text then.
        texts: licenses.is_file().then_some(licenses).into_iter().collect(),
        authors: vec!["The Rust Project contributors".to_owned()],
        uses: Vec::new(),
    })
}

fn rustc(project: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("rustc");
    command.args(arguments).current_dir(project);
    run(command, "install the Rust toolchain", READING)
}

fn version(printed: &str) -> Option<&str> {
    printed
        .lines()
        .find_map(|line| line.strip_prefix("release: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_release() {
        let printed =
            "rustc 1.95.0 (59807616e 2026-04-14)\nhost: x\nrelease: 1.95.0\nLLVM version: 22\n";
        assert_eq!(version(printed), Some("1.95.0"));
        assert_eq!(version("other"), None);
    }
}
