//! Values as people read them.

use jiff::{Timestamp, Unit};
use odb_api_types::{
    ids::PlanId,
    kind::OperationKind,
    management::{InventoryEntry, OperationState},
};
use serde::Serialize;

/// A text with its meaning, which the stylesheet shows as a colour and a sign.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Toned {
    pub(super) text: String,
    pub(super) tone: Tone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tone {
    Plain,
    Good,
    Busy,
    Bad,
}

impl Toned {
    pub(super) fn new(text: impl Into<String>, tone: Tone) -> Self {
        let text = text.into();
        Self { text, tone }
    }
}

/// A moment: the exact one, and how long ago it is.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Moment {
    exact: String,
    ago: String,
}

impl Moment {
    pub(super) fn of(then: Timestamp, now: Timestamp) -> Self {
        let exact = then.round(Unit::Second).unwrap_or(then);
        Self {
            exact: exact.to_string(),
            ago: format!("{} ago", age(then, now)),
        }
    }
}

/// The largest unit that fits.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

pub(super) fn state_of(state: OperationState) -> (&'static str, Tone) {
    match state {
        OperationState::InProgress => ("in progress", Tone::Busy),
        OperationState::Succeeded => ("succeeded", Tone::Good),
        OperationState::Failed => ("failed", Tone::Bad),
    }
}

/// `upgrade failed, began 3 min ago`.
pub(super) fn operation(
    kind: OperationKind,
    state: OperationState,
    began: Option<Timestamp>,
    now: Timestamp,
) -> Toned {
    let (word, tone) = state_of(state);
    let age = began.map(|began| age(began, now));
    Toned::new(
        match (state, age) {
            (_, None) => format!("{kind} {word}"),
            (OperationState::InProgress, Some(age)) => format!("{kind} {word} for {age}"),
            (_, Some(age)) => format!("{kind} {word}, began {age} ago"),
        },
        tone,
    )
}

pub(super) fn up_to_date(entry: &InventoryEntry) -> Toned {
    match entry.up_to_date {
        Some(true) => Toned::new("up to date", Tone::Good),
        Some(false) => Toned::new("outdated", Tone::Busy),
        None => Toned::new("unknown", Tone::Plain),
    }
}

/// Its name in the platform, else its id.
pub(super) fn name(entry: &InventoryEntry) -> &str {
    let id = entry.service_instance_id.as_str();
    entry.name.as_deref().unwrap_or(id)
}

pub(super) fn plan(entry: &InventoryEntry) -> String {
    let id = entry.plan_id.as_ref().map(PlanId::to_string);
    entry.plan_name.clone().or(id).unwrap_or_default()
}

/// `organization / space`, by names where the platform gives them.
pub(super) fn place(entry: &InventoryEntry) -> String {
    let organization = [&entry.organization_name, &entry.organization_guid];
    let space = [&entry.space_name, &entry.space_guid];
    let known = |names: [&Option<String>; 2]| names.into_iter().flatten().next().cloned();
    let parts: Vec<String> = [known(organization), known(space)]
        .into_iter()
        .flatten()
        .collect();
    parts.join(" / ")
}

/// A part of a text: what is between back-ticks is code.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Piece {
    text: String,
    is_code: bool,
}

pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let parts = text.split('`').enumerate();
    let pieces = parts.map(|(index, part)| Piece {
        text: part.to_owned(),
        is_code: is_paired && index % 2 == 1,
    });
    pieces.filter(|piece| !piece.text.is_empty()).collect()
}

/// The commands that remove the platform's entry of an instance, whose user has chosen the name. Another space may have
/// an instance of that name: without the space there is no command.
pub(super) fn purge_command(entry: &InventoryEntry) -> Option<String> {
    let name = quoted(entry.name.as_deref()?);
    let organization = quoted(entry.organization_name.as_deref()?);
    let space = quoted(entry.space_name.as_deref()?);
    Some(format!(
        "cf target -o {organization} -s {space} && cf purge-service-instance {name}"
    ))
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._/@:".contains(letter);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_between_back_ticks_is_code() {
        let found = pieces("set `a.b` now");
        let found: Vec<_> = found
            .iter()
            .map(|piece| (&*piece.text, piece.is_code))
            .collect();
        assert_eq!(found, [("set ", false), ("a.b", true), (" now", false)]);
        assert!(pieces("one ` alone").iter().all(|piece| !piece.is_code));
    }

    #[test]
    fn a_name_is_one_word_of_a_command() {
        for (name, expected) in [
            ("orders-1", "orders-1"),
            ("x; reboot", "'x; reboot'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(name), expected);
        }
    }

    #[test]
    fn an_operation_says_how_long_it_takes_or_when_it_began() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let then = "2026-01-01T09:00:00Z".parse().ok();
        let shown = |state, began| operation(OperationKind::Upgrade, state, began, now).text;
        assert_eq!(
            shown(OperationState::InProgress, then),
            "upgrade in progress for 3 h"
        );
        assert_eq!(
            shown(OperationState::Failed, then),
            "upgrade failed, began 3 h ago"
        );
        assert_eq!(shown(OperationState::Succeeded, None), "upgrade succeeded");
    }
}
