//! Which actual ids correspond to which recorded ones.

use std::collections::HashMap;

/// The kind of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Task,
    Config,
    Provider,
    Consumer,
    Link,
}

/// Recorded id ⇒ actual id.
#[derive(Debug, Default)]
pub(crate) struct Names {
    actual: HashMap<(Kind, String), String>,
}

/// Phrases of a Director that are followed by an id.
const PHRASES: [(&str, Kind); 9] = [
    ("/tasks/", Kind::Task),
    ("/task/", Kind::Task),
    ("Task ", Kind::Task),
    ("task id is ", Kind::Task),
    ("cancel task ", Kind::Task),
    ("Latest Id: '", Kind::Config),
    ("/configs/", Kind::Config),
    ("provider id: ", Kind::Provider),
    ("link id: ", Kind::Link),
];

/// The parts of requests that contain ids.
const REQUEST_PHRASES: [(&str, Kind); 7] = [
    ("/tasks/", Kind::Task),
    ("/task/", Kind::Task),
    ("/configs/", Kind::Config),
    ("/links/", Kind::Link),
    ("link_id=", Kind::Link),
    ("%22cloud_config_ids%22%3A%5B", Kind::Config),
    ("\"link_provider_id\": \"", Kind::Provider),
];

impl Names {
    /// From here on the actual id corresponds to the recorded one.
    pub(crate) fn learn(&mut self, kind: Kind, recorded: &str, actual: &str) {
        self.actual
            .insert((kind, recorded.to_owned()), actual.to_owned());
    }

    /// Our id for a recorded one.
    pub(crate) fn actual(&self, kind: Kind, recorded: &str) -> Option<&str> {
        let known = self.actual.get(&(kind, recorded.to_owned()));
        known.map(String::as_str)
    }

    /// A recorded path, query or body with our ids in it.
    pub(crate) fn in_request(&self, recorded: &str) -> String {
        let text = self.replaced(recorded, &REQUEST_PHRASES);
        self.replaced(&text, &[("\"expected_latest_id\": \"", Kind::Config)])
    }

    /// A recorded text with our ids in it.
    pub(crate) fn in_text(&self, recorded: &str) -> String {
        self.replaced(recorded, &PHRASES)
    }

    fn replaced(&self, text: &str, phrases: &[(&str, Kind)]) -> String {
        let mut result = String::new();
        let mut rest = text;
        'text: while !rest.is_empty() {
            for (phrase, kind) in phrases {
                let Some(after) = rest.strip_prefix(phrase) else {
                    continue;
                };
                let digits = after.chars().take_while(char::is_ascii_digit).count();
                let (id, after) = after.split_at(digits);
                result.push_str(phrase);
                result.push_str(self.actual(*kind, id).unwrap_or(id));
                rest = after;
                continue 'text;
            }
            let letter = rest.chars().next().unwrap();
            result.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
        result
    }
}
