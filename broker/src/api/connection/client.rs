//! The client of a connection.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A client, as far as addresses distinguish clients. Behind a router all clients are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::api) struct Client(IpAddr);

impl Client {
    /// The client at this address. For IPv6 the network counts, because a single machine may have all of its addresses.
    pub(in crate::api) fn at(address: SocketAddr) -> Self {
        Self(match address.ip().to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let network = address.to_bits() & (u128::MAX << 64);
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Client {
        Client::at(address.parse().unwrap())
    }

    #[test]
    fn clients_are_distinguished_by_address_and_in_ipv6_by_network() {
        assert_eq!(at("10.0.0.1:5"), at("10.0.0.1:6"));
        assert_eq!(at("10.0.0.1:5"), at("[::ffff:10.0.0.1]:5"));
        assert_ne!(at("10.0.0.1:5"), at("10.0.0.2:5"));
        assert_eq!(at("[2001:db8::1]:5"), at("[2001:db8::ffff:1]:5"));
        assert_ne!(at("[2001:db8::1]:5"), at("[2001:db8:0:1::1]:5"));
    }
}
