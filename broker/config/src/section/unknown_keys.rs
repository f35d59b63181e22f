//! Keys that mean nothing here.

use super::{Section, Typo, has_value};
use crate::{
    document::{Location, Node, location},
    findings::Message,
    keys::{Key, KeyStatus, Kind},
};

/// The most letters of an unknown key that is quoted. Of the known ones none is longer.
const LONGEST_KEY: usize = 40;

impl Section<'_> {
    /// Warns of unknown keys. The Go broker ignores them silently, so that a typo is hard to find.
    pub(crate) fn warn_unknown_keys(&self) {
        for (index, (name, node)) in self.entries.iter().enumerate() {
            if self.entries[..index]
                .iter()
                .any(|(previous, _)| previous.value == name.value)
            {
                if self.keys.get(&name.value).is_some() || looks_like_a_key(&name.value) {
                    let text = (
                        "appears a second time, and the last one counts",
                        "remove one",
                    );
                    self.warn_key(&name.value, location(name), text);
                } else {
                    let text = ("repeats a key, and the last one counts", "remove one");
                    self.warn_anonymously(location(name), text);
                }
            }
            match self.keys.get(&name.value) {
                Some(key) => self.warn_unused(key, location(name), &node.value),
                None if self.keys.lets_others_pass()
                    || self.keys.are_shared_with_readers_of(&name.value) => {}
                None => self.warn_unknown(&name.value, location(name)),
            }
        }
    }

    fn warn_unused(&self, key: &Key, location: Location, value: &Node) {
        match (key.status, key.kind) {
            (KeyStatus::Deprecated(instead), _) if has_value(value) => {
                self.warn_key(key.name, location, ("is deprecated", instead));
            }
            // The program that reads it reports it only at run time.
            (KeyStatus::ReadElsewhere, Kind::Choice(words)) => {
                if let Node::Text(text) = value
                    && !words.contains(&text.as_str())
                {
                    let words = words.join("`, `");
                    self.warn_key(
                        key.name,
                        location,
                        (format!("is `{text}`"), format!("give `{words}`")),
                    );
                }
            }
            _ => {}
        }
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
            let is_unknown = self.keys.get(written).is_none()
                && !self.keys.lets_others_pass()
                && !self.keys.are_shared_with_readers_of(written);
            let (_, meant) = self
                .nearest(written)
                .filter(|(_, meant)| is_unknown && *meant == key && looks_like_a_key(written))?;
            Some(Typo {
                missing: self.key(key),
                written: written.clone(),
                meant,
                location: location(name),
            })
        })
    }

    /// The known key that an unknown one seems to mean, and how far it is from it.
    fn nearest(&self, name: &str) -> Option<(usize, &'static str)> {
        self.keys
            .iter()
            .map(|known| (strsim::damerau_levenshtein(known.name, name), known.name))
            .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
            .min()
    }

    fn warn_unknown(&self, name: &str, location: Location) {
        // The error of the missing key names the typo already.
        if self.context.findings.are_refused_at(location) {
            return;
        }
        let nearest = self.nearest(name);
        // `password:x` without a blank is a key, and `x` must not be shown.
        let is_nameable = looks_like_a_key(name);
        match nearest {
            Some((_, known)) if is_nameable => {
                let text = ("is not known and ignored", format!("is `{known}` meant?"));
                self.warn_key(name, location, text);
            }
            None if is_nameable && !self.keys.hold_secrets() => {
                self.warn_key(name, location, ("is not known and ignored", "remove it"));
            }
            Some(_) | None => {
                let text = (
                    "has a key here that is not known and ignored",
                    "remove it, or see whether a blank is missing after its colon",
                );
                self.warn_anonymously(location, text);
            }
        }
    }

    /// Records a warning about a key without naming it.
    fn warn_anonymously(&self, location: Location, message: impl Into<Message>) {
        self.context.findings.warning(location, &self.path, message);
    }
}

/// Whether the name may be quoted: a text in the place of a key may be a secret.
fn looks_like_a_key(name: &str) -> bool {
    let is_fine = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    name.len() <= LONGEST_KEY
        && name
            .bytes()
            .all(|letter| is_fine(letter) || matches!(letter, b'_' | b'-'))
}
