//! Which commands of `cf`, `bosh`, `credhub` and `uaa` work on a sandbox: those whose requests all meet a route. The
//! table of `docs/authors/sandbox.md` lists the same.

#![cfg(test)]

mod commands;
mod foundation;

use std::{collections::BTreeSet, fs};

use self::{
    commands::{COMMAND_LINES, Command},
    foundation::Servers,
};

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/authors/sandbox.md");

/// A row of the table in the guide: what works, and what does not.
fn row(guide: &str, program: &str) -> [BTreeSet<String>; 2] {
    let (_, table) = guide
        .split_once("| program | works | does not work |")
        .expect("the guide has the table");
    let start = format!("| `{program}` |");
    let row = table.lines().find(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("no row for {program}"));
    let cells: Vec<_> = row.split('|').collect();
    assert_eq!(cells.len(), 5, "{row}");
    [cells[2], cells[3]].map(|cell| {
        let names = cell.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    })
}

fn names(commands: &[Command]) -> BTreeSet<String> {
    let names = commands.iter().map(|(name, _)| (*name).to_owned());
    let names: BTreeSet<_> = names.collect();
    assert_eq!(names.len(), commands.len(), "a command appears here twice");
    names
}

#[test]
fn the_guide_lists_the_commands_that_work_and_those_that_do_not() {
    let guide = fs::read_to_string(GUIDE).unwrap();
    for line in COMMAND_LINES {
        assert_eq!(
            row(&guide, line.program),
            [names(line.working), names(line.others)],
            "{}",
            line.program
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_requests_of_commands_that_work_meet_a_route_and_of_the_others_one_does_not() {
    let servers = Servers::start().await;
    let mut wrong = Vec::new();
    for line in COMMAND_LINES {
        for (works, commands) in [(true, line.working), (false, line.others)] {
            for (name, requests) in commands {
                let mut unknown = Vec::new();
                for request in *requests {
                    if !servers.knows(request).await {
                        unknown.push(*request);
                    }
                }
                if unknown.is_empty() != works {
                    wrong.push(format!("{} {name}: unknown: {unknown:?}", line.program));
                }
            }
        }
    }
    servers.stop().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
