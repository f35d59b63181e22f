//! Passwords, and the names of users.

use rand::{
    RngExt,
    seq::{IndexedRandom, SliceRandom},
};
use serde::{Deserialize, Serialize};

const DEFAULT_LENGTH: usize = 30;
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=200;
const USERNAME_LENGTH: usize = 20;

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const NUMBER: &[u8] = b"0123456789";
const SPECIAL: &[u8] = b"!#$%&()*,-./:;<=>?@[\\]^_`{|}~";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::credhub) struct StringParameters {
    /// A length that no password may have means the usual one.
    pub(in crate::credhub) length: usize,
    /// Of a user. Without one there will be a random one.
    pub(in crate::credhub) username: Option<String>,
    pub(in crate::credhub) lower: Letters,
    pub(in crate::credhub) upper: Letters,
    pub(in crate::credhub) number: Letters,
    pub(in crate::credhub) special: Letters,
}

/// Whether one kind of letters is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::credhub) enum Letters {
    Used,
    Unused,
}

impl Default for StringParameters {
    fn default() -> Self {
        Self {
            length: DEFAULT_LENGTH,
            username: None,
            lower: Letters::Used,
            upper: Letters::Used,
            number: Letters::Used,
            special: Letters::Unused,
        }
    }
}

impl StringParameters {
    /// Whether there is any letter to use.
    pub(in crate::credhub) fn have_letters(&self) -> bool {
        !self.kinds().is_empty()
    }

    /// The parameters as they are compared with those of a request: with the length that the password came to have.
    pub(super) fn with_length_of(&self, password: &str) -> Self {
        Self {
            length: password.len(),
            ..self.clone()
        }
    }

    /// A new password. It has a letter of each kind that is used.
    pub(super) fn password(&self) -> String {
        let kinds = self.kinds();
        let mut random = rand::rng();
        let all = kinds.concat();
        let length = if LENGTHS.contains(&self.length) {
            self.length
        } else {
            DEFAULT_LENGTH
        };
        let mut letters: Vec<u8> = kinds
            .iter()
            .filter_map(|kind| kind.choose(&mut random).copied())
            .collect();
        while letters.len() < length && !all.is_empty() {
            letters.push(all[random.random_range(0..all.len())]);
        }
        letters.shuffle(&mut random);
        letters.into_iter().map(char::from).collect()
    }

    /// The name that was asked for, or a new one.
    pub(super) fn username_or_new(&self) -> String {
        self.username.clone().unwrap_or_else(|| {
            let letters = Self {
                length: USERNAME_LENGTH,
                number: Letters::Unused,
                ..Self::default()
            };
            letters.password()
        })
    }

    fn kinds(&self) -> Vec<&'static [u8]> {
        let kinds = [
            (self.lower, LOWER),
            (self.upper, UPPER),
            (self.number, NUMBER),
            (self.special, SPECIAL),
        ];
        let used = kinds.into_iter().filter(|(use_, _)| *use_ == Letters::Used);
        used.map(|(_, letters)| letters).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_length_that_no_password_may_have_means_the_usual_one() {
        for (asked, given) in [(4, 4), (200, 200), (3, 30), (201, 30), (0, 30)] {
            let parameters = StringParameters {
                length: asked,
                ..StringParameters::default()
            };
            assert_eq!(parameters.password().len(), given, "{asked}");
        }
    }

    fn letters() -> impl Strategy<Value = Letters> {
        prop_oneof![Just(Letters::Used), Just(Letters::Unused)]
    }

    proptest! {
        #[test]
        fn a_password_has_every_kind_of_letters_that_is_used_and_no_other(
            lower in letters(), upper in letters(), number in letters(), special in letters(), length in 4_usize..60,
        ) {
            let parameters = StringParameters { length, username: None, lower, upper, number, special };
            prop_assume!(parameters.have_letters());
            let password = parameters.password();
            prop_assert_eq!(password.len(), length);
            for (used, kind) in [(lower, LOWER), (upper, UPPER), (number, NUMBER), (special, SPECIAL)] {
                prop_assert_eq!(password.bytes().any(|letter| kind.contains(&letter)), used == Letters::Used);
            }
        }
    }
}
