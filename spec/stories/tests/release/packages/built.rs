//! The packages, made by the script that people run.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use odb_stories::{Binaries, Document, Fence};

use super::machine::succeed;

pub(super) const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// That of the documents.
pub(super) const VERSION: &str = "1.0.0";

/// What packages are made of, besides the programs.
const SOURCES: [&str; 3] = ["release", "scripts", "manifests/sandbox"];

/// The programs in the packages, and the one that writes bills.
const PROGRAMS: [&str; 9] = [
    "kafka-service-adapter",
    "odb",
    "odb-adapter",
    "odb-errand",
    "odb-release",
    "odb-sandbox",
    "on-demand-broker",
    "redis-service-adapter",
    "template-service-adapter",
];

/// The folder with all packages of the executables under test. All tests share it; it is made again when an executable
/// or a file of the packages has changed.
pub(super) fn packages() -> PathBuf {
    let binaries = Binaries::find().path("odb-release");
    let binaries = binaries.parent().expect("it is in a folder");
    let folder = binaries.join("packages");
    fs::create_dir_all(&folder).expect("the test made the folder of the executables");
    let lock = File::create(folder.join("lock")).expect("the test made the folder");
    lock.lock().expect("this is Linux");
    let note = folder.join(format!("made-{VERSION}"));
    let is_new = |path: &Path| newest(path) <= modified(&note);
    let sources = SOURCES.map(|source| Path::new(PROJECT).join(source));
    let programs = PROGRAMS.map(|name| binaries.join(name));
    if !sources.iter().chain(&programs).all(|path| is_new(path)) {
        for entry in fs::read_dir(&folder).expect("the test made the folder") {
            let path = entry.expect("the test made the folder").path();
            if !path.ends_with("lock") {
                fs::remove_file(path).expect("the test made it");
            }
        }
        let begun = folder.join("begun");
        File::create(&begun).expect("the test made the folder");
        build(&["all"], binaries, &folder);
        fs::rename(begun, &note).expect("the test made it");
    }
    folder
}

/// Builds packages of these programs. In tests the tools are not static, because another compilation takes minutes.
pub(super) fn build(kinds: &[&str], binaries: &Path, output: &Path) {
    let built = command(kinds, binaries, output)
        .arg("--allow-dynamic")
        .output()
        .expect("the script is part of the project");
    assert!(
        built.status.success(),
        "`scripts/build-packages` ended with {}:\n{}",
        built.status,
        String::from_utf8_lossy(&built.stderr)
    );
}

/// In place of the script in documents: checks the arguments, and puts the packages there.
pub(super) fn instead_of_the_script() -> String {
    format!(
        "bash -c '{PROJECT}/scripts/build-packages \"$@\" --help >/dev/null && cp --target-directory=. {}/*1.0.0*' build",
        packages().display()
    )
}

/// The commands of a document that a test of this name runs, in their order.
pub(super) fn commands_of(document: &str, test: &str) -> Vec<Fence> {
    let mut fences = Document::open(document).fences();
    fences.retain(|fence| fence.run_by.iter().any(|name| name.ends_with(test)));
    assert!(!fences.is_empty(), "{document} has no commands of {test}");
    fences
}

pub(super) fn command(kinds: &[&str], binaries: &Path, output: &Path) -> Command {
    let mut command = Command::new("scripts/build-packages");
    command
        .args(kinds)
        .args([OsStr::new("--binaries"), binaries.as_os_str()])
        .args([OsStr::new("--output"), output.as_os_str()])
        .args(["--version", VERSION])
        .current_dir(PROJECT)
        .stdin(Stdio::null());
    command
}

/// As Debian calls it, like the packages.
pub(super) fn architecture() -> String {
    let printed = succeed(Command::new("dpkg").arg("--print-architecture"));
    printed.trim().to_owned()
}

fn modified(path: &Path) -> u128 {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |time| time.as_nanos())
}

/// The time of the last change of a file, or of anything in a folder.
fn newest(path: &Path) -> u128 {
    let own = modified(path);
    let Ok(entries) = fs::read_dir(path) else {
        return own;
    };
    entries
        .flatten()
        .map(|entry| newest(&entry.path()))
        .chain([own])
        .max()
        .unwrap_or(own)
}
