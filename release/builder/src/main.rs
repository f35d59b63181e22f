//! Builds the BOSH release of the on-demand broker.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use odb_release::{
    build::{BuildOptions, Origin, VersionChoice, build},
    digest::Digest,
    stage::{Kind, stage},
    version::ReleaseVersion,
};

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

fn main() -> ExitCode {
    let outcome = match CommandLine::parse().command {
        Command::Stage(arguments) => run_stage(arguments),
        Command::Build(arguments) => run_build(arguments),
    };
    outcome.unwrap_or_else(|error| {
        // Without stderr the error cannot be shown.
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::from(2)
    })
}

fn run_stage(arguments: StageArguments) -> anyhow::Result<ExitCode> {
    let kind = match (arguments.binaries, arguments.rust_toolchain) {
        (Some(binaries), _) => Kind::Binary { binaries },
        (None, Some(rust_toolchain)) => Kind::Source { rust_toolchain },
        (None, None) => anyhow::bail!("neither `--binaries` nor `--rust-toolchain` is given"),
    };
    let staged = stage(&arguments.project, &kind, &arguments.into)?;
    if let Some(digest) = staged.toolchain {
        writeln!(io::stdout(), "Rust toolchain {digest}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_build(arguments: BuildArguments) -> anyhow::Result<ExitCode> {
    let version = match arguments.version {
        Some(version) => VersionChoice::Given(version),
        None => VersionChoice::FromCommit {
            release: env!("CARGO_PKG_VERSION").to_owned(),
        },
    };
    let origin = match arguments.commit {
        Some(hash) => Origin::Commit {
            hash,
            uncommitted_changes: arguments.uncommitted_changes,
        },
        None => Origin::NotVersioned,
    };
    let options = BuildOptions { version, origin };
    let built = build(&arguments.release, &options, &arguments.output)?;
    let path = built.path.display();
    let unreadable = || format!("`{path}` cannot be read");
    let size = fs::metadata(&built.path).with_context(unreadable)?.len();
    let digest = Digest::of_file(&built.path).with_context(unreadable)?;
    let name = format_args!("{}/{}", built.name, built.version);
    writeln!(io::stdout(), "{name}\n{size} bytes, {digest}\n{path}")?;
    Ok(ExitCode::SUCCESS)
}
