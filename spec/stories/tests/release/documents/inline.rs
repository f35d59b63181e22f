//! Commands within the text, and in blocks that only show something: the subcommands and flags that they name exist.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use odb_stories::{Binaries, Document};

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const PROGRAMS: [&str; 6] = [
    "on-demand-broker",
    "odb",
    "odb-errand",
    "odb-adapter",
    "odb-sandbox",
    "odb-conformance",
];

/// Where our programs are on a VM.
const ON_A_VM: &str = "/var/vcap/packages/on-demand-broker/bin/";

/// Commands of the cf command line that the sandbox has no use for.
const ONLY_CF: [&str; 4] = ["create-quota", "create-space-quota", "login", "target"];

/// The help texts of programs, by their subcommands.
#[derive(Default)]
struct Helps {
    texts: BTreeMap<String, String>,
}

impl Helps {
    fn of(&mut self, program: &str, subcommands: &[&str]) -> &str {
        let key = format!("{program} {}", subcommands.join(" "));
        self.texts.entry(key).or_insert_with(|| {
            let output = Command::new(Binaries::find().path(program))
                .args(subcommands)
                .arg("--help")
                .stdin(Stdio::null())
                .output()
                .expect("it can be started");
            assert!(output.status.success(), "{program} {subcommands:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        })
    }

    fn fault(&mut self, program: &str, words: &[&str]) -> Option<String> {
        let mut subcommands = Vec::new();
        for word in words.iter().take_while(|word| !word.starts_with('-')) {
            let known = commands(self.of(program, &subcommands));
            if known.is_empty() || is_placeholder(word) {
                break;
            }
            if !known.iter().any(|name| name == word) {
                return Some(format!("there is no subcommand `{word}`"));
            }
            subcommands.push(word);
        }
        let help = self.of(program, &subcommands).to_owned();
        flags(words)
            .find(|flag| !has_word(&help, flag))
            .map(|flag| format!("there is no flag `{flag}`"))
    }
}

/// The error in a command of one of our programs.
pub(super) fn fault_of(program: &str, words: &[&str]) -> Option<String> {
    Helps::default().fault(program, words)
}

#[test]
fn commands_within_the_text_have_subcommands_and_flags_that_there_are() {
    let mut helps = Helps::default();
    let errands = commands(helps.of("odb-errand", &[]));
    let (mut looked_at, mut wrong) = (0, Vec::new());
    for document in Document::all() {
        for (line, code) in document.code().into_iter().chain(shown(&document)) {
            let words: Vec<&str> = code.split_whitespace().collect();
            let Some((program, rest)) = words.split_first() else {
                continue;
            };
            let program = &program.strip_prefix(ON_A_VM).unwrap_or(program);
            let fault = if PROGRAMS.contains(program) {
                helps.fault(program, rest)
            } else if *program == "cf" && !rest.first().is_some_and(|word| ONLY_CF.contains(word)) {
                helps.fault("odb-sandbox", &words)
            } else if errands.iter().any(|errand| errand == program) {
                helps.fault("odb-errand", &words)
            } else if program.starts_with("scripts/") {
                error_of_script(program, rest)
            } else {
                continue;
            };
            looked_at += 1;
            wrong.extend(fault.map(|fault| format!("{}:{line}: `{code}`: {fault}", document.path)));
        }
    }
    assert!(looked_at > 50, "the commands are not found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of blocks that no test runs.
fn shown(document: &Document) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for fence in document.fences() {
        if fence.information == "text" {
            let numbered = fence.text.lines().enumerate();
            lines.extend(numbered.map(|(number, line)| (fence.line + 1 + number, line.to_owned())));
        }
    }
    lines
}

fn error_of_script(script: &str, words: &[&str]) -> Option<String> {
    let Ok(text) = fs::read_to_string(Path::new(PROJECT).join(script)) else {
        let is_folder = Path::new(PROJECT).join(script).is_dir();
        return (!is_folder).then(|| "there is no such script".to_owned());
    };
    flags(words)
        .find(|flag| !has_word(&text, flag))
        .map(|flag| format!("there is no flag `{flag}`"))
}

/// The names under `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    list.lines()
        .take_while(|line| line.starts_with(' ') || line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// The long flags of a command, without their values.
fn flags<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let flags = words.iter().filter(|word| word.starts_with("--"));
    flags.filter_map(|flag| flag.split('=').next())
}

/// A placeholder for any word.
fn is_placeholder(word: &str) -> bool {
    word.bytes().all(|byte| !byte.is_ascii_lowercase())
}

/// Whether a text has a flag, and not only one that begins like it.
fn has_word(text: &str, flag: &str) -> bool {
    let is_of_a_flag = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    text.split(|letter| !is_of_a_flag(letter))
        .any(|word| word == flag)
}
