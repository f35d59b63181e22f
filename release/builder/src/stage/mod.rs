//! From the project to a release folder.
//!
//! | module | contents |
//! | --- | --- |
//! | `binaries` | existing programs, stripped |
//! | `sources` | the part of the workspace with a package's programs |
//! | `vendored` | the crates that they need |
//! | `toolchain` | the operator's Rust toolchain |

mod binaries;
mod sources;
mod toolchain;
mod vendored;

pub(crate) use sources::read_toml;

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use odb_process::{Capture, ChildProcess, Orphans, Outcome, ProcessError, Sink, TooMuch};
use walkdir::WalkDir;

use crate::contents::Digest;

/// `config/blobs.yml` of a folder without blobs: packages only need files below `src`. The `bosh` command line requires
/// this file.
const NO_BLOBS: &str = "--- {}\n";

/// Files that `bosh create-release` writes between its two calls of `git status`, and files that must not be committed.
/// From the top folder only, because vendored sources may have folders of these names.
const GIT_IGNORE: &str = "\
/.blobs
/.dev_builds
/blobs
/config/private.yml
/dev_releases
/releases/**/*.tgz
";

/// What a command may print, in bytes: the list of crates.
const LONGEST_OUTPUT: usize = 16 << 20;

/// The content of the packages of a release.
pub(crate) enum Kind {
    /// Programs that are in this folder; nothing is compiled on VMs.
    Binary(PathBuf),
    /// Sources, and this standalone installer of the toolchain that compiles them on VMs.
    Source(PathBuf),
}

/// A package of the release with programs of this project.
struct Package {
    /// Its name, in both kinds of the release.
    name: &'static str,
    /// Its programs. Each is the one program of the Cargo package of the same name.
    programs: &'static [&'static str],
}

const PACKAGES: [Package; 2] = [
    Package {
        name: "on-demand-broker",
        programs: &["on-demand-broker", "odb", "odb-errand"],
    },
    Package {
        name: "service-adapters",
        programs: &[
            "kafka-service-adapter",
            "redis-service-adapter",
            "template-service-adapter",
        ],
    },
];

/// Lays a release folder out of the project: `config`, `jobs`, `packages`, `src` and the licence. Returns the digest of
/// the toolchain, where there is one: to be compared with the one that its makers publish.
pub(crate) fn stage(project: &Path, kind: &Kind, into: &Path) -> anyhow::Result<Option<Digest>> {
    fs::create_dir_all(into).with_context(|| failed(into))?;
    let mut entries = fs::read_dir(into).with_context(|| failed(into))?;
    ensure!(
        entries.next().is_none(),
        "`{}` is not empty; name a folder that does not exist yet",
        into.display()
    );
    let release = project.join("release");
    let packages = match kind {
        Kind::Binary(_) => "packages/binary",
        Kind::Source(_) => "packages/source",
    };
    copy_file(
        &release.join("config/final.yml"),
        &into.join("config/final.yml"),
    )?;
    write_file(&into.join("config/blobs.yml"), NO_BLOBS)?;
    write_file(&into.join(".gitignore"), GIT_IGNORE)?;
    copy_folder(&release.join("jobs"), &into.join("jobs"))?;
    copy_folder(&release.join(packages), &into.join("packages"))?;
    copy_file(&project.join("LICENSE"), &into.join("LICENSE"))?;
    let sources = into.join("src");
    match kind {
        Kind::Binary(binaries) => {
            binaries::stage(binaries, &sources)?;
            Ok(None)
        }
        Kind::Source(rust_toolchain) => {
            let toolchain = toolchain::stage(project, rust_toolchain, &sources)?;
            for package in &PACKAGES {
                sources::stage(project, package, &sources)?;
            }
            Ok(Some(toolchain))
        }
    }
}

/// Runs a command to its end, and returns what it has printed on stdout. Its stderr is ours.
pub(crate) fn run(
    command: Command,
    remedy: &'static str,
    time: Duration,
) -> anyhow::Result<String> {
    struct Stderr;

    impl Sink for Stderr {
        fn take(&mut self, piece: &[u8]) -> Result<(), TooMuch> {
            // Without stderr there is no reader.
            let _ = io::stderr().write_all(piece);
            Ok(())
        }
    }

    let program = command.get_program().to_string_lossy().into_owned();
    let mut output = Capture::at_most(LONGEST_OUTPUT);
    let ended = ChildProcess::new(command, Instant::now() + time)
        .with_orphans(Orphans::Adopted)
        .run(&mut output, &mut Stderr);
    let ended = ended.map_err(|error| {
        let text = match error {
            ProcessError::Start(_) => format!("`{program}` cannot be started; {remedy}"),
            ProcessError::Follow(_) => format!("`{program}` cannot be waited for"),
        };
        anyhow::Error::new(error).context(text)
    })?;
    match ended.outcome {
        Outcome::Exited(status) if status.success() => Ok(output.into_text()),
        Outcome::Exited(status) => {
            bail!("`{program}` has failed ({status}); see its output above")
        }
        Outcome::TimedOut | Outcome::TooMuchMemory | Outcome::Cancelled => {
            bail!("`{program}` has not ended within {} s", time.as_secs())
        }
        Outcome::TooMuchOutput(stream) => bail!("`{program}` has printed too much on {stream}"),
    }
}

/// Copies files and their permissions; folders without files are left out.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in WalkDir::new(from).sort_by_file_name() {
        let entry = entry.with_context(|| failed(from))?;
        if !entry.file_type().is_dir() {
            let name = entry.path().strip_prefix(from).unwrap_or(entry.path());
            copy_file(entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    make_folder_of(to)?;
    fs::copy(from, to).map(drop).with_context(|| failed(from))
}

fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    make_folder_of(path)?;
    fs::write(path, text).with_context(|| failed(path))
}

fn make_folder_of(path: &Path) -> anyhow::Result<()> {
    match path.parent() {
        Some(folder) => fs::create_dir_all(folder).with_context(|| failed(folder)),
        None => Ok(()),
    }
}

fn read_file(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| failed(path))
}

fn failed(path: &Path) -> String {
    format!("`{}` cannot be copied or written", path.display())
}
