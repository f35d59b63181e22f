//! Addresses of the broker's upstreams.

use std::fmt;

use odb_clients::{
    director::Director,
    http::{ClientError, check_address},
};

use super::section::{Found, Section};

/// The address of an upstream.
///
/// It is displayed without its query, which may contain secrets for some proxies; names and passwords are rejected.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// An address from outside of a file.
    ///
    /// # Errors
    ///
    /// It is unusable. The error repeats no part of it.
    pub fn of(text: &str) -> Result<Self, ClientError> {
        check_address(text).map(|()| Self(text.to_owned()))
    }

    /// The address as it is written, query included.
    pub fn as_written(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.trim().split(['?', '#']).next().unwrap_or_default();
        f.write_str(shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.to_string()).finish()
    }
}

/// The Director's address, which must be there. Its scheme does not matter, as to the Go broker.
pub(super) fn of_the_director(
    section: &Section<'_>,
    key: &'static str,
    right: &str,
) -> Option<Address> {
    let found = section.required_text(key, right)?;
    checked(section, found, Director::check_address)
}

/// A required address of an upstream. `right` describes the expected value.
pub(super) fn required(section: &Section<'_>, key: &'static str, right: &str) -> Option<Address> {
    let found = section.required_text(key, right)?;
    of(section, found)
}

/// The address of an upstream that was found.
pub(super) fn of(section: &Section<'_>, found: Found<String>) -> Option<Address> {
    checked(section, found, check_address)
}

fn checked(
    section: &Section<'_>,
    found: Found<String>,
    check: fn(&str) -> Result<(), ClientError>,
) -> Option<Address> {
    let why = match check(&found.value) {
        Ok(()) => return Some(Address(found.value)),
        Err(ClientError::Address { source }) => source.to_string(),
        Err(_) => {
            "it has no host, a scheme other than `https` and `http`, or a name or password in it"
                .to_owned()
        }
    };
    section.refuse_value(
        &found,
        (
            format!("is not a valid address: {why}"),
            "give `https://HOST:PORT`, or HOST alone",
        ),
    )
}
