//! Names and ids that other systems choose and that travel in addresses.

/// The text is no name or id of its kind: it cannot be put into an address, or the system refuses it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidText(pub(crate) String);

/// An address swallows an empty text, `.` and `..`.
pub(crate) fn check(kind: &str, text: String) -> Result<String, InvalidText> {
    if text.is_empty() || text == "." || text == ".." || text.chars().any(char::is_control) {
        return Err(InvalidText(format!(
            "`{}` is no {kind}: it must not be empty, `.`, `..` or contain control characters",
            text.escape_debug()
        )));
    }
    Ok(text)
}

/// Declares validated text types, so that one kind of id cannot be used as another: by the name of the kind, or with
/// a rule of its own.
macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)*) => {
        $($crate::text_id::text_ids! {
            $(#[$doc])* $name: |text| $crate::text_id::check($kind, text);
        })*
    };
    ($(#[$doc:meta])* $name:ident: $checked:expr;) => {
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
                let checked: fn(String) -> Result<String, Self::Error> = $checked;
                checked(text).map(Self)
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

pub(crate) use text_ids;
