//! `--help` of every program: imperative, with examples, and in snapshots that a reviewer reads as one text.

use std::process::Command;

use odb_stories::Binaries;

const PROGRAMS: [&str; 6] = [
    "on-demand-broker",
    "odb",
    "odb-errand",
    "odb-adapter",
    "odb-sandbox",
    "odb-conformance",
];

/// The heading of examples in a help text.
const EXAMPLES: &str = "Examples:\n";

#[test]
fn every_help_text_is_in_the_snapshot_of_its_program() {
    for program in PROGRAMS {
        let pages = pages_of(program, &[]);
        let all: Vec<String> = pages
            .iter()
            .map(|(call, text)| format!("$ {call} --help\n{text}\n"))
            .collect();
        insta::assert_snapshot!(format!("help-{program}"), all.concat());
    }
}

#[test]
fn every_help_text_has_examples_of_its_own_command() {
    for program in PROGRAMS {
        for (call, text) in pages_of(program, &[]) {
            let Some((_, examples)) = text.split_once(EXAMPLES) else {
                // The group above has examples of its commands.
                assert!(call.split(' ').count() > 2, "{call} has no examples");
                continue;
            };
            let mut lines = examples.lines().map(str::trim);
            let shown: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
            assert!(!shown.is_empty(), "{call} has no examples");
            for example in shown {
                assert!(example.contains(&call), "{call}: `{example}`");
            }
        }
    }
}

/// The first word of what a command does is a verb without an `s`: `List`, not `Lists`.
#[test]
fn every_command_is_described_in_the_imperative() {
    for program in PROGRAMS {
        for (call, text) in pages_of(program, &[]) {
            let verb = text.split_whitespace().next().unwrap_or_default();
            let is_third_person = verb.ends_with('s') && !verb.ends_with("ss");
            assert!(!is_third_person, "{call}: `{verb}`");
        }
    }
}

/// The help of a command and of all below it, each with the call that it belongs to.
fn pages_of(program: &str, words: &[&str]) -> Vec<(String, String)> {
    let output = Command::new(Binaries::find().path(program))
        .args(words)
        .arg("--help")
        .env_remove("ODB_FOUNDATION")
        .env_remove("ODB_BROKER_PASSWORD")
        .output()
        .expect("it can be started");
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let call = [&[program], words].concat().join(" ");
    let mut pages = vec![(call, text.clone())];
    for subcommand in subcommands(&text) {
        pages.extend(pages_of(program, &[words, &[subcommand]].concat()));
    }
    pages
}

/// The commands that a help text lists, `help` aside.
fn subcommands(text: &str) -> Vec<&str> {
    let Some((_, list)) = text.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    list.lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}
