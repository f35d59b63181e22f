//! What a person reads of a run: names instead of ids, a short reason, and the next command. Logs have the lines of the
//! Go errand.

use std::{collections::HashMap, fmt::Display};

use odb_api_types::management::InventoryEntry;
use odb_rollout::Tally;

use super::run::FleetRun;
use crate::report::{Outcome, Report};

/// How the lines of the Go errand begin that a person does without.
const FOR_LOGS: [&str; 3] = ["Processing ", "Progress summary: ", "FINISHED "];

impl FleetRun<'_> {
    /// Whether a person reads the run who does not want every line.
    pub(super) fn is_short(&self) -> bool {
        self.console.is_for_people() && !self.view.is_verbose
    }

    /// Logs a line of the Go errand that a person does without.
    pub(super) fn detail(&self, text: impl Display) {
        if !self.is_short() {
            self.console.log(text);
        }
    }

    /// Logs a line of the engine.
    pub(super) fn log(&self, names: &Names, text: &str) {
        if FOR_LOGS.iter().any(|begin| text.starts_with(begin)) {
            self.detail(text);
        } else {
            self.console.log(names.put_into(text));
        }
    }

    /// The names of instances, where a person reads the run.
    pub(super) fn names(&self, entries: &[InventoryEntry]) -> Names {
        if !self.is_short() {
            return Names::default();
        }
        let named = entries.iter().filter_map(|entry| {
            let id = entry.service_instance_id.to_string();
            Some((id, entry.name.clone()?))
        });
        Names(named.collect())
    }

    /// The command to type next, if there is one.
    pub(super) fn next(&self, is_success: bool, report: &Report) -> Option<&str> {
        let next = &self.view.next;
        if self.run.is_dry {
            return (report.count(Outcome::WouldChange) > 0).then_some(next.begin.as_str());
        }
        (!is_success && !report.rows().is_empty()).then_some(next.resume.as_str())
    }
}

/// The names of instances by their ids.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, String>);

impl Names {
    /// A line about an instance, `[ID] text`, with its name.
    pub(super) fn put_into(&self, text: &str) -> String {
        let about = text
            .strip_prefix('[')
            .and_then(|text| text.split_once("] "));
        match about.and_then(|(id, text)| Some((self.0.get(id)?, text))) {
            Some((name, text)) => {
                let text = text.strip_prefix("Result: ").unwrap_or(text);
                format!("{name}: {text}")
            }
            None => text.to_owned(),
        }
    }
}

/// Why a run has not succeeded, for a person who reads the rest in the table.
pub(super) fn reason(tally: &Tally, total: usize) -> String {
    let counts = [
        (tally.failed, "failed"),
        (tally.busy, "busy"),
        (tally.in_progress, "still in progress"),
        (tally.not_started, "not started"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match counts.as_slice() {
        [] => format!("not all of {total} instances are healthy"),
        counts => format!("{} of {total} instances", counts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_names_where_the_log_has_ids() {
        let names = Names([("i1".to_owned(), "cache".to_owned())].into());
        for (text, expected) in [
            (
                "[i1] Result: operation accepted",
                "cache: operation accepted",
            ),
            ("[i1] Starting to process", "cache: Starting to process"),
            (
                "[i2] Result: operation accepted",
                "[i2] Result: operation accepted",
            ),
            ("All instances are healthy", "All instances are healthy"),
        ] {
            assert_eq!(names.put_into(text), expected);
        }
    }

    #[test]
    fn the_reason_counts_what_is_not_done() {
        let tally = Tally {
            failed: 2,
            not_started: 7,
            successful: 1,
            ..Tally::default()
        };
        assert_eq!(
            reason(&tally, 10),
            "2 failed, 7 not started of 10 instances"
        );
        let healthy = Tally::default();
        assert_eq!(reason(&healthy, 3), "not all of 3 instances are healthy");
    }
}
