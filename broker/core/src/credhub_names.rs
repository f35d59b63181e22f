//! Ids in CredHub names. CredHub ignores case and ids do not, so names encode which letters of an id are capitals.
//!
//! An id without capitals is used unchanged, as in the Go broker.

use std::fmt::Write as _;

use odb_clients::credhub::CredentialName;

/// Which letters of an id are capitals: a hexadecimal digit for four characters, the first one its highest bit. None
/// without capitals.
pub fn capitals(id: &str) -> Option<String> {
    if !id.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut digits = String::new();
    for letters in id.as_bytes().chunks(4) {
        let bit =
            |(index, letter): (usize, &u8)| u8::from(letter.is_ascii_uppercase()) << (3 - index);
        let digit: u8 = letters.iter().enumerate().map(bit).sum();
        // Writing to a string does not fail.
        let _ = write!(digits, "{digit:x}");
    }
    Some(digits)
}

/// Whether a name is in a folder, at any depth, in the very letters of the folder: one that differs in case may belong
/// to another id.
pub fn is_exactly_below(name: &CredentialName, folder: &CredentialName) -> bool {
    let rest = name.as_str().strip_prefix(folder.as_str());
    rest.is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_letters_that_are_capitals_are_reported_by_four() {
        assert_eq!(capitals("c0ffee00-1111"), None);
        assert_eq!(capitals("CASE-X").as_deref(), Some("f4"));
        assert_eq!(capitals("abcD").as_deref(), Some("1"));
        assert_eq!(capitals("abcdE").as_deref(), Some("08"));
    }

    proptest! {
        #[test]
        fn ids_that_differ_in_case_differ_without_case(id in "[a-cA-C0-1._-]{1,9}", flips in any::<u16>()) {
            let flip = |(index, letter): (usize, char)| {
                let is_flipped = (flips >> index) & 1 == 1;
                match (is_flipped, letter.is_ascii_lowercase()) {
                    (true, true) => letter.to_ascii_uppercase(),
                    (true, false) => letter.to_ascii_lowercase(),
                    (false, _) => letter,
                }
            };
            let other: String = id.chars().enumerate().map(flip).collect();
            prop_assert_eq!(id == other, capitals(&id) == capitals(&other));
        }
    }
}
