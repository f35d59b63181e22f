//! The table of ops files in the operators' document, which every test here goes by.

use std::collections::BTreeSet;

use odb_stories::manifest::{Manifest, OpsFile};

pub(super) const DOCUMENT: &str = include_str!("../../../../../docs/operators/manifests.md");
pub(super) const BASES: [&str; 2] = ["redis.yml", "kafka.yml"];

/// A line of the table.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) file: String,
    variables: Vec<String>,
    excluded: BTreeSet<String>,
}

/// All lines, in the order in which the files are given.
pub(super) fn lines() -> Vec<Line> {
    let table = DOCUMENT.split_once("| file in `manifests/operations/` |");
    let (_, table) = table.expect("the document has this table");
    let lines = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    lines.map(line).collect()
}

impl Line {
    /// Whether it can be used with another file, be it a base.
    pub(super) fn goes_with(&self, other: &str) -> bool {
        !self.excluded.contains(other)
    }

    pub(super) fn operations(&self) -> OpsFile {
        operations(&self.file)
    }
}

pub(super) fn operations(file: &str) -> OpsFile {
    OpsFile::of_project(&format!("manifests/operations/{file}"))
}

pub(super) fn base(file: &str) -> Manifest {
    Manifest::of_project(&format!("manifests/{file}"))
}

fn line(text: &str) -> Line {
    let cells: Vec<&str> = text.trim_matches('|').split(" |").collect();
    let [file, _, variables, excluded] = cells[..] else {
        panic!("not four cells: {text}");
    };
    Line {
        file: code(file).remove(0),
        variables: code(variables),
        excluded: code(excluded).into_iter().collect(),
    }
}

/// The code between back-ticks.
fn code(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_ops_file_is_in_the_table_and_no_other() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../manifests/operations");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let listed = lines().into_iter().map(|line| line.file);
    assert_eq!(
        listed.collect::<BTreeSet<_>>(),
        files.collect::<BTreeSet<_>>()
    );
}

#[test]
fn what_excludes_another_is_excluded_by_it() {
    let lines = lines();
    for line in &lines {
        for excluded in &line.excluded {
            if BASES.contains(&excluded.as_str()) {
                continue;
            }
            let other = lines.iter().find(|other| other.file == *excluded);
            let other = other.unwrap_or_else(|| panic!("{}: {excluded}", line.file));
            assert!(!other.goes_with(&line.file), "{} and {excluded}", line.file);
        }
    }
}

#[test]
fn the_variables_of_each_file_are_the_ones_it_brings() {
    for line in lines() {
        let base = BASES.into_iter().find(|base| line.goes_with(base));
        let base = self::base(base.unwrap());
        let before = base.variables_to_give();
        let after = base.with_operations(&line.operations()).unwrap();
        let mut brought = after.variables_to_give();
        brought.retain(|name| !before.contains(name));
        assert_eq!(brought, line.variables, "{}", line.file);
    }
}
