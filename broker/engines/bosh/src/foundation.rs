//! Which foundation it is that instances are on.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How many bytes of the digest distinguish foundations.
const LENGTH: usize = 8;

/// Identifies a foundation: a short digest of its Cloud Controller's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Foundation(String);

impl Foundation {
    /// The foundation whose Cloud Controller has this address, in any spelling.
    pub(crate) fn of(cloud_controller: &str) -> Self {
        let address = cloud_controller.trim_end_matches('/').to_lowercase();
        let mut hex = String::new();
        for byte in Sha256::digest(address).iter().take(LENGTH) {
            // Writing to a string does not fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Self(hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_report_foundations_apart_however_they_are_spelled() {
        let one = Foundation::of("https://api.one.example");
        assert_eq!(one, Foundation::of("https://API.one.example/"));
        assert_ne!(one, Foundation::of("https://api.two.example"));
    }
}
