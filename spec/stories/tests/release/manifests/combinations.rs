//! Each valid combination gives a working broker.

use std::collections::BTreeSet;

use super::{
    site::Site,
    table::{self, BASES, Line},
};

#[test]
fn each_base_is_a_broker_with_and_without_each_ops_file() {
    for base in BASES {
        Site::of(base, &[]).assert_fine(base);
        for line in table::lines().iter().filter(|line| line.goes_with(base)) {
            let file = line.file.as_str();
            Site::of(base, &[file]).assert_fine(&format!("{base} with {file}"));
        }
    }
}

#[test]
fn every_two_ops_files_that_go_together_are_a_broker_together() {
    for base in BASES {
        for files in sets_with_every_pair(base) {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            Site::of(base, &files).assert_fine(&format!("{base} with {files:?}"));
        }
    }
}

/// Sets of files that contain every compatible pair at least once. A pair that fails in such a set, or fails alone, is
/// found; the test of single files and the sets with different first files show that no third file is needed.
fn sets_with_every_pair(base: &str) -> Vec<Vec<String>> {
    let mut lines = table::lines();
    lines.retain(|line| line.goes_with(base));
    let mut open = BTreeSet::new();
    for (position, one) in lines.iter().enumerate() {
        let others = lines[position + 1..].iter();
        let others = others.filter(|other| one.goes_with(&other.file));
        open.extend(others.map(|other| (one.file.clone(), other.file.clone())));
    }
    let mut sets = Vec::new();
    while let Some((one, other)) = open.first().cloned() {
        let mut set = vec![one, other];
        for line in &lines {
            if !set.contains(&line.file) && set.iter().all(|file| line.goes_with(file)) {
                set.push(line.file.clone());
            }
        }
        open.retain(|(one, other)| !(set.contains(one) && set.contains(other)));
        sets.push(in_order(&lines, &set));
    }
    sets
}

fn in_order(lines: &[Line], set: &[String]) -> Vec<String> {
    let files = lines.iter().map(|line| &line.file);
    files.filter(|file| set.contains(file)).cloned().collect()
}
