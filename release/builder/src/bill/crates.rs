//! The crates in some programs, as Cargo resolves them. Build scripts and macros run at compile time and are no part of
//! a program.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use serde::Deserialize;
use walkdir::WalkDir;

use super::{Component, Origin, READING};
use crate::stage::{read_toml, run};

/// Beginnings of the names of files with licences, in lower case.
const LICENSES: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "unlicense",
];

/// Name and version.
type Id = (String, String);

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    /// Absent for members of the workspace.
    source: Option<String>,
    manifest_path: PathBuf,
}

pub(super) fn of(
    project: &Path,
    programs: &[String],
    target: &str,
) -> anyhow::Result<Vec<Component>> {
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    let metadata = cargo(project, &["metadata", "--locked", "--format-version", "1"])?;
    let metadata: Metadata =
        serde_json::from_str(&metadata).context("the output of `cargo metadata` is not JSON")?;
    let mut packages: HashMap<Id, Package> = metadata
        .packages
        .into_iter()
        .map(|package| ((package.name.clone(), package.version.clone()), package))
        .collect();
    let checksums = checksums(&project.join("Cargo.lock"))?;
    let graph = graph(&tree(project, programs, target)?)?;
    let purls: BTreeMap<Id, String> = graph
        .keys()
        .map(|id| {
            let package = packages.get(id).with_context(|| unknown(id))?;
            Ok((id.clone(), purl(package)))
        })
        .collect::<anyhow::Result<_>>()?;
    let mut components = Vec::new();
    for (id, uses) in graph {
        let package = packages.remove(&id).with_context(|| unknown(&id))?;
        let is_member = package.source.is_none();
        let texts = if is_member {
            Vec::new()
        } else {
            license_files(&package.manifest_path)?
        };
        components.push(Component {
            purl: purl(&package),
            origin: if is_member {
                Origin::Project
            } else {
                Origin::Registry
            },
            // Older crates separate alternatives by a slash.
            license: package
                .license
                .map(|license| license.replace(" / ", " OR ").replace('/', " OR ")),
            sha256: checksums.get(&id).cloned(),
            texts,
            authors: package.authors,
            uses: uses
                .iter()
                .filter_map(|id| purls.get(id).cloned())
                .collect(),
            name: package.name,
            version: package.version,
        });
    }
    Ok(components)
}

fn unknown((name, version): &Id) -> String {
    format!("`cargo metadata` does not list `{name}` {version} of `cargo tree`")
}

fn purl(package: &Package) -> String {
    let identity = format!("{}@{}", package.name, package.version).replace('+', "%2B");
    match &package.source {
        // The registry's crates of these names are others.
        None => format!(
            "pkg:generic/{identity}?vcs_url=git%2B{}",
            env!("CARGO_PKG_REPOSITORY")
        ),
        Some(_) => format!("pkg:cargo/{identity}"),
    }
}

fn cargo(project: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(project);
    run(command, "install the Rust toolchain", READING)
}

/// The features of dependencies are those that a build of these packages, and of no others, has.
fn tree(project: &Path, programs: &[String], target: &str) -> anyhow::Result<String> {
    let mut arguments = vec![
        "tree",
        "--locked",
        "--edges",
        "normal,no-proc-macro",
        "--prefix",
        "depth",
        "--format",
        " {p}",
        "--target",
        target,
    ];
    for program in programs {
        arguments.extend(["--package", program]);
    }
    cargo(project, &arguments)
}

/// Reads lines of `DEPTH NAME vVERSION`, perhaps with more behind it. Cargo shows what a crate uses once.
fn graph(tree: &str) -> anyhow::Result<BTreeMap<Id, BTreeSet<Id>>> {
    let mut graph: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut path: Vec<Id> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let (depth, id) = entry(line)
            .with_context(|| format!("`cargo tree` has printed `{line}`, which is no crate"))?;
        ensure!(
            depth <= path.len(),
            "`cargo tree` has left out a level before `{line}`"
        );
        path.truncate(depth);
        if let Some(user) = path.last() {
            graph.entry(user.clone()).or_default().insert(id.clone());
        }
        graph.entry(id.clone()).or_default();
        path.push(id);
    }
    Ok(graph)
}

fn entry(line: &str) -> Option<(usize, Id)> {
    let (depth, rest) = line.split_once(' ')?;
    let (name, rest) = rest.split_once(" v")?;
    let version = rest.split(' ').next()?;
    Some((depth.parse().ok()?, (name.to_owned(), version.to_owned())))
}

/// The digests of the crates of a registry.
fn checksums(lock: &Path) -> anyhow::Result<HashMap<Id, String>> {
    let document = read_toml(lock)?;
    let packages = document
        .get("package")
        .and_then(|packages| packages.as_array_of_tables());
    let member = |package: &toml_edit::Table, name| {
        package
            .get(name)
            .and_then(|member| member.as_str())
            .map(str::to_owned)
    };
    Ok(packages
        .into_iter()
        .flatten()
        .filter_map(|package| {
            let id = (member(package, "name")?, member(package, "version")?);
            Some((id, member(package, "checksum")?))
        })
        .collect())
}

/// The files in the crate's folder and one level below, where crates with C sources have those of the sources.
fn license_files(manifest: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = manifest.parent().unwrap_or(manifest);
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).max_depth(2).sort_by_file_name() {
        let entry = entry.with_context(|| crate::contents::unreadable(folder))?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let source = Path::new(&name)
            .extension()
            .is_some_and(|ending| ending == "rs" || ending == "go");
        if entry.file_type().is_file()
            && !source
            && LICENSES.iter().any(|beginning| name.starts_with(beginning))
        {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Id {
        (name.to_owned(), "1.0.0".to_owned())
    }

    #[test]
    fn the_tree_is_a_graph_and_a_crate_is_used_by_several() {
        let tree = "0 program v1.0.0 (/some where/cli)\n1 one v1.0.0\n2 two v1.0.0\n1 two v1.0.0 (*)\n\n0 other v1.0.0 (/x)\n1 two v1.0.0\n";
        let graph = graph(tree).unwrap();
        assert_eq!(graph.len(), 4);
        assert_eq!(
            graph[&id("program")],
            BTreeSet::from([id("one"), id("two")])
        );
        assert_eq!(graph[&id("one")], BTreeSet::from([id("two")]));
        assert_eq!(graph[&id("other")], BTreeSet::from([id("two")]));
        assert!(graph[&id("two")].is_empty());
    }

    #[test]
    fn other_output_is_an_error_with_the_line() {
        for tree in ["warning: something\n", "0 a v1.0.0\n2 b v1.0.0\n"] {
            let error = graph(tree).unwrap_err().to_string();
            assert!(
                error.contains(tree.lines().last().unwrap_or_default()),
                "{error}"
            );
        }
    }
}
