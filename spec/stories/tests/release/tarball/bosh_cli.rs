//! Beside the `bosh` command line: its tarballs pass the inspection, and it makes final releases of a staged folder.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use odb_stories::Binaries;
use serde_json::json;
use tempfile::TempDir;

use super::{
    director::yaml_by_ruby,
    small::{build, inspect, release_program, small_release},
    system::{succeed, unpacked},
};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What `release/archive_writer.go` of its sources does: files of mode 0600, and those of the licence beside their archive.
const AS_BOSH_PACKS: &str = "chmod 0600 release.MF license.tgz */*.tgz && tar -xzf license.tgz";

/// The digests are SHA-1 unless `--sha2` is given.
const WITH_SHA1: &str = r#"
    for archive in license.tgz */*.tgz; do
        sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
        sed -i "s/sha256:$sum/$(sha1sum "$archive" | cut -d ' ' -f 1)/" release.MF
    done
    ! grep sha256: release.MF
"#;

#[test]
fn a_tarball_that_the_bosh_command_line_makes_has_no_fault() {
    for digests in ["true", WITH_SHA1] {
        let release = changed(&[digests, AS_BOSH_PACKS]);
        let inspected = inspect(&release.path().join("bosh.tgz"));
        assert_eq!((inspected.status, inspected.faults), (0, vec![]));
    }
}

#[test]
fn what_that_command_line_never_packs_is_a_fault() {
    for (script, fault) in [
        (
            "echo >> LICENSE",
            "release: `LICENSE` is part of the archive, and nothing names it",
        ),
        (
            "echo > NOTICE",
            "release: `NOTICE` is part of the archive, and nothing names it",
        ),
        (
            "chmod 0200 release.MF",
            "release: `release.MF` has mode 0200; its owner must be able to read it",
        ),
        ("chmod 4600 release.MF", "no special bit may be set"),
        (
            "printf x >> jobs/runner.tgz",
            "job `runner`: its archive has the digest",
        ),
    ] {
        let release = changed(&[WITH_SHA1, AS_BOSH_PACKS, script]);
        let inspected = inspect(&release.path().join("bosh.tgz"));
        assert_eq!(inspected.status, 1, "{script}");
        assert!(
            inspected.faults.iter().any(|found| found.contains(fault)),
            "{script}: {:#?}",
            inspected.faults
        );
    }
}

/// Creating an environment without a Director (`bosh create-env`) reads it.
#[test]
fn the_manifest_of_a_release_names_the_packages_of_each_job() {
    let folder = small_release();
    fs::write(
        folder.path().join("jobs/runner/spec"),
        "name: runner\ntemplates: {run: bin/run}\npackages: [program, tool]\n",
    )
    .expect("the folder is our own");
    let release = unpacked(&build(folder.path(), "1.0.0"));
    let manifest = yaml_by_ruby(&release.path().join("release.MF"));
    assert_eq!(manifest["jobs"][0]["packages"], json!(["program", "tool"]));
}

/// `bosh create-release --final` looks at `git status` before and after it has written these files.
#[test]
fn a_staged_folder_stays_clean_under_git_while_a_final_release_is_made() {
    let beside = tempfile::tempdir().expect("tests may write temporary files");
    let folder = beside.path().join("my-release");
    stage_small_programs(beside.path(), &folder);
    let git = |arguments: &[&str]| {
        succeed(
            Command::new("git")
                .args([
                    "-c",
                    "user.name=Operator",
                    "-c",
                    "user.email=operator@example.org",
                    "-c",
                    "commit.gpgsign=false",
                ])
                .args(arguments)
                .current_dir(&folder),
        )
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "The release"]);
    let tracked = git(&["ls-files"]);
    for path in [
        ".gitignore",
        "config/final.yml",
        "config/blobs.yml",
        "src/on-demand-broker/bin/odb-errand",
    ] {
        assert!(tracked.lines().any(|line| line == path), "{tracked}");
    }

    for path in [
        ".blobs/1",
        ".dev_builds/jobs/broker/index.yml",
        "blobs/1",
        "config/private.yml",
        "dev_releases/on-demand-broker/index.yml",
        "releases/on-demand-broker/on-demand-broker-1.0.0.tgz",
    ] {
        write(&folder.join(path));
    }
    assert_eq!(git(&["status", "--porcelain=1"]), "");

    // These are for the operator to commit.
    for path in [
        ".final_builds/jobs/broker/index.yml",
        "releases/on-demand-broker/index.yml",
        "src/on-demand-broker/blobs/1",
    ] {
        write(&folder.join(path));
        assert_ne!(git(&["status", "--porcelain=1"]), "", "{path}");
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "More"]);
    }
}

/// A release whose folder was changed by scripts and packed as the `bosh` command line does.
fn changed(scripts: &[&str]) -> TempDir {
    let folder = small_release();
    let release = unpacked(&build(folder.path(), "1.0.0"));
    for script in scripts {
        succeed(
            Command::new("bash")
                .args(["-euo", "pipefail", "-c", script])
                .current_dir(release.path()),
        );
    }
    succeed(
        Command::new("bash")
            .args([
                "-c",
                "tar -czf bosh.tgz release.MF jobs packages license.tgz [LN]*",
            ])
            .current_dir(release.path()),
    );
    release
}

/// One small program in the place of all: what matters is the folder.
fn stage_small_programs(beside: &Path, folder: &Path) {
    let binaries = beside.join("programs");
    fs::create_dir(&binaries).expect("the folder is our own");
    for program in [
        "on-demand-broker",
        "odb-errand",
        "kafka-service-adapter",
        "redis-service-adapter",
        "template-service-adapter",
    ] {
        symlink(Binaries::find().path("odb-release"), binaries.join(program))
            .expect("the folder is our own");
    }
    succeed(
        release_program()
            .args(["stage", "--project", PROJECT, "--binaries"])
            .arg(&binaries)
            .arg("--into")
            .arg(folder),
    );
}

fn write(path: &Path) {
    fs::create_dir_all(path.parent().expect("it is in a folder"))
        .and_then(|()| fs::write(path, "something\n"))
        .expect("the folder is our own");
}
