//! Parses the output of a template, still with stand-ins, as YAML, JSON or text.

use std::collections::BTreeSet;

use granit_parser::{Event, Parser, ScalarStyle};
use odb_adapter_sdk::{json, yaml};
use serde_json::Value;

use super::stand_in::{FillError, StandIns};

/// Why a rendered text is invalid. Messages contain no values; line numbers refer to the rendered text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RenderedError {
    #[error("the rendered text is not valid YAML")]
    Yaml(#[source] yaml::Error),
    #[error("the rendered text is not valid JSON")]
    Json(#[source] json::Error),
    #[error("a map has the key `{key}` twice, the second time at line {line}")]
    EqualKeys { key: String, line: usize },
    #[error(transparent)]
    Fill(#[from] FillError),
}

/// Replaces a key `<<` that merges a value; followed by a number, because a map may have several.
const MERGE: char = '\u{e003}';

/// Parses YAML 1.1 and inserts the values; `None` if the result is only `omit`.
pub(super) fn yaml(text: &str, stand_ins: &StandIns) -> Result<Option<Value>, RenderedError> {
    let text = with_marked_merges(text, stand_ins);
    let document: Value = yaml::from_str(&text).map_err(RenderedError::Yaml)?;
    no_equal_keys(&text)?;
    let plain = plain_stand_ins(&text, stand_ins);
    let is_whole = |text: &str| {
        stand_ins
            .whole(text)
            .filter(|number| plain.contains(number))
    };
    let is_merge = |key: &str| key.starts_with(MERGE);
    Ok(stand_ins.fill(document, &is_whole, &is_merge)?)
}

pub(super) fn json(text: &str, stand_ins: &StandIns) -> Result<Option<Value>, RenderedError> {
    const BARE: char = '\u{e004}';
    let mut quoted = String::with_capacity(text.len());
    let mut is_inside = false;
    for part in split_at_quotes(text) {
        if part == "\"" {
            is_inside = !is_inside;
            quoted.push('"');
        } else if is_inside {
            quoted.push_str(part);
        } else {
            quoted.push_str(&stand_ins.rewrite(part, |number| {
                format!("\"{BARE}{}\"", stand_ins.word(number))
            }));
        }
    }
    let document: Value = json::from_str(&quoted).map_err(RenderedError::Json)?;
    // JSON is YAML.
    no_equal_keys(&quoted)?;
    let is_whole = |text: &str| stand_ins.whole(text.strip_prefix(BARE)?);
    Ok(stand_ins.fill(document, &is_whole, &|_| false)?)
}

/// Parsers would silently take the last of equal keys in the template's own text. Stand-ins all differ; their values
/// are compared when they are inserted.
fn no_equal_keys(text: &str) -> Result<(), RenderedError> {
    // For each open collection: in a map its keys so far, and whether a key comes next.
    let mut open: Vec<Option<(BTreeSet<String>, bool)>> = Vec::new();
    for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
        let is_node = matches!(
            event,
            Event::Scalar(..)
                | Event::Alias(_)
                | Event::MappingStart(..)
                | Event::SequenceStart(..)
        );
        if is_node && let Some(Some((keys, is_key))) = open.last_mut() {
            if let (true, Event::Scalar(key, ..)) = (*is_key, &event)
                && key != "<<"
                && !keys.insert(key.to_string())
            {
                return Err(RenderedError::EqualKeys {
                    key: key.to_string(),
                    line: span.start.line(),
                });
            }
            *is_key = !*is_key;
        }
        match event {
            Event::MappingStart(..) => open.push(Some((BTreeSet::new(), true))),
            Event::SequenceStart(..) => open.push(None),
            Event::MappingEnd | Event::SequenceEnd => drop(open.pop()),
            _ => {}
        }
    }
    Ok(())
}

/// The numbers of the stand-ins that are plain scalars, without quotation marks and tags.
fn plain_stand_ins(text: &str, stand_ins: &StandIns) -> BTreeSet<usize> {
    let events = Parser::new_from_str(text).map_while(Result::ok);
    events
        .filter_map(|(event, _)| match event {
            Event::Scalar(text, ScalarStyle::Plain, _, None) => stand_ins.whole(&text),
            _ => None,
        })
        .collect()
}

/// `<<: {{ map }}` cannot be merged by the parser, which sees only the stand-in.
fn with_marked_merges(text: &str, stand_ins: &StandIns) -> String {
    let mut marked = String::with_capacity(text.len());
    for (number, part) in text.split("<<").enumerate() {
        if number > 0 {
            let value = part.trim_start_matches(' ').strip_prefix(':');
            let value = value.map(|value| value.trim_start_matches(' '));
            let merges = value.is_some_and(|value| {
                let end = value
                    .find(['\n', ',', '}', ' ', '\r'])
                    .unwrap_or(value.len());
                stand_ins.whole(&value[..end]).is_some()
            });
            if merges {
                marked.push(MERGE);
                marked.push_str(&number.to_string());
            } else {
                marked.push_str("<<");
            }
        }
        marked.push_str(part);
    }
    marked
}

/// The text cut at every quotation mark that begins or ends a JSON string.
fn split_at_quotes(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut done = 0;
    let mut is_inside = false;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_inside => is_escaped = true,
            '"' => {
                parts.extend([&text[done..at], &text[at..=at]]);
                done = at + 1;
                is_inside = !is_inside;
            }
            _ => {}
        }
    }
    parts.push(&text[done..]);
    parts
}
