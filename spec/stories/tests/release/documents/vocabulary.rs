//! No retired word is in code, messages or documents (`spec/retired-words.txt`).

use std::{collections::BTreeMap, fs, path::Path};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const LIST: &str = "spec/retired-words.txt";

/// The exception of a folder has this instead of a word.
const EVERY: &str = "every";

/// Words with what to write instead, and the exceptions as pairs of path and word.
struct RetiredWords {
    words: BTreeMap<String, String>,
    exceptions: Vec<(String, String)>,
}

#[test]
fn no_retired_word_is_in_the_project() {
    let retired = RetiredWords::read();
    assert!(!retired.words.is_empty(), "{LIST} names no word");
    let found: Vec<_> = files()
        .iter()
        .flat_map(|path| retired.found_in(path))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let RetiredWords { words, exceptions } = RetiredWords::read();
    let strict = RetiredWords {
        words,
        exceptions: Vec::new(),
    };
    for (path, word) in &exceptions {
        let of_it = |file: &String| file == path || (word == EVERY && file.starts_with(path));
        let found: Vec<_> = files()
            .iter()
            .filter(|file| of_it(file))
            .flat_map(|file| strict.found_in(file))
            .collect();
        let is_needed = |line: &String| word == EVERY || line.contains(&format!("`{word}`"));
        assert!(found.iter().any(is_needed), "{path} has no `{word}`");
    }
}

#[test]
fn a_word_is_found_in_identifiers_and_in_the_plural() {
    let parts = |text: &str| words_of(text).collect::<Vec<_>>();
    assert_eq!(
        parts("fn of_TwoWords(HTTP2)"),
        ["fn", "of", "two", "words", "http"]
    );
    assert_eq!(parts("A neighbour's"), ["a", "neighbour", "s"]);
    let retired = RetiredWords {
        words: [("mend".to_owned(), "fix".to_owned())].into(),
        exceptions: Vec::new(),
    };
    for text in ["mends", "is_mend", "ToMend"] {
        assert_eq!(retired.retired_in(text), ["mend"], "{text}");
    }
    assert!(retired.retired_in("amend recommend").is_empty());
}

#[test]
fn a_phrase_is_found_in_texts_and_in_identifiers() {
    let retired = RetiredWords {
        words: [("hand-over".to_owned(), "submit".to_owned())].into(),
        exceptions: Vec::new(),
    };
    for text in ["to hand over the task", "hand_over", "HandOver"] {
        assert_eq!(retired.retired_in(text), ["hand-over"], "{text}");
    }
    assert!(retired.retired_in("handover overhand").is_empty());
}

impl RetiredWords {
    fn read() -> Self {
        let text = fs::read_to_string(Path::new(PROJECT).join(LIST)).expect("the list is there");
        let mut read = Self {
            words: BTreeMap::new(),
            exceptions: Vec::new(),
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [] => {}
                ["except", path, word] => read.exceptions.push((path.into(), word.into())),
                [word, ref instead @ ..] => {
                    assert!(!instead.is_empty(), "{word}: nothing to write instead");
                    read.words.insert(word.into(), instead.join(" "));
                }
            }
        }
        read
    }

    /// One line for each retired word in a file: place, word, and what to write instead.
    fn found_in(&self, path: &str) -> Vec<String> {
        // Recordings and images are skipped.
        let Ok(text) = fs::read_to_string(Path::new(PROJECT).join(path)) else {
            return Vec::new();
        };
        let lines = text.lines().enumerate();
        lines
            .flat_map(|(number, line)| {
                self.retired_in(line)
                    .into_iter()
                    .map(move |word| (number, word))
            })
            .filter(|(_, word)| {
                let is_this = |(of, excepted): &(String, String)| {
                    (of == path && excepted == word) || (excepted == EVERY && path.starts_with(of))
                };
                !self.exceptions.iter().any(is_this)
            })
            .map(|(number, word)| {
                format!(
                    "{path}:{}: `{word}`: write {}",
                    number + 1,
                    self.words[word]
                )
            })
            .collect()
    }

    /// The retired words of a line, in the singular or the plural, and the retired phrases, which have hyphens in the list.
    fn retired_in(&self, line: &str) -> Vec<&str> {
        let words: Vec<String> = words_of(line).collect();
        let longest = self.words.keys().map(|key| key.split('-').count()).max();
        let found = (1..=longest.unwrap_or(1)).flat_map(|length| words.windows(length));
        found
            .filter_map(|phrase| {
                let phrase = phrase.join("-");
                let singular = phrase.strip_suffix('s').unwrap_or(&phrase);
                let retired = self.words.get_key_value(&phrase);
                let retired = retired.or_else(|| self.words.get_key_value(singular));
                retired.map(|(word, _)| word.as_str())
            })
            .collect()
    }
}

/// The words of a text in lower case. Identifiers are taken apart at `_` and at capitals.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in text.chars() {
        if !character.is_alphabetic() || (was_lower && character.is_uppercase()) {
            words.push(String::new());
        }
        if character.is_alphabetic() {
            words
                .last_mut()
                .expect("there is one from the beginning")
                .extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// Every file of the project, by its path from the root.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(PROJECT).to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("folders of the project can be read") {
            let entry = entry.expect("folders of the project can be read");
            let kind = entry.file_type().expect("files have a kind");
            let name = entry.file_name();
            if kind.is_dir() && name != "target" && name != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let path = path.strip_prefix(PROJECT).expect("it is below the root");
                files.push(path.to_str().expect("paths are text").to_owned());
            }
        }
    }
    files.retain(|path| path != LIST && !path.ends_with("/vocabulary.rs"));
    assert!(files.len() > 500, "{} files", files.len());
    files
}
