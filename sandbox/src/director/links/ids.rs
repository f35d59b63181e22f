//! The ids of providers, consumers and links. On the wire they are text.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub(in crate::director) struct $name(u64);

        impl $name {
            /// The id after this one. The default is the id before the first.
            pub(super) fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;

            /// Reads the id in a path, a query or a body.
            fn from_str(text: &str) -> Result<Self, ParseIntError> {
                text.parse().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    /// Numbers a provider. It stays the same over deploys.
    ProviderId;
    /// Numbers a consumer. It stays the same over deploys.
    ConsumerId;
    /// Numbers a link. It stays the same as long as the provider's content does.
    LinkId;
}
