//! What is wrong with a catalog.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

/// What is wrong with a catalog, line by line, by service and plan.
#[derive(Default)]
pub(super) struct Problems(String);

impl Problems {
    pub(super) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn say(&mut self, problem: impl fmt::Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{problem}");
    }

    /// Refuses values that are there twice.
    pub(super) fn refuse_repeats<'a>(
        &mut self,
        problem: &str,
        values: impl Iterator<Item = &'a String>,
    ) {
        let mut seen = BTreeSet::new();
        for repeated in values.filter(|value| !value.is_empty() && !seen.insert(*value)) {
            self.say(format_args!("{problem}: '{repeated}' is there twice"));
        }
    }

    /// Takes over what was found below, under a heading and indented.
    pub(super) fn below(&mut self, heading: &str, found: &Self) {
        if !found.are_none() {
            self.say(heading);
            found
                .0
                .lines()
                .for_each(|line| self.say(format_args!("  {line}")));
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.trim_end().fmt(f)
    }
}
