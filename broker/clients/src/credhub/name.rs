//! Names of credentials.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Names a credential, or a folder of credentials: `/odb/offering/deployment/secret`.
///
/// The name begins with a slash and contains only characters that CredHub allows. The client sends it encoded, so that
/// it cannot change the request. CredHub and [`is_below`](Self::is_below) compare names case-insensitively; `==`
/// compares the exact text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CredentialName(String);

/// The text cannot name a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` cannot name a credential: names have letters, digits and `-_/.:,()[]+`, no empty or dotted part and 1024 \
     characters at most"
)]
pub struct InvalidCredentialName {
    /// The text, with control characters escaped.
    pub name: String,
}

impl CredentialName {
    /// In characters, the first slash included.
    const LONGEST: usize = 1024;

    /// The text as sent to CredHub.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This name relative to a folder: `secret` for `/a/secret` in `/a`. `None` for the folder itself and for names
    /// elsewhere.
    pub fn below(&self, folder: &Self) -> Option<&str> {
        let (start, rest) = self.0.split_at_checked(folder.0.len())?;
        let inside = start.eq_ignore_ascii_case(&folder.0);
        rest.strip_prefix('/').filter(|_| inside)
    }

    /// Whether this name is inside a folder, at any depth.
    pub fn is_below(&self, folder: &Self) -> bool {
        self.below(folder).is_some()
    }

    /// Whether CredHub takes both for the same credential.
    pub fn names_the_same_as(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl TryFrom<String> for CredentialName {
    type Error = InvalidCredentialName;

    /// CredHub puts a missing first slash before a name; it is put here already.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let name = if text.starts_with('/') {
            text
        } else {
            format!("/{text}")
        };
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/.:,()[]+".contains(&byte);
        // CredHub itself takes `.` and `..` for parts like any other; a proxy before it need not.
        let swallowed = |part: &str| matches!(part, "" | "." | "..");
        if name.len() > Self::LONGEST
            || !name.bytes().all(allowed)
            || name.split('/').skip(1).any(swallowed)
        {
            return Err(InvalidCredentialName {
                name: name.escape_debug().to_string(),
            });
        }
        Ok(Self(name))
    }
}

impl FromStr for CredentialName {
    type Err = InvalidCredentialName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl From<CredentialName> for String {
    fn from(name: CredentialName) -> Self {
        name.0
    }
}

impl fmt::Display for CredentialName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> CredentialName {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_that_is_more_than_a_name_is_refused() {
        for text in [
            "",
            "/",
            "/a//b",
            "/a/",
            "/a/../b",
            "/a/./b",
            "/a?name=b",
            "/a&b",
            "/a b",
            "/ä",
            "/a\nb",
            &"x".repeat(1024),
        ] {
            assert!(text.parse::<CredentialName>().is_err(), "{text:?}");
        }
        assert!("x".repeat(1023).parse::<CredentialName>().is_ok());
    }

    #[test]
    fn a_first_slash_is_added_as_credhub_adds_it() {
        assert_eq!(name("a/b.c").as_str(), "/a/b.c");
        assert_eq!(name("/a/b.c"), name("a/b.c"));
    }

    #[test]
    fn a_folder_holds_what_is_below_it_and_neither_itself_nor_a_sibling() {
        let folder = name("/odb/offering/service-instance_a");

        assert_eq!(
            name("/ODB/offering/service-instance_A/x/y").below(&folder),
            Some("x/y")
        );
        for outside in [
            "/odb/offering/service-instance_a",
            "/odb/offering/service-instance_ab/x",
            "/odb/offering",
            "/other/odb/offering/service-instance_a/x",
        ] {
            assert!(!name(outside).is_below(&folder), "{outside}");
        }
    }
}
