//! Converts the flags of Go programs to ours: one dash equals two, a value follows after a space or `=`, a boolean
//! takes its value only with `=` (`spec/contracts/errands.md` §1.1).

use std::{any::TypeId, ffi::OsString, path::PathBuf, time::Duration};

use clap::{Arg, Command};
use jiff::SignedDuration;

/// How an errand without positional arguments treats them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extras {
    /// The first one ends the flags; it and the rest are ignored. Known flags after it are an error, because a switch
    /// such as `--dry-run` must not be lost.
    Ignored,
    /// They are an error.
    Refused,
}

/// Turns the words after an errand's name into words for `command`, which is that errand's.
pub(super) fn modern(command: &Command, words: Vec<OsString>, extras: Extras) -> Vec<OsString> {
    let takes_extras = command.get_positionals().next().is_some();
    let mut words = words.into_iter();
    let mut modern = Vec::new();
    while let Some(word) = words.next() {
        let Some(flag) = flag(&word) else {
            let is_lost = || words.as_slice().iter().any(|word| knows(command, word));
            if extras == Extras::Ignored && !takes_extras && !is_short(&word) && !is_lost() {
                break;
            }
            modern.push(word);
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        let known = find(command, name);
        let follows = known.is_some_and(takes_next_word);
        let mut spelled: OsString = format!("--{name}").into();
        let value = value.map(OsString::from).or_else(|| {
            // The next word is the value, even if it looks like a flag.
            if follows { words.next() } else { None }
        });
        if let Some(value) = value {
            // A file without a name is none.
            if value.is_empty() && known.is_some_and(takes_path) {
                continue;
            }
            spelled.push("=");
            spelled.push(value);
        }
        modern.push(spelled);
    }
    modern
}

/// A boolean as Go parses it. For flags with `num_args(0..=1)`, `require_equals` and a default of `true` without a
/// value.
pub(crate) fn go_boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("give true or false".to_owned()),
    }
}

/// A duration as people write it: `90m`, or a number of seconds. For flags.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let written = || {
        let parsed: SignedDuration = text.parse().ok()?;
        Duration::try_from(parsed).ok()
    };
    seconds
        .or_else(written)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "give a number of seconds, or a duration such as 90m or 4h".to_owned())
}

/// The name of a flag without its dashes. Single letters are left to our own command line.
fn flag(word: &OsString) -> Option<&str> {
    let word = word.to_str()?;
    let name = match word.strip_prefix("--") {
        Some(name) => name,
        None => word.strip_prefix('-').filter(|name| name.len() > 1)?,
    };
    (!name.is_empty() && !name.starts_with(['-', '='])).then_some(name)
}

fn is_short(word: &OsString) -> bool {
    let letters = word.to_str().and_then(|word| word.strip_prefix('-'));
    letters.is_some_and(|letters| letters.len() == 1 && letters != "-")
}

fn find<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|argument| {
        argument.get_long() == Some(name)
            || argument
                .get_all_aliases()
                .is_some_and(|aliases| aliases.contains(&name))
    })
}

fn knows(command: &Command, word: &OsString) -> bool {
    let name = flag(word).map(|flag| flag.split_once('=').map_or(flag, |(name, _)| name));
    name.is_some_and(|name| find(command, name).is_some())
}

fn takes_next_word(argument: &Arg) -> bool {
    argument.get_action().takes_values() && !argument.is_require_equals_set()
}

fn takes_path(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_of_seconds_and_units_can_be_given() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("90m", 5400), ("1h30m", 5400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "0", "0s", "-90", "-1m", "soon", "90 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
