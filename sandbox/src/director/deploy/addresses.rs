//! Addresses that a manifest or a cloud config gives: single ones and ranges `first - last`.

use std::net::Ipv4Addr;

use serde_json::Value;

use super::error::ManifestError;
use crate::director::ids::GroupName;

/// The most addresses of one list; more would be a typo.
const LIMIT: usize = 65_536;

/// A first and a last address, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressRange {
    first: Ipv4Addr,
    last: Ipv4Addr,
}

/// The addresses of a `static_ips` list. Duplicates are an error.
pub(super) fn static_addresses(
    said: &Value,
    group: &GroupName,
) -> Result<Vec<Ipv4Addr>, ManifestError> {
    let mut addresses = Vec::new();
    for range in ranges(said)? {
        for address in range.addresses().take(LIMIT) {
            if addresses.contains(&address) {
                return Err(ManifestError::RepeatedStaticAddress {
                    group: group.clone(),
                    address,
                });
            }
            addresses.push(address);
        }
    }
    Ok(addresses)
}

/// The ranges of a list, or of a single text.
pub(super) fn ranges(said: &Value) -> Result<Vec<AddressRange>, ManifestError> {
    match said {
        Value::Array(items) => items.iter().map(range).collect(),
        Value::Null => Ok(Vec::new()),
        single => Ok(vec![range(single)?]),
    }
}

fn range(said: &Value) -> Result<AddressRange, ManifestError> {
    let unreadable = || ManifestError::UnreadableAddress(said.as_str().unwrap_or("?").to_owned());
    let text = said.as_str().ok_or_else(unreadable)?;
    let address = |text: &str| text.trim().parse::<Ipv4Addr>().map_err(|_| unreadable());
    if let Some((network, bits)) = text.split_once('/') {
        let bits: u32 = bits.trim().parse().map_err(|_| unreadable())?;
        let hosts = u32::MAX
            .checked_shr(bits)
            .filter(|_| bits <= 32)
            .unwrap_or(0);
        let first = address(network)?.to_bits() & !hosts;
        return Ok(AddressRange {
            first: Ipv4Addr::from_bits(first),
            last: Ipv4Addr::from_bits(first | hosts),
        });
    }
    match text.split_once('-') {
        None => {
            let only = address(text)?;
            Ok(AddressRange {
                first: only,
                last: only,
            })
        }
        Some((first, last)) => Ok(AddressRange {
            first: address(first)?,
            last: address(last)?,
        }),
    }
}

impl AddressRange {
    pub(super) fn contains(self, address: Ipv4Addr) -> bool {
        (self.first..=self.last).contains(&address)
    }

    fn addresses(self) -> impl Iterator<Item = Ipv4Addr> {
        (self.first.to_bits()..=self.last.to_bits()).map(Ipv4Addr::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_and_ranges_are_read() {
        let group = GroupName::from("g".to_owned());
        let said = json!(["10.0.0.9", "10.0.0.2 - 10.0.0.3"]);
        let expected: Vec<Ipv4Addr> = ["10.0.0.9", "10.0.0.2", "10.0.0.3"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        assert_eq!(static_addresses(&said, &group).unwrap(), expected);
        let twice = json!(["10.0.0.2", "10.0.0.1-10.0.0.4"]);
        assert_eq!(
            static_addresses(&twice, &group).unwrap_err().to_string(),
            "Instance group 'g' specifies static IP '10.0.0.2' more than once"
        );
        let net = ranges(&json!("192.168.56.0/24")).unwrap()[0];
        assert!(net.contains("192.168.56.255".parse().unwrap()));
        assert!(!net.contains("192.168.57.0".parse().unwrap()));
        assert!(ranges(&json!(["10.0.0"])).is_err());
    }
}
