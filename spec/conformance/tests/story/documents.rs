//! What the documents say of the code is true of it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The points of `spec/contracts/broker-behaviour.md` §9.
const POINTS: usize = 46;

/// Where a point stands that no test shows.
const ELSEWHERE: [&str; 2] = ["**later", "**declined"];

#[test]
fn every_difference_from_the_go_broker_is_told_once_with_a_test_that_exists() {
    let document = read(&Path::new(PROJECT).join("docs/operators/differences.md"));
    let tests = tests_of_the_project();
    assert!(tests.len() > 300, "the tests of the project are not found");

    let rows: Vec<(usize, &str)> = document.lines().filter_map(numbered).collect();
    let numbers: Vec<usize> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=POINTS).collect::<Vec<_>>());
    for (number, row) in rows {
        let named: Vec<&str> = code(row).filter(|word| is_test_name(word)).collect();
        let stands = !named.is_empty() || ELSEWHERE.iter().any(|word| row.contains(word));
        assert!(
            stands,
            "point {number} says neither who shows it nor why not"
        );
    }
    // Names stand in the text around the tables, too.
    let unknown: Vec<&str> = document
        .lines()
        .flat_map(code)
        .filter(|word| is_test_name(word) && !tests.contains(*word))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new(), "there are no such tests");
}

/// A row of a table that begins with a number.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let number = line.strip_prefix("| ")?.split(" | ").next()?;
    Some((number.trim().parse().ok()?, line))
}

/// What stands between back-ticks.
fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// `module::a_sentence`, as the test runner prints it.
fn is_test_name(word: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:".contains(&byte);
    word.contains("::") && word.bytes().all(allowed)
}

/// All tests by the names under which the test runner knows them within their binaries.
fn tests_of_the_project() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for folder in ["adapter-sdk", "adapters", "broker", "spec"] {
        for file in sources(&Path::new(PROJECT).join(folder)) {
            let module = module(&file);
            let source = read(&file);
            let found = tests_in(&source);
            tests.extend(found.map(|test| [module.as_slice(), &[test]].concat().join("::")));
        }
    }
    tests
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is part of the project");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The module that a file is: what follows `src/`, or the name of a test binary.
fn module(file: &Path) -> Vec<String> {
    let within = file.strip_prefix(PROJECT).unwrap_or(file);
    let segments: Vec<String> = within
        .with_extension("")
        .iter()
        .map(|segment| segment.to_string_lossy().into_owned())
        .collect();
    let place = |name: &str| segments.iter().rposition(|segment| segment == name);
    let begin = match (place("src"), place("tests")) {
        (Some(src), _) => src + 1,
        (None, Some(tests)) => tests + 2,
        (None, None) => segments.len(),
    };
    let mut module = segments.get(begin..).unwrap_or_default().to_vec();
    module.retain(|segment| !["mod", "lib", "main"].contains(&segment.as_str()));
    module
}

/// The tests of a file, those of a module within it with that module's name.
fn tests_in(source: &str) -> impl Iterator<Item = String> {
    let (mut within, mut marked) = ("", false);
    source.lines().filter_map(move |line| {
        let line = line.trim();
        if line == "mod tests {" {
            within = "tests::";
        }
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            marked = true;
        }
        let name = line
            .strip_prefix("async ")
            .unwrap_or(line)
            .strip_prefix("fn ")?;
        let is_test = std::mem::take(&mut marked);
        let name = name.split('(').next()?;
        is_test.then(|| format!("{within}{name}"))
    })
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
