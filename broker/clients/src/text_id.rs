//! Names and ids that other systems choose and that travel in addresses.

/// The text is no name or id that can be put into an address.
///
/// It is empty, `.` or `..` (which an address swallows), or has control characters in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {kind}: it must not be empty, `.`, `..` or contain control characters")]
pub struct InvalidText {
    /// The expected kind, such as `deployment name`.
    pub kind: &'static str,
    /// The text, with control characters escaped.
    pub text: String,
}

pub(crate) fn check(kind: &'static str, text: &str) -> Result<(), InvalidText> {
    if text.is_empty() || text == "." || text == ".." || text.chars().any(char::is_control) {
        return Err(InvalidText {
            kind,
            text: text.escape_debug().to_string(),
        });
    }
    Ok(())
}

/// Declares a validated text type, so that one kind of id cannot be used as another.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text as sent.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::InvalidText;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                $crate::text_id::check($kind, &text)?;
                Ok(Self(text))
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::InvalidText;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(crate) use text_id;
