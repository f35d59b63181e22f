//! The addresses that VMs are given.

use std::{
    collections::BTreeSet,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
};

/// A range of addresses, lent to one VM each.
#[derive(Clone, Debug)]
pub struct AddressPool {
    first: u32,
    last: u32,
    lent: Arc<Mutex<Lent>>,
}

/// The right to use one address, which goes back to its pool when this value is gone.
#[derive(Debug)]
pub struct Lease {
    address: Ipv4Addr,
    lent: Arc<Mutex<Lent>>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` is not an address of this pool, or in use")]
pub struct NotToBeLent {
    address: Ipv4Addr,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("all {size} addresses of the pool are in use")]
pub struct NoAddressLeft {
    size: u32,
}

#[derive(Debug)]
struct Lent {
    addresses: BTreeSet<u32>,
    next: u32,
}

impl AddressPool {
    /// The addresses from `first` to `last`, both included.
    pub fn new(first: Ipv4Addr, last: Ipv4Addr) -> Self {
        let (first, last) = (first.to_bits(), last.to_bits());
        let lent = Lent {
            addresses: BTreeSet::new(),
            next: first,
        };
        Self {
            first,
            last,
            lent: Arc::new(Mutex::new(lent)),
        }
    }

    /// The private addresses of `10.0.0.0/8`, for VMs on which nothing listens.
    pub fn private() -> Self {
        Self::new(Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 255, 255, 254))
    }

    pub fn lend_exactly(&self, address: Ipv4Addr) -> Result<Lease, NotToBeLent> {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let bits = address.to_bits();
        if !(self.first..=self.last).contains(&bits) || !lent.addresses.insert(bits) {
            return Err(NotToBeLent { address });
        }
        Ok(Lease {
            address,
            lent: Arc::clone(&self.lent),
        })
    }

    /// Lends a free address. One that was given back comes last, so that clients of its previous owner reach no other
    /// one.
    pub fn lend(&self) -> Result<Lease, NoAddressLeft> {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let start = lent.next.clamp(self.first, self.last.max(self.first));
        let free = (start..=self.last)
            .chain(self.first..start)
            .find(|address| !lent.addresses.contains(address))
            .ok_or(NoAddressLeft {
                size: (self.last + 1).saturating_sub(self.first),
            })?;
        lent.addresses.insert(free);
        lent.next = if free == self.last {
            self.first
        } else {
            free + 1
        };
        Ok(Lease {
            address: Ipv4Addr::from_bits(free),
            lent: Arc::clone(&self.lent),
        })
    }
}

impl Lease {
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        lent.addresses.remove(&self.address.to_bits());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_lent_once_and_again_after_it_was_given_back() {
        let pool = AddressPool::new(Ipv4Addr::new(127, 0, 7, 10), Ipv4Addr::new(127, 0, 7, 11));
        let first = pool.lend().unwrap();
        let second = pool.lend().unwrap();
        assert_ne!(first.address(), second.address());
        assert_eq!(pool.lend().unwrap_err(), NoAddressLeft { size: 2 });

        let given_back = second.address();
        drop(second);
        assert_eq!(pool.lend().unwrap().address(), given_back);
    }

    #[test]
    fn a_requested_address_is_assigned_to_no_other_vm() {
        let [first, second] = [11, 12].map(|last| Ipv4Addr::new(127, 0, 7, last));
        let pool = AddressPool::new(first, second);

        let mine = pool.lend_exactly(first).unwrap();

        assert!(pool.lend_exactly(first).is_err());
        assert_eq!(pool.lend().unwrap().address(), second);
        assert!(pool.lend_exactly(Ipv4Addr::new(127, 0, 8, 11)).is_err());
        drop(mine);
        assert!(pool.lend_exactly(first).is_ok());
    }
}
