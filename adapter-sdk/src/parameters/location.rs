//! Where in a document, as users write it: `limits.memory`, `topics[2].name`.

use serde_json::Value;
use serde_path_to_error::Segment;

/// The most characters of a name that are shown, so that the text stays short.
const LONGEST: usize = 100;

/// The location of a JSON pointer in words; empty for the document itself.
pub(super) fn in_words(document: &Value, pointer: &str) -> String {
    let mut words = String::new();
    let mut here = Some(document);
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        here = match here {
            Some(Value::Array(items)) => {
                words = format!("{words}[{name}]");
                name.parse().ok().and_then(|nth: usize| items.get(nth))
            }
            other => {
                words = below(&words, &name);
                other.and_then(|object| object.get(&name))
            }
        };
    }
    words
}

/// The location of a name inside another location.
pub(super) fn below(location: &str, name: &str) -> String {
    let name = shown(name);
    if location.is_empty() {
        name
    } else {
        format!("{location}.{name}")
    }
}

/// The same from the path of a decoding error.
pub(super) fn of_decoding(path: &serde_path_to_error::Path) -> String {
    path.iter()
        .fold(String::new(), |words, segment| match segment {
            Segment::Seq { index } => format!("{words}[{index}]"),
            Segment::Map { key: name } | Segment::Enum { variant: name } => below(&words, name),
            Segment::Unknown => words,
        })
}

/// A name from outside: short, and on one line.
fn shown(name: &str) -> String {
    let on_one_line = name
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let shown: String = on_one_line.take(LONGEST).collect();
    if name.chars().nth(LONGEST).is_some() {
        shown + "…"
    } else {
        shown
    }
}
