//! What the broker can say: the texts in its sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::document::project;

/// Where the tests of a file begin.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// The sources of the broker and its crates without comments and tests, texts that run over several lines in one piece. What documents quote
/// stands there, or the broker does not say it.
pub fn broker_texts() -> String {
    let mut texts = String::new();
    for file in files(&project().join("broker")) {
        let source = fs::read_to_string(&file);
        let source = source.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        texts += &without_comments_and_tests(&source);
    }
    texts
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        // Modules of tests have files and folders of their own.
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn without_comments_and_tests(source: &str) -> String {
    let code = source.split(TESTS).next().unwrap_or_default();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let lines: Vec<&str> = lines
        .map(|line| line.split(" // ").next().unwrap_or_default())
        .collect();
    // Where a text is broken, the next line's indentation is not part of it.
    let pieces = lines.join("\n");
    let pieces = pieces.split("\\\n").map(str::trim_start);
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_say_nothing() {
        let source = "/// Of comments.\nfn say() { // At the end.\n    \"over \\\n     two lines, https://x.y\"\n}\n\n\
            #[cfg(test)]\nmod tests {\n    \"of tests\"\n}\n";
        let said = without_comments_and_tests(source);
        assert_eq!(said, "fn say() {\n    \"over two lines, https://x.y\"\n}\n");
    }
}
