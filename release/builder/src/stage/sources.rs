//! The part of the workspace that a package's programs are made of.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use anyhow::Context;
use toml_edit::{Array, DocumentMut, value};
use walkdir::{DirEntry, WalkDir};

use super::{Package, copy_file, failed, read_file, vendored, write_file};

/// Folders of a workspace package beside its sources; they are not compiled into programs.
const LEFT_OUT: [&str; 2] = ["tests", "target"];

/// Sections that only tests need.
const FOR_TESTS: [&str; 4] = ["dev-dependencies", "test", "bench", "example"];

/// Creates a workspace of the members that the programs need, with a reduced `Cargo.lock` and its crates. It compiles
/// without a network.
pub(super) fn stage(project: &Path, package: &Package, sources: &Path) -> anyhow::Result<()> {
    let folder = sources.join(package.name);
    let workspace = Workspace::read(project)?;
    let members = workspace.needed_by(package.programs)?;
    workspace.write_root(&members, &folder)?;
    for member in &members {
        workspace.write_member(member, &folder)?;
    }
    copy_file(&project.join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    vendored::stage(project, package.name, &folder)
}

/// The oldest Rust that compiles the workspace.
pub(super) fn rust_version(project: &Path) -> anyhow::Result<String> {
    let path = project.join("Cargo.toml");
    read_toml(&path)?["workspace"]["package"]["rust-version"]
        .as_str()
        .map(str::to_owned)
        .with_context(|| missing(&path, "`workspace.package.rust-version`"))
}

struct Workspace {
    folder: PathBuf,
    root: DocumentMut,
    /// From the name of a package to its folder below the workspace's, and its manifest.
    members: BTreeMap<String, (String, DocumentMut)>,
}

impl Workspace {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join("Cargo.toml");
        let root = read_toml(&path)?;
        let listed = root
            .get("workspace")
            .and_then(|workspace| workspace.get("members"))
            .and_then(|members| members.as_array())
            .with_context(|| missing(&path, "list `workspace.members`"))?;
        let mut members = BTreeMap::new();
        for member in listed.iter().filter_map(|member| member.as_str()) {
            let path = folder.join(member).join("Cargo.toml");
            let document = read_toml(&path)?;
            let name = document
                .get("package")
                .and_then(|package| package.get("name"))
                .and_then(|name| name.as_str())
                .map(str::to_owned)
                .with_context(|| missing(&path, "`package.name`"))?;
            members.insert(name, (member.to_owned(), document));
        }
        Ok(Self {
            folder: folder.to_owned(),
            root,
            members,
        })
    }

    /// Members and their dependencies, by name.
    fn needed_by(&self, programs: &[&str]) -> anyhow::Result<BTreeSet<String>> {
        let mut needed = BTreeSet::new();
        let mut open: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
        while let Some(name) = open.pop() {
            let (_, document) = self.members.get(&name).with_context(|| {
                let path = self.folder.join("Cargo.toml");
                missing(&path, "member for each program of the release")
            })?;
            if !needed.insert(name) {
                continue;
            }
            for table in ["dependencies", "build-dependencies"] {
                let Some(dependencies) =
                    document.get(table).and_then(|table| table.as_table_like())
                else {
                    continue;
                };
                open.extend(
                    dependencies
                        .iter()
                        .filter(|(dependency, _)| self.members.contains_key(*dependency))
                        .map(|(dependency, _)| dependency.to_owned()),
                );
            }
        }
        Ok(needed)
    }

    fn write_root(&self, members: &BTreeSet<String>, into: &Path) -> anyhow::Result<()> {
        let mut root = self.root.clone();
        let folders: Array = members
            .iter()
            .filter_map(|name| self.members.get(name))
            .map(|(folder, _)| folder.as_str())
            .collect();
        root["workspace"]["members"] = value(folders);
        write_file(&into.join("Cargo.toml"), &root.to_string())
    }

    fn write_member(&self, name: &str, into: &Path) -> anyhow::Result<()> {
        let Some((folder, document)) = self.members.get(name) else {
            return Ok(());
        };
        let from = self.folder.join(folder);
        let to = into.join(folder);
        let others: Vec<PathBuf> = self
            .members
            .values()
            .map(|(other, _)| self.folder.join(other))
            .filter(|other| *other != from)
            .collect();
        let inside = |entry: &DirEntry| {
            let name = entry.file_name().to_string_lossy();
            let left_out = entry.depth() == 1 && LEFT_OUT.contains(&name.as_ref());
            let hidden = entry.depth() > 0 && name.starts_with('.');
            let of_another = others.iter().any(|other| entry.path() == other);
            !(left_out || hidden || of_another)
        };
        for entry in WalkDir::new(&from)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(inside)
        {
            let entry = entry.with_context(|| failed(&from))?;
            if entry.file_type().is_file() {
                let name = entry.path().strip_prefix(&from).unwrap_or(entry.path());
                copy_file(entry.path(), &to.join(name))?;
            }
        }
        let mut document = document.clone();
        for table in FOR_TESTS {
            document.remove(table);
        }
        write_file(&to.join("Cargo.toml"), &document.to_string())
    }
}

pub(crate) fn read_toml(path: &Path) -> anyhow::Result<DocumentMut> {
    let parsed = read_file(path)?.parse();
    parsed.with_context(|| format!("`{}` cannot be understood", path.display()))
}

pub(super) fn missing(path: &Path, what: &str) -> String {
    format!("`{}` has no {what}", path.display())
}
