//! The crates that a package's programs need.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde::Deserialize;
use tempfile::NamedTempFile;
use toml_edit::DocumentMut;

use super::{StageError, child, failed, read_file, write_file};

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

const REMEDY: &str = "install the Rust toolchain";

/// Puts the crates of `Cargo.lock` that the workspace needs into its folder `vendor`. Of crates that only other
/// platforms or features need, Cargo wants to see no more than their `Cargo.toml`, and they get no more.
pub(super) fn stage(
    project: &Path,
    package: &'static str,
    workspace: &Path,
) -> Result<(), StageError> {
    let vendor = workspace.join("vendor");
    let mut command = cargo(workspace);
    command
        .args(["vendor", "--quiet", "--versioned-dirs", "vendor"])
        .stdout(Stdio::null());
    child::run(&mut command, REMEDY, FETCHING)?;
    check_lock(project, package, workspace)?;
    write_file(&workspace.join(OWN), &configuration(project)?)?;

    let needed = needed_crates(workspace)?;
    for entry in fs::read_dir(&vendor).map_err(|source| failed(&vendor, source))? {
        let entry = entry.map_err(|source| failed(&vendor, source))?;
        if !needed.contains(&*entry.file_name().to_string_lossy()) {
            reduce(&entry.path())?;
        }
    }
    Ok(())
}

/// Merges the project's settings with those of a release; they have separate tables.
fn configuration(project: &Path) -> Result<String, StageError> {
    let own = read_file(&project.join(OWN))?;
    Ok(format!("{own}\n{CONFIGURATION}"))
}

fn cargo(workspace: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(workspace);
    command
}

/// Cargo has removed unused packages from `Cargo.lock`; it may have changed nothing else.
fn check_lock(project: &Path, package: &'static str, workspace: &Path) -> Result<(), StageError> {
    let own = locked(&project.join("Cargo.lock"))?;
    match locked(&workspace.join("Cargo.lock"))?
        .difference(&own)
        .next()
    {
        None => Ok(()),
        Some(dependency) => Err(StageError::OtherDependency {
            package,
            dependency: dependency.clone(),
        }),
    }
}

/// Names, versions and digests.
fn locked(path: &Path) -> Result<BTreeSet<String>, StageError> {
    let document: DocumentMut = read_file(path)?
        .parse()
        .map_err(|source| StageError::Cargo {
            path: path.to_owned(),
            source,
        })?;
    let packages = document
        .get("package")
        .and_then(|packages| packages.as_array_of_tables())
        .ok_or_else(|| StageError::Workspace {
            path: path.to_owned(),
            missing: "list of packages",
        })?;
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
fn needed_crates(workspace: &Path) -> Result<BTreeSet<String>, StageError> {
    let mut needed = BTreeSet::new();
    for platform in PLATFORMS {
        let answer = NamedTempFile::new().map_err(|source| failed(workspace, source))?;
        let stdout = answer
            .reopen()
            .map_err(|source| failed(answer.path(), source))?;
        let mut command = cargo(workspace);
        command
            .args(["tree", "--frozen", "--workspace", "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}", "--target", platform])
            .stdout(stdout);
        child::run(&mut command, REMEDY, FETCHING)?;
        needed.extend(read_file(answer.path())?.lines().filter_map(folder_of));
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
fn reduce(folder: &Path) -> Result<(), StageError> {
    #[derive(Deserialize)]
    struct Checksum {
        package: serde_json::Value,
    }
    let checksum = folder.join(".cargo-checksum.json");
    let Checksum { package } =
        serde_json::from_str(&read_file(&checksum)?).map_err(StageError::Checksum)?;
    let manifest = read_file(&folder.join("Cargo.toml"))?;
    fs::remove_dir_all(folder).map_err(|source| failed(folder, source))?;
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
        let written: DocumentMut = written.parse().unwrap();
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
