//! Where a value ends.

use std::ops::Range;

use super::{MASK, commands::after_reference};

/// The masked part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) span: Range<usize>,
    /// It has a beginning and an end that nothing else has: quotes, brackets, tags.
    pub(super) is_delimited: bool,
    /// It continues in the next lines, if they are indented.
    pub(super) goes_on: bool,
}

/// Empty values, and those that are masked already.
const EMPTY: &[&str] = &["null", "nil", "none", "true", "false", "~"];
const MASKS: &[&str] = &[MASK, "***", "[redacted]", "[private data hidden]"];

/// After these a YAML value continues in the next lines.
const BLOCKS: &[&str] = &["", "|", "|-", "|+", ">", ">-", ">+"];

/// A word of this length is no word of a sentence.
const LONG_WORD: usize = 20;

/// The value that begins at `start`, after a separator. None where there is a reference, or nothing to hide.
pub(super) fn after(line: &str, start: usize, separator: u8) -> Option<Value> {
    let start = line.len() - line[start..].trim_start_matches([' ', '\t']).len();
    let rest = &line[start..];
    if after_reference(line, start).is_some() || says_nothing(rest) {
        return None;
    }
    if separator == b'>' {
        let end = rest.find('<').map_or(line.len(), |end| start + end);
        return Some(delimited(start..end));
    }
    if let Some(value) = quoted(line, start) {
        let text = &line[value.span.clone()];
        let is_reference = after_reference(text, 0) == Some(text.len());
        return (!is_reference && !says_nothing(text)).then_some(value);
    }
    if BLOCKS.contains(&rest.trim_end()) {
        return Some(Value {
            span: line.len()..line.len(),
            is_delimited: false,
            goes_on: true,
        });
    }
    if rest.starts_with(['{', '[']) {
        return bracketed(line, start);
    }
    Some(Value {
        span: start..end_of_bare(line, start, separator),
        is_delimited: false,
        goes_on: false,
    })
}

/// A quoted text at `start`, without its quotes; escaped quotes end at quotes that are escaped as often.
pub(super) fn quoted(line: &str, start: usize) -> Option<Value> {
    let bytes = line.as_bytes();
    let escapes = bytes[start..]
        .iter()
        .take_while(|byte| **byte == b'\\')
        .count();
    let opening = start + escapes;
    let quote = *bytes.get(opening)?;
    if !matches!(quote, b'"' | b'\'' | b'`') {
        return None;
    }
    let begin = opening + 1;
    let mut run = 0;
    for (index, byte) in bytes.iter().enumerate().skip(begin) {
        match byte {
            b'\\' => run += 1,
            byte if *byte == quote && run <= escapes => {
                return Some(delimited(begin..index - run));
            }
            _ => run = 0,
        }
    }
    Some(delimited(begin..line.len()))
}

/// The next argument of a command line.
pub(super) fn argument(line: &str, start: usize) -> Option<Value> {
    let start = line.len() - line[start..].trim_start_matches(' ').len();
    if after_reference(line, start).is_some() || line[start..].starts_with(MASK) {
        return None;
    }
    if let Some(value) = quoted(line, start) {
        return Some(value);
    }
    let end = line[start..].find(char::is_whitespace);
    let span = start..end.map_or(line.len(), |end| start + end);
    // Another flag, or the end.
    let is_argument = !span.is_empty() && !line[span.clone()].starts_with('-');
    is_argument.then(|| delimited(span))
}

/// `/a/b`, as names of credentials and files are written.
pub(super) fn is_path(text: &str) -> bool {
    let mut parts = text.split('/');
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    parts.next() == Some("") && text.matches('/').count() > 1 && parts.all(is_part)
}

/// The part of a sentence after a word that is a value: its first word, or nothing.
pub(super) fn in_prose(line: &str, span: &Range<usize>) -> Option<Range<usize>> {
    let text = &line[span.clone()];
    let word = text.split_whitespace().next()?;
    let is_alone = word.len() == text.trim().len() && word.len() > 3;
    let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '`']);
    // Unicode white space may be before it.
    let start = span.start + text.len() - text.trim_start().len();
    (is_alone || looks_random(bare)).then_some(start..start + bare.len())
}

/// Whether the word looks like no word of a language.
pub(super) fn looks_random(word: &str) -> bool {
    let has = |is: fn(char) -> bool| word.contains(is);
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    let humps = word.as_bytes().windows(2);
    let humps = humps.filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    word.len() >= LONG_WORD
        || has(|letter| letter.is_ascii_digit()) && (!is_number || word.len() > 5)
        || has(|letter| "+=@#$%^*~|".contains(letter))
        || humps.count() > 1
}

fn delimited(span: Range<usize>) -> Value {
    Value {
        span,
        is_delimited: true,
        goes_on: false,
    }
}

fn says_nothing(text: &str) -> bool {
    let begins_with = |start: &str| {
        let begin = text.get(..start.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(start))
    };
    let is_empty = |word: &&str| {
        let after = text.get(word.len()..).unwrap_or_default().trim_start();
        begins_with(word) && (after.is_empty() || after.starts_with([',', ';', '}', ']', ')']))
    };
    MASKS.iter().any(|mask| begins_with(mask)) || EMPTY.iter().any(is_empty)
}

/// A map or a list with its brackets; one without end continues. An empty one reveals nothing.
fn bracketed(line: &str, start: usize) -> Option<Value> {
    let mut depth = 0_usize;
    let mut at = start;
    let bytes = line.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' | b'\\' => {
                if let Some(text) = quoted(line, at) {
                    at = text.span.end;
                    // On to its closing quote.
                    at += bytes[at..]
                        .iter()
                        .take_while(|byte| **byte == b'\\')
                        .count();
                }
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            let inside = &line[start + 1..at - 1];
            return (!inside.trim().is_empty()).then(|| delimited(start..at));
        }
    }
    Some(Value {
        goes_on: true,
        ..delimited(start..line.len())
    })
}

/// The end of a value without quotes: a password may have spaces, so it extends to the end of the line or up to the
/// next key.
fn end_of_bare(line: &str, start: usize, separator: u8) -> usize {
    let is_next = |at: usize| match (line.as_bytes()[at], separator) {
        (b' ', _) | (b'&' | b';', b'=') => is_key(&line[at + 1..], b"="),
        (b',', _) => {
            let rest = &line[at + 1..];
            rest.starts_with([' ', '"', '\'', '\\']) && is_key(rest, b":=")
        }
        _ => false,
    };
    (start + 1..line.len())
        .find(|at| is_next(*at))
        .unwrap_or(line.len())
}

/// Whether a text begins with the name of a key, perhaps quoted, and one of these separators.
fn is_key(text: &str, separators: &[u8]) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let text = text.trim_start_matches([' ', '"', '\'', '\\']);
    let rest = text.trim_start_matches(is_of_name);
    let separator = rest.trim_start_matches(['"', '\'', '\\']).bytes().next();
    rest.len() < text.len() && separator.is_some_and(|sign| separators.contains(&sign))
}
