//! Builds the BOSH release of the on-demand broker, in two steps, each of use by itself:
//!
//! 1. `stage` writes a release folder from this project, as the `bosh` command line knows it: jobs, packages with
//!    their files, licence.
//! 2. `build` makes a release tarball of a release folder.
//!
//! `bill` writes the bill of materials and the licences of one of the other packages.
//!
//! | module | contents |
//! | --- | --- |
//! | `stage` | from the project to a release folder |
//! | `executable` | what an executable needs of the machine that it will run on |
//! | `bill` | the crates and the licences in a package |
//! | `build` | from a release folder to a tarball, with `release.MF` |
//! | `release_folder` | a release folder, read |
//! | `contents` | the files of a job or package: archive, digests, fingerprint |
//! | `version` | what a version of a release may look like |

mod bill;
mod build;
mod contents;
mod executable;
mod release_folder;
mod stage;
mod version;

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use bill::Subject;
use build::{Commit, build};
use contents::{Digest, unreadable};
use stage::{Kind, stage};
use version::ReleaseVersion;

/// Build the BOSH release of the on-demand broker.
#[derive(Debug, Parser)]
#[command(version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a release folder from the project
    Stage(StageArguments),
    /// Create a tarball from a release folder
    Build(BuildArguments),
    /// Write the bill of materials and the licences of a package of programs
    Bill(BillArguments),
    /// End the commands of a builder that was killed. It starts this itself.
    #[command(hide = true)]
    Watchdog,
}

#[derive(Debug, Args)]
struct StageArguments {
    /// Folder of the project
    #[arg(long, default_value = ".")]
    project: PathBuf,
    /// Take the executables of this folder, stripped
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present = "rust_toolchain"
    )]
    binaries: Option<PathBuf>,
    /// Take the sources and this standalone Rust installer, which compiles them on VMs
    #[arg(long, value_name = "FILE", conflicts_with = "binaries")]
    rust_toolchain: Option<PathBuf>,
    /// Folder to create; must not exist, or be empty
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
}

#[derive(Debug, Args)]
struct BuildArguments {
    /// Path of the release folder
    #[arg(long, value_name = "FOLDER")]
    release: PathBuf,
    /// Version of the release. Default: the version of this program with commit and content
    #[arg(long)]
    version: Option<ReleaseVersion>,
    /// The commit that the folder was made from
    #[arg(long, value_name = "HASH")]
    commit: Option<String>,
    /// There were changes that the commit does not have
    #[arg(long, requires = "commit")]
    uncommitted_changes: bool,
    /// The tarball to write, or a folder for `NAME-VERSION.tgz`; what it is called, its digest and its path are printed
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Debug, Args)]
struct BillArguments {
    /// Folder of the project
    #[arg(long, default_value = ".")]
    project: PathBuf,
    /// Name of the package
    #[arg(long)]
    name: String,
    /// Name of the package's file. `FILE.cdx.json` and `FILE.licenses.txt` are written
    #[arg(long)]
    file: String,
    /// Version of the package
    #[arg(long)]
    version: String,
    /// Cargo package of a program in the package; repeatable
    #[arg(long = "program", value_name = "CRATE")]
    programs: Vec<String>,
    /// Platform of the programs
    #[arg(long, default_value = "x86_64-unknown-linux-gnu")]
    target: String,
    /// Debian package with files that are in the package; repeatable
    #[arg(long, value_name = "PACKAGE")]
    debian: Vec<String>,
    /// Folder to write to
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
}

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Stage(arguments) => run_stage(arguments),
        Command::Build(arguments) => run_build(arguments),
        Command::Bill(arguments) => run_bill(arguments),
        Command::Watchdog => {
            odb_process::watch(io::stdin().lock());
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without stderr the error cannot be shown.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run_stage(arguments: StageArguments) -> anyhow::Result<()> {
    let kind = match (arguments.binaries, arguments.rust_toolchain) {
        (Some(binaries), _) => Kind::Binary(binaries),
        (None, Some(rust_toolchain)) => Kind::Source(rust_toolchain),
        (None, None) => anyhow::bail!("neither `--binaries` nor `--rust-toolchain` is given"),
    };
    start_watchdog()?;
    if let Some(digest) = stage(&arguments.project, &kind, &arguments.into)? {
        writeln!(io::stdout(), "Rust toolchain {digest}")?;
    }
    Ok(())
}

fn run_build(arguments: BuildArguments) -> anyhow::Result<()> {
    let commit = arguments.commit.map(|hash| Commit {
        hash,
        uncommitted_changes: arguments.uncommitted_changes,
    });
    let built = build(
        &arguments.release,
        arguments.version,
        commit,
        &arguments.output,
    )?;
    let metadata = fs::metadata(&built.path).with_context(|| unreadable(&built.path))?;
    let (size, digest) = (metadata.len(), Digest::of_file(&built.path)?);
    let name = format_args!("{}/{}", built.name, built.version);
    let path = built.path.display();
    writeln!(io::stdout(), "{name}\n{size} bytes, {digest}\n{path}")?;
    Ok(())
}

fn run_bill(arguments: BillArguments) -> anyhow::Result<()> {
    start_watchdog()?;
    let subject = Subject {
        name: arguments.name,
        file: arguments.file,
        version: arguments.version,
        programs: arguments.programs,
        target: arguments.target,
        debian: arguments.debian,
    };
    bill::write(&arguments.project, &subject, &arguments.into)
}

/// Commands run in process groups of their own, which Ctrl-C does not reach.
fn start_watchdog() -> anyhow::Result<()> {
    odb_process::start_watchdog(&["watchdog"]).context("the watchdog cannot be started")
}
