//! An operator reads the guide (`docs/operators/README.md`) and follows it.
//!
//! | module | contents |
//! | --- | --- |
//! | `walk` | the commands, one chapter after the other |
//! | `quotas` | admitted and rejected orders, and their messages |
//! | `changes` | the users' view while a broker is deployed, and a plan is removed |
//! | `rotation` | the same while a password is rotated |
//! | `alerts` | the alert rules, and the table of remedies |
//! | `dashboard` | the panels of Grafana |
//! | `sentences` | the quoted messages, and the codes |

mod alerts;
mod changes;
mod dashboard;
mod quotas;
mod rotation;
mod sentences;
mod walk;

use std::{fs, path::Path};

/// A file of the project, by its path in it.
fn project_file(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The cells of the rows of tables whose first cell passes.
fn rows(document: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<Vec<&str>> {
    let rows = document.lines().filter(|line| line.starts_with("| "));
    rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect())
        .filter(|cells: &Vec<&str>| cells.first().is_some_and(|cell| is_wanted(cell)))
        .collect()
}
