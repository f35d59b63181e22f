//! The release that is compiled on a VM.

use std::{env, fs, path::Path, process::Command};

use odb_stories::{Document, Reader};
use tempfile::TempDir;

use super::system::{packaging, succeed, unpacked};

const README: &str = "release/README.md";
const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const INSTALLER: &str = "rust-1.95.0-x86_64-unknown-linux-gnu";

/// As in `release/README.md`, with the downloads of `scripts/test`. The installer of the toolchain is a stand-in that
/// links the machine's; unless `ODB_CASES=all` is set, its Cargo resolves all crates from the package and compiles
/// nothing.
#[tokio::test]
async fn sources_make_a_release_that_compiles_without_a_network() {
    let script = format!("{PROJECT}/scripts/build-release");
    let mut reader = Reader::new()
        .of(README)
        .with_variable("CARGO_NET_OFFLINE", "true")
        .with_word("scripts/build-release", &script);
    make_installer(reader.folder());
    let fences = Document::open(README).fences();
    let fence = fences
        .iter()
        .find(|fence| {
            fence
                .run_by
                .iter()
                .any(|name| name.contains("sources_make_a_release"))
        })
        .expect("the readme describes sources");
    let said = reader.follow(fence).await;
    assert!(said.contains("Rust toolchain sha256:"), "{said}");
    assert!(said.contains(" bytes, sha256:"), "{said}");

    let release = unpacked(&reader.folder().join("on-demand-broker-source.tgz"));
    let packages = tempfile::tempdir().expect("tests may write temporary files");
    install(release.path(), "rust", packages.path());
    for (package, programs) in [
        (
            "on-demand-broker",
            &["odb", "odb-errand", "on-demand-broker"][..],
        ),
        (
            "service-adapters",
            &[
                "kafka-service-adapter",
                "redis-service-adapter",
                "template-service-adapter",
            ],
        ),
    ] {
        let source = install(release.path(), package, packages.path());
        let mut installed: Vec<_> = fs::read_dir(packages.path().join(package).join("bin"))
            .expect("it is installed")
            .map(|entry| entry.expect("the test made the folder").file_name())
            .collect();
        installed.sort();
        assert_eq!(installed, programs, "{package}");
        expect_no_registry(&source.path().join(package));
    }
}

/// As the agent of a compilation VM does, without a network where the machine lets us.
fn install(release: &Path, package: &str, packages: &Path) -> TempDir {
    let source = unpacked(&release.join(format!("packages/{package}.tgz")));
    let target = packages.join(package);
    fs::create_dir(&target).expect("the test made the folder");
    succeed(packaging(source.path(), &target).env("BOSH_PACKAGES_DIR", packages));
    source
}

/// Nothing was fetched: Cargo's folder, which packaging puts beside the sources, has no crates.
fn expect_no_registry(workspace: &Path) {
    let home = workspace.with_file_name("cargo-home");
    assert!(!home.join("registry").exists(), "{}", home.display());
}

/// A stand-in for the installer of a toolchain.
fn make_installer(folder: &Path) {
    let compiler = succeed(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(PROJECT),
    );
    let toolchain = Path::new(compiler.trim()).join("bin");
    let cargo = if env::var_os("ODB_CASES").is_some_and(|cases| cases == "all") {
        format!("exec '{}/cargo' \"$@\"", toolchain.display())
    } else {
        only_resolving(&toolchain)
    };
    let root = folder.join(INSTALLER);
    fs::create_dir(&root).expect("the test made the folder");
    fs::write(root.join("cargo"), format!("#!/bin/bash\n{cargo}\n"))
        .expect("the test made the folder");
    fs::write(root.join("install.sh"), install_script(&toolchain))
        .expect("the test made the folder");
    succeed(
        Command::new("tar")
            .args(["-czf", &format!("{INSTALLER}.tar.gz"), INSTALLER])
            .current_dir(folder),
    );
    fs::remove_dir_all(root).expect("the test made the folder");
}

fn install_script(toolchain: &Path) -> String {
    format!(
        r#"set -euo pipefail
[[ " $* " == *" --components=rustc,cargo,rust-std-x86_64-unknown-linux-gnu "* && " $* " == *" --disable-ldconfig "* ]]
for argument in "$@"; do
  case $argument in --prefix=*) prefix=${{argument#--prefix=}} ;; esac
done
mkdir -p "$prefix/bin"
install -m 0755 "$(dirname "$0")/cargo" "$prefix/bin/cargo"
ln -s '{}/rustc' "$prefix/bin/rustc"
"#,
        toolchain.display()
    )
}

/// Resolves the crates that a build would compile, and leaves empty programs.
fn only_resolving(toolchain: &Path) -> String {
    format!(
        r#"set -euo pipefail
[[ $1 == build && $2 == --frozen && $3 == --release && $4 == --bins ]]
{environment}
shift 4
mkdir -p target/release
while [[ $# -gt 0 ]]; do
  [[ $1 == --package ]]
  '{cargo}' tree --frozen --package "$2" --target x86_64-unknown-linux-gnu >/dev/null
  touch "target/release/$2"
  shift 2
done"#,
        cargo = toolchain.join("cargo").display(),
        environment = expected_environment()
    )
}

/// Conditions on the environment: packages are compiled with the variables that the project is compiled with.
fn expected_environment() -> String {
    let path = Path::new(PROJECT).join(".cargo/config.toml");
    let text = fs::read_to_string(path).expect("it is part of the project");
    let (_, variables) = text.split_once("[env]\n").expect("it has variables");
    let conditions: Vec<String> = variables
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, value)| format!("[[ ${name} == {value} ]]"))
        .collect();
    assert!(!conditions.is_empty(), "the variables are not found");
    conditions.join("\n")
}
