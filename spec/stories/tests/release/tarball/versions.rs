//! The names of releases, and their reproducibility.

use std::{fs, process::Command};

use super::{
    small::{build, build_command, manifest, release_program, small_release},
    system::{run, succeed, text},
};

#[test]
fn the_same_folder_makes_the_same_bytes_and_unchanged_parts_keep_their_names() {
    let folder = small_release();
    let first = build(folder.path(), "1.0.0");
    // Other times and permissions, as another clone has them.
    let other = tempfile::tempdir().expect("tests may write temporary files");
    succeed(
        Command::new("cp")
            .args(["-r", "."])
            .arg(other.path())
            .current_dir(folder.path()),
    );
    succeed(
        Command::new("chmod")
            .args(["-R", "g+w,o-r"])
            .arg(other.path()),
    );
    assert_eq!(
        fs::read(&first).expect("it is there"),
        fs::read(build(other.path(), "1.0.0")).expect("it is there")
    );

    let before = manifest(&first);
    fs::write(other.path().join("src/program/run"), "changed").expect("the test made the folder");
    let after = manifest(&build(other.path(), "1.0.1"));
    assert_eq!(before["jobs"], after["jobs"]);
    assert_ne!(
        before["packages"][0]["fingerprint"],
        after["packages"][0]["fingerprint"]
    );
    assert_eq!(
        before["packages"][1]["fingerprint"],
        after["packages"][1]["fingerprint"]
    );
}

#[test]
fn a_version_that_a_director_would_refuse_or_rename_is_refused() {
    let folder = small_release();
    for version in ["1.0.07", "1 0", "1.0+a+b", "latest!"] {
        let output = run(&mut build_command(
            folder.path(),
            version,
            &folder.path().join("x.tgz"),
        ));
        assert_eq!(output.status.code(), Some(2), "{version}");
        assert!(
            text(&output.stderr).contains("is no version of a release"),
            "{version}"
        );
    }
    assert!(!folder.path().join("x.tgz").exists());
}

#[test]
fn without_a_version_commit_and_content_name_the_release() {
    let folder = small_release();
    let name = |arguments: &[&str]| {
        let mut command = release_program();
        command.args(["build", "--release"]).arg(folder.path());
        command.args(arguments);
        command.arg("--output").arg(folder.path().join("x.tgz"));
        succeed(&mut command);
        let version = &manifest(&folder.path().join("x.tgz"))["version"];
        version.as_str().expect("it is a text").to_owned()
    };
    // A hash that looks like a number with a leading zero stays as it is.
    let commit = ["--commit", "0123456789abcdef0123456789abcdef01234567"];
    let before = name(&commit);
    assert!(before.contains("+g0123456.c"), "{before}");
    assert_eq!(before, name(&commit));
    assert!(name(&[]).contains("+c"));
    fs::write(folder.path().join("src/program/run"), "changed").expect("the test made the folder");
    assert_ne!(before, name(&commit));
}
