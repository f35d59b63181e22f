//! Keys that mean nothing here.

use super::{Section, Typo, has_value};
use crate::{
    document::{Location, Node, location},
    keys::{Key, KeyStatus, Kind},
};

/// The most letters of an unknown key that is quoted. Of the known ones none is longer.
const LONGEST_KEY: usize = 40;

impl Section<'_> {
    /// Warns of unknown keys. The Go broker ignores them silently, so that a typo is hard to find.
    pub(crate) fn warn_unknown_keys(&self) {
        for (index, (name, node)) in self.entries.iter().enumerate() {
            let (known, location) = (self.keys.get(&name.value), location(name));
            let mut previous = self.entries[..index].iter();
            if previous.any(|(previous, _)| previous.value == name.value) {
                if known.is_some() || looks_like_a_key(&name.value) {
                    let text = (
                        "appears a second time, and the last one counts",
                        "remove one",
                    );
                    self.warn_at(location, &self.key(&name.value), text);
                } else {
                    let text = ("repeats a key, and the last one counts", "remove one");
                    self.warn_at(location, &self.path, text);
                }
            }
            if let Some(key) = known {
                self.warn_unused(key, location, &node.value);
            } else if self.keys.is_unknown(&name.value) {
                self.warn_unknown(&name.value, location);
            }
        }
    }

    fn warn_unused(&self, key: &Key, location: Location, value: &Node) {
        let text = match (&key.status, value) {
            (KeyStatus::Deprecated(instead), value) if has_value(value) => {
                ("is deprecated".to_owned(), instead.clone())
            }
            // The program that reads it reports it only at run time.
            (KeyStatus::ReadElsewhere, Node::Text(text))
                if key.kind == Kind::Choice && !key.words.contains(text) =>
            {
                let words = key.words.join("`, `");
                (format!("is `{text}`"), format!("give `{words}`"))
            }
            _ => return,
        };
        self.warn_at(location, &self.key(&key.name), text);
    }

    /// The key that is probably a typo of a missing one.
    pub(super) fn typo_for(&self, key: &str) -> Option<Typo> {
        if self.entries.iter().any(|(name, _)| name.value == key) {
            return None;
        }
        if self.typo.is_some() {
            return self.typo.clone();
        }
        self.entries.iter().find_map(|(name, _)| {
            let written = &name.value;
            let is_typo = self.keys.is_unknown(written) && looks_like_a_key(written);
            let meant = self
                .nearest(written)
                .filter(|meant| is_typo && (*meant == key || self.is_file_of(meant, key)))?;
            Some(Typo {
                missing: self.key(key),
                written: written.clone(),
                meant,
                location: location(name),
            })
        })
    }

    fn is_file_of(&self, name: &str, key: &str) -> bool {
        let file = self.keys.file_of(key);
        file.is_some_and(|file| file.name == name)
    }

    fn nearest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.keys.iter().map(|known| known.name.as_str()))
    }

    fn warn_unknown(&self, name: &str, location: Location) {
        // The error of the missing key names the typo already.
        if self.context.findings.are_refused_at(location) {
            return;
        }
        // `password:x` without a blank is a key, and `x` must not be shown.
        let is_nameable = looks_like_a_key(name);
        let right = match self.nearest(name) {
            Some(known) if is_nameable => format!("is `{known}` meant?"),
            None if is_nameable && !self.keys.hold_secrets() => "remove it".to_owned(),
            Some(_) | None => {
                let text = (
                    "has a key here that is not known and ignored",
                    "remove it, or see whether a blank is missing after its colon",
                );
                return self.warn_at(location, &self.path, text);
            }
        };
        let text = ("is not known and ignored", right);
        self.warn_at(location, &self.key(name), text);
    }
}

/// The known word that an unknown one seems to mean.
pub(crate) fn nearest<'w>(
    unknown: &str,
    known: impl IntoIterator<Item = &'w str>,
) -> Option<&'w str> {
    let distances = known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(known, unknown), known));
    let near = distances.filter(|(distance, known)| *distance <= 1 + known.len() / 4);
    near.min().map(|(_, known)| known)
}

/// Whether the name may be quoted: a text in the place of a key may be a secret.
fn looks_like_a_key(name: &str) -> bool {
    let is_fine = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    name.len() <= LONGEST_KEY
        && name
            .bytes()
            .all(|letter| is_fine(letter) || matches!(letter, b'_' | b'-'))
}
