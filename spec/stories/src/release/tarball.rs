//! The tarball of the release, made by the script that people run.

use std::{
    fmt::Write,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::UNIX_EPOCH,
};

use crate::Binaries;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// How long it may take, in seconds. It packs a hundred megabytes; a busy machine takes its time.
const TIME_LIMIT: &str = "300";

/// The version of the release that tests make.
const VERSION: &str = "0.0.0+test";

/// The programs in the release, and the one that builds it.
const PROGRAMS: [&str; 7] = [
    "kafka-service-adapter",
    "odb",
    "odb-errand",
    "odb-release",
    "on-demand-broker",
    "redis-service-adapter",
    "template-service-adapter",
];

/// A tarball with the executables under test, by `scripts/build-release`. All tests share it; it is made again when an
/// executable or a file of the release has changed.
pub fn tarball() -> PathBuf {
    let binaries = Binaries::find();
    let folder = binaries.path("odb-release").with_file_name("bosh-release");
    fs::create_dir_all(&folder).expect("the test made the folder of the executables");
    let tarball = folder.join("release.tgz");
    let lock = File::create(folder.join("lock")).expect("the test made the folder");
    lock.lock().expect("this is Linux");
    let made_of = ingredients(&binaries);
    let note = folder.join("made-of");
    if !tarball.is_file() || fs::read_to_string(&note).ok().as_ref() != Some(&made_of) {
        make(&binaries, &tarball, &folder);
        fs::write(&note, made_of).expect("the test made the folder");
    }
    tarball
}

fn make(binaries: &Binaries, tarball: &Path, folder: &Path) {
    let programs = binaries.path("odb-release");
    let log = folder.join("log");
    let output = File::create(&log).expect("the test made the folder");
    let errors = output.try_clone().expect("it is open");
    let status = Command::new("timeout")
        .args(["--kill-after=5", TIME_LIMIT, "scripts/build-release"])
        .args(["--version", VERSION, "--binaries"])
        .arg(programs.parent().expect("it is in a folder"))
        .arg("--output")
        .arg(tarball)
        .current_dir(PROJECT)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .expect("this is Linux, which has `timeout`");
    let said = fs::read_to_string(&log).unwrap_or_default();
    assert!(
        status.success(),
        "`scripts/build-release` ended with {status}:\n{said}"
    );
}

/// Names, sizes and times of whatever the tarball is made of.
fn ingredients(binaries: &Binaries) -> String {
    let mut text = String::new();
    for program in PROGRAMS {
        note(&binaries.path(program), &mut text);
    }
    let project = Path::new(PROJECT);
    for file in ["LICENSE", "scripts/build-release"] {
        note(&project.join(file), &mut text);
    }
    for folder in ["release/config", "release/jobs", "release/packages"] {
        note_folder(&project.join(folder), &mut text);
    }
    text
}

fn note_folder(folder: &Path, text: &mut String) {
    let entries = fs::read_dir(folder).expect("it is part of the project");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the test made the folder").path())
        .collect();
    paths.sort_unstable();
    for path in paths {
        if path.is_dir() {
            note_folder(&path, text);
        } else {
            note(&path, text);
        }
    }
}

fn note(path: &Path, text: &mut String) {
    let metadata = fs::metadata(path).expect("it was there a moment ago");
    let changed = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    writeln!(
        text,
        "{} {} {}",
        path.display(),
        metadata.len(),
        changed.as_nanos()
    )
    .expect("writing to a string cannot fail");
}
