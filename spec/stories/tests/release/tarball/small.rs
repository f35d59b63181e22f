//! A release with the least that has all parts.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use odb_stories::Binaries;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    director::yaml_by_ruby,
    system::{succeed, unpacked},
};

/// The least that has all parts.
pub(super) fn small_release() -> TempDir {
    let folder = tempfile::tempdir().expect("tests may write temporary files");
    for (path, text) in [
        ("config/final.yml", "name: small\n"),
        ("LICENSE", "Do what you like.\n"),
        (
            "jobs/runner/spec",
            "name: runner\ntemplates: {run: bin/run}\npackages: [program]\n",
        ),
        ("jobs/runner/monit", ""),
        ("jobs/runner/templates/run", "#!/bin/bash\n"),
        (
            "packages/program/spec",
            "name: program\ndependencies: [tool]\nfiles: [program/**/*]\n",
        ),
        (
            "packages/program/packaging",
            "cp program/run \"$BOSH_INSTALL_TARGET\"\n",
        ),
        (
            "packages/tool/spec",
            "name: tool\nfiles: [tool/*]\nexcluded_files: [tool/*.orig]\n",
        ),
        ("packages/tool/packaging", "true\n"),
        ("src/program/run", "echo\n"),
        ("src/tool/tool", "tool\n"),
        ("src/tool/tool.orig", "older\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in the folder"))
            .and_then(|()| fs::write(&path, text))
            .expect("the test made the folder");
    }
    let program = folder.path().join("src/program/run");
    fs::set_permissions(program, Permissions::from_mode(0o755)).expect("the test made the folder");
    folder
}

pub(super) fn build(folder: &Path, version: &str) -> PathBuf {
    let tarball = folder.join(format!("{version}.tgz"));
    succeed(&mut build_command(folder, version, &tarball));
    tarball
}

pub(super) fn build_command(folder: &Path, version: &str, tarball: &Path) -> Command {
    let mut command = release_program();
    command.args(["build", "--release"]).arg(folder);
    command
        .args(["--version", version, "--output"])
        .arg(tarball);
    command
}

pub(super) fn release_program() -> Command {
    Command::new(Binaries::find().path("odb-release"))
}

/// The list of what the tarball holds, as Ruby reads it.
pub(super) fn manifest(tarball: &Path) -> Value {
    yaml_by_ruby(&unpacked(tarball).path().join("release.MF"))
}
