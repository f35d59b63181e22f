//! Which tests there are, so that documents name none that are not.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where there are tests.
const FOLDERS: [&str; 7] = [
    "adapter-sdk",
    "adapters",
    "broker",
    "errands",
    "release",
    "sandbox",
    "spec",
];

/// All tests of the project by the names under which the test runner knows them within their binaries, with their
/// files.
#[derive(Debug)]
pub struct ProjectTests {
    tests: BTreeMap<String, PathBuf>,
}

impl ProjectTests {
    pub fn find() -> Self {
        let mut tests = BTreeMap::new();
        for folder in FOLDERS {
            for file in sources(&Path::new(PROJECT).join(folder)) {
                let module = module(&file);
                let source = fs::read_to_string(&file);
                let source = source.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                for test in tests_in(&source) {
                    let name = [module.as_slice(), &[test]].concat().join("::");
                    tests.insert(name, file.clone());
                }
            }
        }
        assert!(tests.len() > 300, "the tests of the project are not found");
        Self { tests }
    }

    /// Whether there is one of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.tests.contains_key(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.tests.keys()
    }

    /// The code, without comments, of a test's file, of the modules within it and of those beside it that it uses. The
    /// test may be named with its binary in front of its module: `story::check::NAME`.
    pub fn sources_of(&self, name: &str) -> Option<String> {
        let without_binary = name.split_once("::").map_or(name, |(_, rest)| rest);
        let file = self
            .tests
            .get(name)
            .or_else(|| self.tests.get(without_binary))?;
        let own = code(file);
        let is_used = |module: &Path| {
            let name = module.file_stem().map(|stem| stem.to_string_lossy());
            name.is_some_and(|name| own.contains(&format!("{name}::")))
        };
        let folder = file.parent().expect("a file is in a folder");
        let within = file.with_extension("");
        let others = sources(folder).into_iter();
        let used = others.filter(|other| {
            let is_beside = other.parent() == Some(folder);
            other != file && (other.starts_with(&within) || is_beside && is_used(other))
        });
        let texts: String = used.map(|other| code(&other)).collect();
        Some(own.clone() + &texts)
    }
}

/// A file without the lines that are comments.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
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
    let location = |name: &str| segments.iter().rposition(|segment| segment == name);
    let begin = match (location("src"), location("tests")) {
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
