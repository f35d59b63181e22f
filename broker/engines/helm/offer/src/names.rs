//! Names on clusters and ids in the catalog. They follow from what is known, and are never stored.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::digest::hex;

/// The longest prefix of namespaces.
const LONGEST_PREFIX: usize = 16;

/// What the namespaces of a broker begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// `^[a-z]([-a-z0-9]*[a-z0-9])?$`, 16 characters at most.
    pub fn parse(text: &str) -> Option<Self> {
        let is_inner =
            |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        let bytes = text.as_bytes();
        let (first, last) = (bytes.first()?, bytes.last()?);
        let is_prefix = text.len() <= LONGEST_PREFIX
            && first.is_ascii_lowercase()
            && *last != b'-'
            && bytes.iter().all(|letter| is_inner(*letter));
        is_prefix.then(|| Self(text.to_owned()))
    }

    /// The namespace of an instance.
    pub fn namespace(&self, instance_id: &str) -> String {
        format!("{}-{}", self.0, label(instance_id))
    }

    /// The namespace of a chart that is installed once for each cluster.
    pub fn chart_namespace(&self, chart: &str) -> String {
        format!("{}-chart-{chart}", self.0)
    }
}

impl Default for Prefix {
    fn default() -> Self {
        Self("odb".to_owned())
    }
}

/// The id, or a hash of it where it is no lower-case UUID: namespaces are labels of 63 characters.
pub fn label(instance_id: &str) -> String {
    let groups = instance_id.split('-').map(|group| {
        let is_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        (group.len(), group.bytes().all(is_hex))
    });
    if groups.eq([8, 4, 4, 4, 12].map(|length| (length, true))) {
        return instance_id.to_owned();
    }
    let digest = Sha256::digest(instance_id.as_bytes());
    format!("x-{}", hex(&digest[..16]))
}

/// The release of a chart in an instance's namespace: short, because charts make longer names of it.
pub fn release(instance_id: &str, chart: &str) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut hasher = Sha256::new();
    hasher.update(instance_id);
    hasher.update([0]);
    hasher.update(chart);
    let digest = hasher.finalize();
    let bits = digest
        .iter()
        .take(8)
        .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
    let letters = (0..9).map(|nth| {
        let index = bits >> (59 - 5 * nth) & 31;
        char::from(ALPHABET[usize::try_from(index).unwrap_or_default()])
    });
    std::iter::once('k').chain(letters).collect()
}

/// The id of a service: that of a package for the same name in Kibosh.
pub fn service_id(offer: &str) -> String {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, offer.as_bytes()).to_string()
}

pub fn plan_id(service_id: &str, plan: &str) -> String {
    format!("{service_id}-{plan}")
}

/// `^[a-z]([-a-z0-9]{0,51}[a-z0-9])?$`: the name of a chart becomes a part of many others.
pub(crate) fn is_chart_name(name: &str) -> bool {
    let is_inner =
        |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
    name.len() <= 53
        && name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_the_instance_and_the_chart() {
        let id = "11111111-2222-4333-8444-555555555555";
        assert_eq!(release(id, "redis"), "krpopxq6d2");
        assert_ne!(release(id, "redis"), release(id, "mysql"));
        assert_eq!(Prefix::default().namespace(id), format!("odb-{id}"));
        assert_eq!(
            Prefix::default().chart_namespace("redis"),
            "odb-chart-redis"
        );
    }

    #[test]
    fn an_id_that_is_no_label_is_hashed() {
        for id in [
            "my instance",
            "11111111-2222-4333-8444-55555555555X",
            "AAAAAAAA-2222-4333-8444-555555555555",
        ] {
            let label = label(id);
            assert!(label.starts_with("x-") && label.len() == 34, "{label}");
        }
    }

    #[test]
    fn ids_are_those_of_kibosh() {
        let id = service_id("redis");
        assert_eq!(id, "6a15c66e-77c6-521b-a559-91f9931bc8d4");
        assert_eq!(plan_id(&id, "small"), format!("{id}-small"));
    }

    #[test]
    fn prefixes_begin_a_label() {
        assert!(Prefix::parse("odb-test").is_some());
        for text in ["", "1a", "a-", "A", "a_b", "seventeen-letters"] {
            assert_eq!(Prefix::parse(text), None, "{text}");
        }
    }
}
