//! Beside the `bosh` command line: it reads what is built, and makes final releases of a staged folder.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use odb_stories::Binaries;
use serde_json::json;

use super::{
    small::{build, manifest, release_program, small_release},
    system::succeed,
};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Creating an environment without a Director (`bosh create-env`) reads it.
#[test]
fn the_manifest_of_a_release_names_the_packages_of_each_job() {
    let folder = small_release();
    fs::write(
        folder.path().join("jobs/runner/spec"),
        "name: runner\ntemplates: {run: bin/run}\npackages: [program, tool]\n",
    )
    .expect("the test made the folder");
    let manifest = manifest(&build(folder.path(), "1.0.0"));
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

/// One small program in the place of all: what matters is the folder.
fn stage_small_programs(beside: &Path, folder: &Path) {
    let binaries = beside.join("programs");
    fs::create_dir(&binaries).expect("the test made the folder");
    for program in [
        "on-demand-broker",
        "odb",
        "odb-errand",
        "kafka-service-adapter",
        "redis-service-adapter",
        "template-service-adapter",
    ] {
        symlink(Binaries::find().path("odb-release"), binaries.join(program))
            .expect("the test made the folder");
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
        .expect("the test made the folder");
}
