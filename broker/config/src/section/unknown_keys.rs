//! Keys that mean nothing here.

use super::{Section, Slip, has_value};
use crate::{
    document::{Node, Place, place},
    keys::{Key, Kind, Standing},
    problems::Message,
};

/// The most letters of an unknown key that is quoted. Of the known ones none is longer.
const LONGEST_KEY: usize = 40;

impl Section<'_> {
    /// Remarks on keys that mean nothing: the Go broker ignores them silently, a typo costs its operator an afternoon.
    pub(crate) fn remark_unknown_keys(&self) {
        for (index, (name, node)) in self.entries.iter().enumerate() {
            if self.entries[..index]
                .iter()
                .any(|(former, _)| former.value == name.value)
            {
                if self.keys.get(&name.value).is_some() || looks_like_a_key(&name.value) {
                    let text = (
                        "stands here a second time, and what stands last counts",
                        "remove one",
                    );
                    self.remark_key(&name.value, place(name), text);
                } else {
                    let text = (
                        "has a key here that stood before, and what stands last counts",
                        "remove one",
                    );
                    self.remark_anonymously(place(name), text);
                }
            }
            match self.keys.get(&name.value) {
                Some(key) => self.remark_unused(key, place(name), &node.value),
                None if self.keys.lets_others_pass()
                    || self.keys.are_shared_with_readers_of(&name.value) => {}
                None => self.remark_unknown(&name.value, place(name)),
            }
        }
    }

    fn remark_unused(&self, key: &Key, place: Place, value: &Node) {
        match (key.standing, key.kind) {
            (Standing::Deprecated(instead), _) if has_value(value) => {
                self.remark_key(key.name, place, ("is deprecated", instead));
            }
            // Who reads it says so only when it runs.
            (Standing::ReadElsewhere, Kind::Choice(words)) => {
                if let Node::Text(text) = value
                    && !words.contains(&text.as_str())
                {
                    let words = words.join("`, `");
                    self.remark_key(
                        key.name,
                        place,
                        (format!("is `{text}`"), format!("give `{words}`")),
                    );
                }
            }
            _ => {}
        }
    }

    /// What seems to stand in the place of a key that is not there.
    pub(super) fn slip_for(&self, key: &str) -> Option<Slip> {
        if self.entries.iter().any(|(name, _)| name.value == key) {
            return None;
        }
        if self.slip.is_some() {
            return self.slip.clone();
        }
        self.entries.iter().find_map(|(name, _)| {
            let written = &name.value;
            let is_unknown = self.keys.get(written).is_none()
                && !self.keys.lets_others_pass()
                && !self.keys.are_shared_with_readers_of(written);
            let (_, meant) = self
                .nearest(written)
                .filter(|(_, meant)| is_unknown && *meant == key && looks_like_a_key(written))?;
            Some(Slip {
                missing: self.key(key),
                written: written.clone(),
                meant,
                place: place(name),
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

    fn remark_unknown(&self, name: &str, place: Place) {
        // The fault of what is missing names the typo already.
        if self.context.problems.are_refused_at(place) {
            return;
        }
        let nearest = self.nearest(name);
        // `password:x` without a blank is a key, and `x` is nobody's business.
        let is_nameable = looks_like_a_key(name);
        match nearest {
            Some((_, known)) if is_nameable => {
                let text = ("is not known and ignored", format!("is `{known}` meant?"));
                self.remark_key(name, place, text);
            }
            None if is_nameable && !self.keys.hold_secrets() => {
                self.remark_key(name, place, ("is not known and ignored", "remove it"));
            }
            Some(_) | None => {
                let text = (
                    "has a key here that is not known and ignored",
                    "remove it, or see whether a blank is missing after its colon",
                );
                self.remark_anonymously(place, text);
            }
        }
    }

    /// A remark on a key that is not named.
    fn remark_anonymously(&self, place: Place, message: impl Into<Message>) {
        self.context.problems.remark(place, &self.path, message);
    }
}

/// Whether this may be quoted: what else slips into the place of a key may be a secret.
fn looks_like_a_key(name: &str) -> bool {
    let is_fine = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    name.len() <= LONGEST_KEY
        && name
            .bytes()
            .all(|letter| is_fine(letter) || matches!(letter, b'_' | b'-'))
}
