//! The texts in the sources of a program: what its users can read.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::document::project;

/// Where the tests of a file begin.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

/// The sources of the broker and its crates without comments and tests. A text over several lines is one piece.
///
/// Documents quote texts of the broker, which a test finds here.
pub fn broker_texts() -> String {
    let mut texts = String::new();
    for file in files(&project().join("broker")) {
        let source = fs::read_to_string(&file);
        let source = source.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        texts += &without_comments_and_tests(&source);
    }
    texts
}

/// The messages below a folder of the project by file: every string literal of at least three words, without tests and
/// the reasons of `expect`.
pub fn messages_of(folder: &str) -> BTreeMap<String, Vec<String>> {
    let mut messages = BTreeMap::new();
    for file in files(&project().join(folder)) {
        let source = fs::read_to_string(&file).expect("sources are text");
        let found = messages_in(&without_comments_and_tests(&source));
        if !found.is_empty() {
            let path = file.strip_prefix(project()).expect("it is below it");
            messages.insert(path.display().to_string(), found);
        }
    }
    messages
}

/// The messages of the project's scripts by file: every here-document, and every string of at least three words.
pub fn messages_of_scripts() -> BTreeMap<String, Vec<String>> {
    let mut messages = BTreeMap::new();
    for folder in ["scripts", "scripts/lib"] {
        let entries = fs::read_dir(project().join(folder)).expect("the folder can be read");
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            let is_script = path.extension().is_none_or(|extension| extension == "bash");
            if !path.is_file() || !is_script {
                continue;
            }
            let source = fs::read_to_string(&path).expect("scripts are text");
            let (mut found, rest) = here_documents(&source);
            found.extend(messages_in(&rest));
            if !found.is_empty() {
                let path = path.strip_prefix(project()).expect("it is below it");
                messages.insert(path.display().to_string(), found);
            }
        }
    }
    messages
}

/// The here-documents of a script with a name in capitals, and the script without them and without comments.
fn here_documents(source: &str) -> (Vec<String>, String) {
    let (mut documents, mut rest) = (Vec::new(), String::new());
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let name = line
            .rsplit_once("<<")
            .map(|(_, name)| name.trim_matches('\''));
        match name.filter(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase())) {
            Some(name) => {
                let document: Vec<&str> = lines.by_ref().take_while(|line| *line != name).collect();
                documents.push(document.join("\n"));
            }
            None if line.trim_start().starts_with('#') => {}
            None => rest = rest + line + "\n",
        }
    }
    (documents, rest)
}

/// The string literals of a source that are messages, in their order.
fn messages_in(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, literal) = rest.split_at(at);
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = before.trim_end_matches('#').ends_with('r') && literal.starts_with('"');
        let length = if is_raw {
            let end = format!("\"{}", "#".repeat(hashes));
            literal[1..].find(&end).map(|end| end + 1)
        } else {
            end_of_literal(literal)
        };
        let Some(length) = length else {
            // A lifetime.
            rest = &literal[1..];
            continue;
        };
        let text = &literal[1..length];
        if literal.starts_with('"') && is_message(text) && !is_for_developers(before) {
            found.push(text.replace("\\\"", "\""));
        }
        rest = &literal[length + 1..];
    }
    found
}

/// Where a literal ends that is not raw. A single quotation mark may begin a lifetime instead of a character.
fn end_of_literal(literal: &str) -> Option<usize> {
    let quote = literal.chars().next()?;
    let mut is_escaped = false;
    for (at, character) in literal.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return Some(at),
            _ if quote == '\'' && at > 1 && !literal[1..].starts_with('\\') => return None,
            _ => {}
        }
    }
    None
}

fn is_message(text: &str) -> bool {
    let words = text.split_whitespace();
    let words = words.filter(|word| word.chars().all(|letter| !letter.is_ascii_digit()));
    words
        .filter(|word| word.chars().any(char::is_alphabetic))
        .count()
        >= 3
}

fn is_for_developers(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with("expect(") || before.ends_with("reason =") || before.ends_with("unreachable!(")
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
    fn messages_are_literals_of_three_words_and_reasons_of_expect_are_none() {
        let source = r##"fn f<'a>(c: char) { c == '"' || c == '\''; log("tried \"it\" twice here"); x.expect("this never fails here");
            y(r#"a "raw" text here"#, "two words", &'a ()) }"##;
        assert_eq!(
            messages_in(source),
            ["tried \"it\" twice here", "a \"raw\" text here"]
        );
    }

    #[test]
    fn here_documents_of_a_script_are_apart_from_its_strings() {
        let source =
            "# \"a comment of three\"\ncat <<'USAGE'\nRuns it.\nUSAGE\nfail \"it is not there\"\n";
        let (documents, rest) = here_documents(source);
        assert_eq!(documents, ["Runs it."]);
        assert_eq!(messages_in(&rest), ["it is not there"]);
    }

    #[test]
    fn comments_and_tests_say_nothing() {
        let source = "/// Of comments.\nfn say() { // At the end.\n    \"over \\\n     two lines, https://x.y\"\n}\n\n\
            #[cfg(test)]\nmod tests {\n    \"of tests\"\n}\n";
        let said = without_comments_and_tests(source);
        assert_eq!(said, "fn say() {\n    \"over two lines, https://x.y\"\n}\n");
    }
}
