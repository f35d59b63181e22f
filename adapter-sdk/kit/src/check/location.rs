use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A location in a document. Prints as `instance_groups[cache].jobs[redis].properties.port`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Location(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    /// The member of a map.
    Member(String),
    /// The member of a list, by its name or else its number.
    Item(String),
}

/// Why a text is not a location.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a location in a manifest; write it as `instance_groups[NAME].jobs[NAME].properties.KEY`"
)]
pub(super) struct NoLocation {
    text: String,
}

impl Location {
    /// A member of the map at this location.
    pub(super) fn member(&self, key: &str) -> Self {
        self.then(Segment::Member(key.to_owned()))
    }

    /// A member of the list at this location.
    pub(super) fn item(&self, name: &str) -> Self {
        self.then(Segment::Item(name.to_owned()))
    }

    /// Whether the other location is this one or below it.
    pub(super) fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Whether only names, versions, sizes and the like can be at this location.
    pub(super) fn is_harmless(&self) -> bool {
        const TOP: [&str; 4] = ["name", "releases", "stemcells", "update"];
        const GROUP: [&str; 10] = [
            "name",
            "instances",
            "vm_type",
            "vm_extensions",
            "azs",
            "lifecycle",
            "stemcell",
            "networks",
            "persistent_disk_type",
            "release",
        ];
        let mut members = self.0.iter().filter_map(|segment| match segment {
            Segment::Member(key) => Some(key.as_str()),
            Segment::Item(_) => None,
        });
        match members.next() {
            Some("instance_groups") => {
                let rest: Vec<_> = members.filter(|key| *key != "jobs").collect();
                rest.iter().all(|key| GROUP.contains(key))
            }
            first => first.is_some_and(|key| TOP.contains(&key)),
        }
    }

    /// The key of the map member at this location, or of the list around it.
    pub(super) fn key(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|segment| match segment {
            Segment::Member(key) => Some(key.as_str()),
            Segment::Item(_) => None,
        })
    }

    /// The value at this location of a document.
    pub(super) fn look_up<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        self.0
            .iter()
            .try_fold(document, |value, segment| match segment {
                Segment::Member(key) => value.get(key),
                Segment::Item(name) => item(value.as_array()?, name),
            })
    }

    fn then(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }
}

fn item<'d>(list: &'d [Value], name: &str) -> Option<&'d Value> {
    list.iter()
        .find(|item| name_of(item) == Some(name))
        .or_else(|| list.get(name.parse::<usize>().ok()?))
}

/// The name of a list's member.
pub(super) fn name_of(item: &Value) -> Option<&str> {
    item.get("name").or_else(|| item.get("alias"))?.as_str()
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Member(key) if nth == 0 => f.write_str(key)?,
                Segment::Member(key) => write!(f, ".{key}")?,
                Segment::Item(name) => write!(f, "[{name}]")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Location {
    type Err = NoLocation;

    fn from_str(text: &str) -> Result<Self, NoLocation> {
        let no_location = || NoLocation {
            text: text.to_owned(),
        };
        let mut location = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (name, after) = inner.split_once(']').ok_or_else(no_location)?;
                location = location.item(name);
                rest = after;
                continue;
            }
            let is_first = location.0.is_empty();
            let key = rest.strip_prefix('.').filter(|_| !is_first);
            let key = key
                .or(Some(rest).filter(|_| is_first))
                .ok_or_else(no_location)?;
            let end = key.find(['.', '[']).unwrap_or(key.len());
            if end == 0 {
                return Err(no_location());
            }
            location = location.member(&key[..end]);
            rest = &key[end..];
        }
        if location.0.is_empty() {
            Err(no_location())
        } else {
            Ok(location)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_location_is_read_as_it_is_printed_and_found() {
        let document = json!({"groups": [{"name": "a.b", "jobs": [{"port": 1}, {"port": 2}]}]});
        let text = "groups[a.b].jobs[1].port";
        let location: Location = text.parse().unwrap();
        assert_eq!(location.to_string(), text);
        assert_eq!(location.look_up(&document), Some(&json!(2)));
        assert_eq!(
            "groups[c]".parse::<Location>().unwrap().look_up(&document),
            None
        );
    }

    #[test]
    fn what_is_no_location_is_refused() {
        for text in ["", ".a", "a..b", "a[b", "a[b]c"] {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }

    #[test]
    fn properties_are_never_harmless() {
        for text in [
            "instance_groups[a].jobs[b].properties.c",
            "tags.x",
            "instance_groups[a].env",
        ] {
            assert!(!text.parse::<Location>().unwrap().is_harmless(), "{text}");
        }
        for text in ["instance_groups[a].vm_type", "releases[r].version"] {
            assert!(text.parse::<Location>().unwrap().is_harmless(), "{text}");
        }
    }
}
