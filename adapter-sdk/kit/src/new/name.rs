use std::fmt;
use std::str::FromStr;

/// The name of an adapter. It becomes the name of a Cargo package, a BOSH release, a job and a service offering, so it
/// must be valid for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdapterName(String);

/// Why a text is no name of an adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotAnAdapterName {
    #[error("`{0}` is not from 2 to {MAX_LENGTH} characters long")]
    Length(String),
    #[error(
        "`{0}` must begin with a letter and be of lower-case letters, digits and single hyphens"
    )]
    Character(String),
    /// A name that Cargo or Rust keep for themselves, or that YAML reads as something else than a text.
    #[error("`{0}` is reserved in Cargo, Rust or YAML; add a word, as in `{0}-service`")]
    Reserved(String),
}

/// Names longer than this make job names that no longer fit where BOSH shows them.
const MAX_LENGTH: usize = 40;

/// Names that `cargo new` rejects for a package (keywords, crates of the toolchain, folders of `target`), and those
/// that some YAML parser reads as null or a boolean, separated by blanks.
const RESERVED: &str = "abstract alloc as async await become box break build const continue core crate deps do dyn \
    else enum examples extern false final fn for gen if impl in incremental let loop macro \
    match mod move mut no null off on override panic priv proc-macro pub ref return self static \
    std struct super test trait true try type typeof unsafe unsized use virtual where while yes \
    yield";

impl fmt::Display for AdapterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for AdapterName {
    type Err = NotAnAdapterName;

    fn from_str(name: &str) -> Result<Self, NotAnAdapterName> {
        let name = name.to_owned();
        let is_allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_well_formed = name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(is_allowed)
            && !name.ends_with('-')
            && !name.contains("--");
        if !is_well_formed {
            Err(NotAnAdapterName::Character(name))
        } else if !(2..=MAX_LENGTH).contains(&name.len()) {
            Err(NotAnAdapterName::Length(name))
        } else if RESERVED.split(' ').any(|reserved| reserved == name) {
            Err(NotAnAdapterName::Reserved(name))
        } else {
            Ok(Self(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AdapterName, NotAnAdapterName};

    fn name(text: &str) -> Result<AdapterName, NotAnAdapterName> {
        text.parse()
    }

    #[test]
    fn names_of_words_and_hyphens_are_taken() {
        for text in ["my-cache", "redis", "s3-gateway", "x1"] {
            assert_eq!(name(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_cargo_bosh_or_the_marketplace_would_stumble_over_is_refused() {
        for text in [
            "", "My-Cache", "my_cache", "1st", "-x", "x-", "a--b", "a b", "café", "a/b",
        ] {
            assert_eq!(
                name(text),
                Err(NotAnAdapterName::Character(text.to_owned()))
            );
        }
        for text in ["x".to_owned(), "x".repeat(41)] {
            assert_eq!(name(&text), Err(NotAnAdapterName::Length(text)));
        }
    }

    #[test]
    fn names_that_yaml_reads_as_something_else_are_refused() {
        for text in ["null", "true", "false", "yes", "no", "on", "off"] {
            assert_eq!(name(text), Err(NotAnAdapterName::Reserved(text.to_owned())));
        }
        for text in ["y", "n"] {
            assert_eq!(name(text), Err(NotAnAdapterName::Length(text.to_owned())));
        }
    }

    #[test]
    fn a_name_that_means_something_to_cargo_is_refused_with_a_way_out() {
        let rejection = name("test").unwrap_err();
        assert_eq!(rejection, NotAnAdapterName::Reserved("test".to_owned()));
        assert!(rejection.to_string().contains("`test-service`"));
    }
}
