//! The operators' page and the command line agree.

use std::collections::BTreeSet;

use clap::{Command, CommandFactory};

use crate::command_line::Program;

const PAGE: &str = include_str!("../../../../docs/operators/reference/errands.md");

/// The errands by name, without the subcommands of every program.
fn errands() -> Vec<Command> {
    let mut program = Program::command();
    program.build();
    let errands = program
        .get_subcommands()
        .filter(|it| it.get_name() != "help");
    errands.cloned().collect()
}

/// The text under a heading, up to the next one.
fn section(heading: &str) -> &'static str {
    let begin = format!("\n## {heading}\n");
    let (_, rest) = PAGE
        .split_once(&begin)
        .unwrap_or_else(|| panic!("the page has no `{heading}`"));
    rest.split("\n## ").next().unwrap_or_default()
}

/// The words between back-ticks in a column of the rows that begin with a flag.
fn flags(section: &'static str, column: usize) -> BTreeSet<&'static str> {
    let rows = section.lines().filter(|line| line.starts_with("| `--"));
    let cells = rows.filter_map(|row| row.split('|').nth(column));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn the_page_has_every_errand_with_its_flags_and_no_others() {
    for errand in errands() {
        let name = errand.get_name();
        let reported = flags(section(name), 1);
        let longs = errand.get_arguments().filter_map(clap::Arg::get_long);
        let longs = longs.filter(|flag| !["help", "version"].contains(flag));
        let there: BTreeSet<String> = longs.map(|flag| format!("--{flag}")).collect();
        let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
        assert_eq!(reported, there, "{name}");
        assert!(
            PAGE.contains(&format!("[`{name}`](#{name})")),
            "`{name}` is not in the list"
        );
    }
}

#[test]
fn the_flags_of_the_go_programs_that_the_page_names_are_understood() {
    for errand in errands() {
        let name = errand.get_name();
        for flag in flags(section(name), 2) {
            let word = flag.trim_start_matches('-');
            let is_understood = errand.get_arguments().any(|argument| {
                let aliases = argument.get_all_aliases().unwrap_or_default();
                argument.get_long() == Some(word) || aliases.contains(&word)
            });
            assert!(is_understood, "`{name}` has no `{flag}`");
        }
    }
}

#[test]
fn every_errand_explains_its_exit_status() {
    for errand in errands() {
        let about = errand.get_long_about().or(errand.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        assert!(
            about.contains("Exit status: 0 "),
            "{}: {about}",
            errand.get_name()
        );
    }
}
