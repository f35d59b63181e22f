//! The crates that a package's programs need.

use std::{collections::BTreeSet, fs, path::Path, process::Command, time::Duration};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{
    failed, read_file, run,
    sources::{missing, read_toml},
    write_file,
};

/// Crates that are not in Cargo's cache are downloaded.
const FETCHING: Duration = Duration::from_mins(20);

/// The machines that stemcells are made for.
const PLATFORMS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// The project's own settings for Cargo, without which a release would be another program.
const OWN: &str = ".cargo/config.toml";

/// The configuration that makes Cargo use only vendored crates.
const CONFIGURATION: &str = r#"[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"

[net]
offline = true
"#;

/// Puts the crates of `Cargo.lock` that the workspace needs into its folder `vendor`. Of crates that only other
/// platforms or features need, Cargo wants to see no more than their `Cargo.toml`, and they get no more.
pub(super) fn stage(project: &Path, package: &'static str, workspace: &Path) -> anyhow::Result<()> {
    let vendor = workspace.join("vendor");
    cargo(
        workspace,
        &["vendor", "--quiet", "--versioned-dirs", "vendor"],
    )?;
    check_lock(project, package, workspace)?;
    write_file(&workspace.join(OWN), &configuration(project)?)?;

    let needed = needed_crates(workspace)?;
    for entry in fs::read_dir(&vendor).with_context(|| failed(&vendor))? {
        let entry = entry.with_context(|| failed(&vendor))?;
        if !needed.contains(&*entry.file_name().to_string_lossy()) {
            reduce(&entry.path())?;
        }
    }
    Ok(())
}

/// Merges the project's settings with those of a release; they have separate tables.
fn configuration(project: &Path) -> anyhow::Result<String> {
    let own = read_file(&project.join(OWN))?;
    Ok(format!("{own}\n{CONFIGURATION}"))
}

fn cargo(workspace: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace);
    run(command, "install the Rust toolchain", FETCHING)
}

/// Cargo has removed unused packages from `Cargo.lock`; it may have changed nothing else.
fn check_lock(project: &Path, package: &'static str, workspace: &Path) -> anyhow::Result<()> {
    let own = locked(&project.join("Cargo.lock"))?;
    let other = locked(&workspace.join("Cargo.lock"))?;
    if let Some(dependency) = other.difference(&own).next() {
        bail!(
            "the sources of `{package}` would be compiled with another `{dependency}` than `Cargo.lock` names"
        );
    }
    Ok(())
}

fn locked(path: &Path) -> anyhow::Result<BTreeSet<String>> {
    let document = read_toml(path)?;
    let packages = document
        .get("package")
        .and_then(|packages| packages.as_array_of_tables())
        .with_context(|| missing(path, "list of packages"))?;
    let member = |package: &toml_edit::Table, name: &str| {
        package
            .get(name)
            .and_then(|member| member.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    Ok(packages
        .iter()
        .map(|package| {
            let [name, version, checksum] =
                ["name", "version", "checksum"].map(|name| member(package, name));
            format!("{name} {version} {checksum}").trim_end().to_owned()
        })
        .collect())
}

/// The folders of the crates that are compiled on one of the platforms.
fn needed_crates(workspace: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut needed = BTreeSet::new();
    for platform in PLATFORMS {
        let tree = cargo(
            workspace,
            &[
                "tree",
                "--frozen",
                "--workspace",
                "--edges",
                "normal,build",
                "--prefix",
                "none",
                "--format",
                "{p}",
                "--target",
                platform,
            ],
        )?;
        needed.extend(tree.lines().filter_map(folder_of));
    }
    Ok(needed)
}

/// `NAME vVERSION`, perhaps with more behind it.
fn folder_of(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(" v")?;
    let version = rest.split(' ').next()?;
    Some(format!("{name}-{version}"))
}

/// Reduces a crate to what Cargo reads without compiling it.
fn reduce(folder: &Path) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Checksum {
        package: serde_json::Value,
    }
    let checksum = folder.join(".cargo-checksum.json");
    let Checksum { package } = serde_json::from_str(&read_file(&checksum)?)
        .context("a `.cargo-checksum.json` of `cargo vendor` cannot be understood")?;
    let manifest = read_file(&folder.join("Cargo.toml"))?;
    fs::remove_dir_all(folder).with_context(|| failed(folder))?;
    write_file(&folder.join("Cargo.toml"), &manifest)?;
    write_file(&folder.join("src/lib.rs"), "")?;
    let text = serde_json::json!({"files": {}, "package": package}).to_string();
    write_file(&checksum, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_built_with_the_projects_settings_and_vendored_sources() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let written = configuration(&project).unwrap();
        let written: toml_edit::DocumentMut = written.parse().unwrap();
        assert_eq!(
            written["env"]["AWS_LC_SYS_NO_JITTER_ENTROPY"].as_str(),
            Some("1")
        );
        let replaced = &written["source"]["crates-io"]["replace-with"];
        assert_eq!(replaced.as_str(), Some("vendored-sources"));
        assert_eq!(written["net"]["offline"].as_bool(), Some(true));
    }

    #[test]
    fn a_crate_of_the_tree_is_a_folder_of_vendored_sources() {
        assert_eq!(folder_of("libc v0.2.1").as_deref(), Some("libc-0.2.1"));
        assert_eq!(
            folder_of("serde_derive v1.0.2 (proc-macro) (*)").as_deref(),
            Some("serde_derive-1.0.2")
        );
        assert_eq!(folder_of(""), None);
    }
}
