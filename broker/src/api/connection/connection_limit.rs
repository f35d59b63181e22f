//! How many connections there may be.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use odb_api_types::code::Code;

const REPORTED: Duration = Duration::from_secs(30);

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

#[derive(Clone, Debug)]
pub(in crate::api) struct ConnectionLimit(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_client: HashMap<Client, usize>,
    turned_away: u64,
    reported: Option<Instant>,
}

/// The slot of a connection. Dropping it frees the slot.
#[derive(Debug)]
pub(in crate::api) struct ConnectionSlot {
    shared: Arc<Shared>,
    client: Client,
}

impl ConnectionLimit {
    /// Allows `limit` connections, half of them for one client, so that no client uses up all.
    pub(in crate::api) fn new(limit: usize) -> Self {
        Self(Arc::new(Shared {
            limit,
            taken: Mutex::default(),
        }))
    }

    pub(in crate::api) fn take(&self, client: Client) -> Option<ConnectionSlot> {
        let mut taken = self.0.taken();
        let own = taken.by_client.get(&client).copied().unwrap_or(0);
        if taken.all >= self.0.limit || own >= self.0.limit.div_ceil(2) {
            taken.turn_away(self.0.limit);
            return None;
        }
        taken.all += 1;
        taken.by_client.insert(client, own + 1);
        Some(ConnectionSlot {
            shared: self.0.clone(),
            client,
        })
    }
}

impl Shared {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// One line for each would let unauthenticated clients fill the log.
    fn turn_away(&mut self, limit: usize) {
        self.turned_away += 1;
        if self
            .reported
            .is_none_or(|reported| reported.elapsed() >= REPORTED)
        {
            tracing::warn!(
                code = %Code::Connections,
                open = self.all,
                limit,
                turned_away = self.turned_away,
                "connections are turned away: as many as `broker.timings.connections` are open, or one client has half of them"
            );
            self.reported = Some(Instant::now());
            self.turned_away = 0;
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.shared.taken();
        taken.all -= 1;
        if let Some(own) = taken.by_client.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                taken.by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> Client {
        Client::at(([10, 0, 0, last], 5).into())
    }

    #[test]
    fn one_client_gets_half_of_the_locations_and_others_the_rest() {
        let connection_limit = ConnectionLimit::new(5);
        let mut taken: Vec<_> = (0..3)
            .map_while(|_| connection_limit.take(client(1)))
            .collect();
        assert_eq!(taken.len(), 3);
        assert!(connection_limit.take(client(1)).is_none());

        taken.push(connection_limit.take(client(2)).unwrap());
        taken.push(connection_limit.take(client(3)).unwrap());
        assert!(connection_limit.take(client(2)).is_none(), "all are taken");

        taken.remove(0);
        assert!(
            connection_limit.take(client(2)).is_some(),
            "one is free again"
        );
        drop(taken);
        assert!(connection_limit.0.taken().by_client.is_empty());
        assert_eq!(connection_limit.0.taken().all, 0);
    }

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
