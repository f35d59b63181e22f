//! The author's `broker.yml` with the sandbox's own values in it, line for line where that can be.

use std::collections::BTreeSet;

use odb_adapter_sdk::yaml;
use serde_json::{Map, Value};

pub(super) struct Supply {
    pub(super) path: &'static [&'static str],
    pub(super) value: Value,
    pub(super) precedence: Precedence,
}

/// Which of two values takes precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precedence {
    /// The sandbox's: there is no other place where this broker could run.
    Sandbox,
    Author,
}

/// A `broker.yml` for the broker.
#[derive(Clone, Debug)]
pub(super) struct Composition {
    pub(super) text: String,
    pub(super) document: Value,
    /// The keys of which the author's values do not count here.
    pub(super) replaced: Vec<String>,
    /// For each line of the text the author's line that it comes from.
    origins: Vec<Option<usize>>,
}

/// The author's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompositionError {
    #[error("it is no YAML")]
    Syntax(#[source] yaml::Error),
    #[error("it has no keys; a broker needs `service_deployment` and `service_catalog` at least")]
    NoKeys,
}

/// Puts the supplies into the author's text, and leaves out sections that mean nothing here.
pub(super) fn compose(
    author: &str,
    supplies: Vec<Supply>,
    left_out: &[&'static str],
) -> Result<Composition, CompositionError> {
    let mut document: Value = yaml::from_str(author).map_err(CompositionError::Syntax)?;
    let Some(sections) = document.as_object_mut() else {
        return Err(CompositionError::NoKeys);
    };
    let mut replaced = Vec::new();
    let mut touched: Vec<&str> = Vec::new();
    for section in left_out {
        if sections
            .shift_remove(*section)
            .is_some_and(|it| !it.is_null())
        {
            replaced.push((*section).to_owned());
        }
        touched.push(section);
    }
    for supply in supplies {
        if let [section, ..] = supply.path
            && !touched.contains(section)
        {
            touched.push(section);
        }
        put(sections, supply, &mut replaced);
    }
    let lines = Lines::of(author, sections, &touched);
    let text = lines.text();
    let is_the_same = yaml::from_str::<Value>(&text).is_ok_and(|read| read == document);
    let (text, origins) = if is_the_same {
        (text, lines.origins)
    } else {
        // JSON is YAML. The author's lines are lost, but nothing else is.
        (format!("{document:#}\n"), Vec::new())
    };
    Ok(Composition {
        text,
        document,
        replaced,
        origins,
    })
}

impl Composition {
    /// The author's line that a line of the text comes from. Lines count from 1.
    pub(super) fn author_line(&self, line: usize) -> Option<usize> {
        self.origins.get(line.checked_sub(1)?).copied().flatten()
    }
}

fn put(sections: &mut Map<String, Value>, supply: Supply, replaced: &mut Vec<String>) {
    let Some((last, parents)) = supply.path.split_last() else {
        return;
    };
    let mut location = sections;
    for key in parents {
        let next = location.entry(*key).or_insert(Value::Null);
        if !next.is_object() {
            *next = Value::Object(Map::new());
        }
        let Value::Object(section) = next else { return };
        location = section;
    }
    let is_given = location.get(*last).is_some_and(|value| !value.is_null());
    match (is_given, supply.precedence) {
        (true, Precedence::Author) => return,
        (true, Precedence::Sandbox) => replaced.push(supply.path.join(".")),
        (false, _) => {}
    }
    location.insert((*last).to_owned(), supply.value);
}

/// A text in the making, with where its lines come from.
struct Lines {
    lines: Vec<String>,
    origins: Vec<Option<usize>>,
}

impl Lines {
    /// The author's lines with empty ones in place of the replaced sections, which follow at the end.
    fn of(author: &str, sections: &Map<String, Value>, touched: &[&str]) -> Self {
        let mut made = Self {
            lines: Vec::new(),
            origins: Vec::new(),
        };
        let mut section = None;
        for (location, line) in author.lines().enumerate() {
            section = key_at_the_margin(line).or(section);
            let is_kept = section.is_none_or(|key| !touched.contains(&key));
            let kept = if is_kept { line } else { "" };
            made.push(kept.to_owned(), Some(location + 1));
        }
        let mut written = BTreeSet::new();
        for name in touched {
            let section = sections.get(*name).and_then(Value::as_object);
            if let Some(section) = section
                && written.insert(name)
            {
                made.append(author, name, section);
            }
        }
        made
    }

    fn append(&mut self, author: &str, name: &str, section: &Map<String, Value>) {
        let mut numbered = author.lines().enumerate();
        let start = numbered
            .by_ref()
            .find(|(_, line)| key_at_the_margin(line) == Some(name))
            .map(|(location, _)| location + 1);
        let of_the_section: Vec<(usize, &str)> = numbered
            .take_while(|(_, line)| start.is_some() && key_at_the_margin(line).is_none())
            .collect();
        self.push(format!("{name}:"), start);
        for (key, value) in section {
            let line = of_the_section
                .iter()
                .find(|(_, line)| key_of(line.trim_start()) == Some(key));
            let origin = line.map(|(location, _)| location + 1).or(start);
            self.push(format!("  {}: {value}", Value::from(key.as_str())), origin);
        }
    }

    fn push(&mut self, line: String, origin: Option<usize>) {
        self.lines.push(line);
        self.origins.push(origin);
    }

    fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

fn key_at_the_margin(line: &str) -> Option<&str> {
    let first = line.chars().next()?;
    if first.is_whitespace() {
        return None;
    }
    key_of(line)
}

fn key_of(line: &str) -> Option<&str> {
    if line.starts_with(['#', '-', '%', '{', '}', '[', ']']) {
        return None;
    }
    let (key, _) = line.split_once(':')?;
    Some(key.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AUTHOR: &str = "\
# What the author writes.
broker:
  port: 1  # taken by the sandbox
  expose_operational_errors: true
service_deployment:
  releases:
  - {name: redis, version: 1.10, jobs: [redis-server]}
service_instances_api: {url: https://elsewhere}
service_catalog:
  id: redis
";

    fn composed(author: &str) -> Composition {
        let supplies = vec![
            Supply {
                path: &["broker", "port"],
                value: json!(8080),
                precedence: Precedence::Sandbox,
            },
            Supply {
                path: &["broker", "shutdown_timeout_in_seconds"],
                value: json!(10),
                precedence: Precedence::Author,
            },
            Supply {
                path: &["cf", "uaa", "url"],
                value: json!("https://uaa"),
                precedence: Precedence::Sandbox,
            },
        ];
        compose(author, supplies, &["service_instances_api"]).unwrap()
    }

    #[test]
    fn what_is_the_sandboxs_counts_and_the_rest_stays_as_it_was_written() {
        let composed = composed(AUTHOR);

        let broker = &composed.document["broker"];
        assert_eq!(broker["port"], 8080);
        assert_eq!(broker["expose_operational_errors"], true);
        assert_eq!(broker["shutdown_timeout_in_seconds"], 10);
        assert_eq!(composed.document["cf"]["uaa"]["url"], "https://uaa");
        assert!(composed.document.get("service_instances_api").is_none());
        assert_eq!(composed.replaced, ["service_instances_api", "broker.port"]);
        assert!(
            composed.text.contains("version: 1.10,"),
            "a version that is a number to YAML is the broker's to judge: {}",
            composed.text
        );
    }

    #[test]
    fn every_line_is_known_by_the_authors_number() {
        let composed = composed(AUTHOR);

        for (number, line) in (1..).zip(composed.text.lines()) {
            let origin = composed.author_line(number);
            match line.trim() {
                "id: redis" => assert_eq!(origin, Some(10)),
                "\"port\": 8080" => assert_eq!(origin, Some(3)),
                "\"expose_operational_errors\": true" => assert_eq!(origin, Some(4)),
                "cf:" => assert_eq!(origin, None),
                _ => {}
            }
        }
        assert!(composed.text.contains("\"port\": 8080"));
        assert_eq!(composed.author_line(1000), None);
    }

    #[test]
    fn a_file_that_is_written_in_one_piece_loses_its_lines_and_nothing_else() {
        let json = json!({"broker": {"startup_banner": true}, "service_catalog": {"id": "redis"}});

        let composed = composed(&json.to_string());

        assert_eq!(composed.document["broker"]["startup_banner"], true);
        assert_eq!(composed.document["broker"]["port"], 8080);
        assert_eq!(composed.author_line(1), None);
        let read: Value = yaml::from_str(&composed.text).unwrap();
        assert_eq!(read, composed.document);
    }

    #[test]
    fn a_file_without_keys_is_refused() {
        for text in ["", "- a\n- b\n", "word\n"] {
            let refused = compose(text, Vec::new(), &[]).err();
            assert!(matches!(refused, Some(CompositionError::NoKeys)), "{text}");
        }
    }
}
