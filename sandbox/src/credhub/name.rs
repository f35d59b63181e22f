//! Names of credentials, and the paths above them.

use serde::{Deserialize, Serialize};

const MAXIMUM_LENGTH: usize = 1024;
/// The characters of a name in addition to letters and digits.
const PUNCTUATION: &str = "-_/.:,()[]+";

/// Names a credential. It begins with a slash, is kept as it was first written, and is found without regard to case
/// (`spec/contracts/platform-apis.md`, "Credentials").
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CredentialName(String);

/// Why a text is no name for a new credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the name is empty")]
    Missing,
    #[error("the name has a slash where none may be")]
    Slash,
    #[error("the name has a character that is not allowed")]
    Character,
    #[error("the name is longer than {MAXIMUM_LENGTH} characters")]
    TooLong,
}

impl CredentialName {
    /// A name for a credential that may have to be made. A leading slash is added when there is none.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let Self(name) = Self::sought(text);
        if name == "/" {
            return Err(NameError::Missing);
        }
        if name.contains("//") || name.ends_with('/') {
            return Err(NameError::Slash);
        }
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || PUNCTUATION.contains(letter);
        if !name.chars().all(allowed) {
            return Err(NameError::Character);
        }
        if name.len() > MAXIMUM_LENGTH {
            return Err(NameError::TooLong);
        }
        Ok(Self(name))
    }

    /// A name to search for. Text that names no credential is never found.
    pub fn sought(text: &str) -> Self {
        Self(rooted(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same for all spellings that mean the same credential.
    pub(super) fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

impl std::fmt::Display for CredentialName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text with a leading slash.
pub(super) fn rooted(text: &str) -> String {
    if text.starts_with('/') {
        text.to_owned()
    } else {
        format!("/{text}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_refused_for_what_is_wrong_with_it() {
        let cases = [
            ("", Err(NameError::Missing)),
            ("/", Err(NameError::Missing)),
            ("/a//b", Err(NameError::Slash)),
            ("/a/", Err(NameError::Slash)),
            ("/a b", Err(NameError::Character)),
            ("/ä", Err(NameError::Character)),
            ("/a*", Err(NameError::Character)),
            (&"a".repeat(1024), Err(NameError::TooLong)),
            (&"a".repeat(1023), Ok(())),
            ("/A-z_0.9:,()[]+", Ok(())),
        ];
        for (text, expected) in cases {
            assert_eq!(CredentialName::parse(text).map(|_| ()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_the_same_with_and_without_its_first_slash(name in "[a-zA-Z0-9_-]{1,8}(/[a-zA-Z0-9._-]{1,8}){0,3}") {
            let (bare, rooted) = (CredentialName::parse(&name), CredentialName::parse(&format!("/{name}")));
            prop_assert_eq!(&bare, &rooted);
            let parsed = bare.unwrap();
            prop_assert_eq!(parsed.key(), CredentialName::sought(&name.to_uppercase()).key());
            let expected = format!("/{name}");
            prop_assert_eq!(parsed.as_str(), expected.as_str());
        }

        #[test]
        fn what_is_a_name_obeys_every_rule(text in "[a-b/ *.]{0,12}") {
            if let Ok(name) = CredentialName::parse(&text) {
                let name = name.as_str();
                prop_assert!(name.len() > 1 && name.starts_with('/') && !name.ends_with('/'));
                prop_assert!(!name.contains("//") && !name.contains(' ') && !name.contains('*'));
            }
        }
    }
}
