//! The current faults.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use actix_web::dev::RequestHead;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::{
    effect::{CertificateFlaw, Effect},
    fault::{Fault, FaultId, ServerName, UnusableError},
};

/// How many faults can exist at the same time, including used-up ones.
const LIMIT: usize = 1000;

/// The faults of one foundation. A clone shares them. They end with the process.
#[derive(Clone, Default)]
pub struct Faults(Arc<Shared>);

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    cleared: Notify,
}

#[derive(Default)]
struct Table {
    last: FaultId,
    set: BTreeMap<FaultId, SetFault>,
}

/// A fault that is set. It stays when it is used up, so that its count can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetFault {
    pub id: FaultId,
    /// How many requests or connections it has met, those that it let pass included.
    pub met: u64,
    pub struck: u64,
    /// How many of them it holds at the moment.
    #[serde(default)]
    pub holds: u64,
    #[serde(flatten)]
    pub fault: Fault,
}

/// A fault was not set.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddFaultError {
    #[error(transparent)]
    Unusable(#[from] UnusableError),
    #[error("{LIMIT} faults are set, which is as many as there can be; clear some")]
    TooMany,
}

impl Faults {
    /// Sets a fault, which is active at once.
    pub fn add(&self, fault: Fault) -> Result<SetFault, AddFaultError> {
        fault.check()?;
        self.with(|table| {
            if table.set.len() >= LIMIT {
                return Err(AddFaultError::TooMany);
            }
            table.last = table.last.next();
            let set = SetFault {
                id: table.last,
                met: 0,
                struck: 0,
                holds: 0,
                fault,
            };
            table.set.insert(set.id, set.clone());
            Ok(set)
        })
    }

    /// All faults, the oldest first.
    pub fn list(&self) -> Vec<SetFault> {
        self.with(|table| table.set.values().cloned().collect())
    }

    pub fn get(&self, id: FaultId) -> Option<SetFault> {
        self.with(|table| table.set.get(&id).cloned())
    }

    /// Clears a fault and returns it with its count. Held requests continue; other effects in progress run to their
    /// end.
    pub fn clear(&self, id: FaultId) -> Option<SetFault> {
        let cleared = self.with(|table| table.set.remove(&id));
        self.0.cleared.notify_waiters();
        cleared
    }

    pub fn clear_all(&self) -> Vec<SetFault> {
        let cleared = self.with(|table| std::mem::take(&mut table.set));
        self.0.cleared.notify_waiters();
        cleared.into_values().collect()
    }

    /// Waits until a fault is cleared.
    pub(super) async fn hold(&self, id: FaultId) {
        let _held = Held::by(self, id);
        loop {
            let cleared = self.0.cleared.notified();
            tokio::pin!(cleared);
            cleared.as_mut().enable();
            if self.get(id).is_none() {
                return;
            }
            cleared.await;
        }
    }

    pub(super) fn strike(
        &self,
        server: ServerName,
        request: &RequestHead,
    ) -> Vec<(FaultId, Effect)> {
        self.with(|table| {
            let faults = table.set.values_mut().filter(|set| {
                set.fault.server == server
                    && !matches!(set.fault.effect, Effect::Certificate { .. })
                    && set.fault.requests.include(request)
            });
            faults
                .filter_map(|set| Some((set.id, set.strike()?)))
                .collect()
        })
    }

    /// The flaw of a connection's certificate, by the latest fault.
    pub(super) fn certificate(&self, server: ServerName) -> Option<CertificateFlaw> {
        self.with(|table| {
            let mut faults = table.set.values_mut().rev();
            faults.find_map(|set| match set.fault.effect {
                Effect::Certificate { flaw } if set.fault.server == server => {
                    set.strike().map(|_| flaw)
                }
                _ => None,
            })
        })
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut Table) -> T) -> T {
        use_them(&mut self.0.table.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request that a fault holds, counted.
struct Held<'f> {
    faults: &'f Faults,
    id: FaultId,
}

impl<'f> Held<'f> {
    fn by(faults: &'f Faults, id: FaultId) -> Self {
        faults.with(|table| {
            if let Some(set) = table.set.get_mut(&id) {
                set.holds += 1;
            }
        });
        Self { faults, id }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.faults.with(|table| {
            if let Some(set) = table.set.get_mut(&self.id) {
                set.holds -= 1;
            }
        });
    }
}

impl SetFault {
    /// Meets one more; what happens to it, if this one's turn has come.
    fn strike(&mut self) -> Option<Effect> {
        self.met += 1;
        let waits = self.met <= self.fault.after;
        let is_spent = self.fault.times.is_some_and(|times| self.struck >= times);
        if waits || is_spent {
            return None;
        }
        self.struck += 1;
        Some(self.fault.effect.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Moment, Requests};

    const DROP: Effect = Effect::Drop {
        moment: Moment::Before,
    };

    fn get(path: &str) -> RequestHead {
        let mut head = RequestHead::default();
        head.uri = path.parse().unwrap();
        head
    }

    #[test]
    fn a_fault_skips_the_first_calls_and_is_injected_a_set_number_of_times() {
        let faults = Faults::default();
        let set = faults
            .add(Fault::new(ServerName::Director, DROP).after(1).times(2))
            .unwrap();

        let struck: Vec<usize> = (0..5)
            .map(|_| faults.strike(ServerName::Director, &get("/info")).len())
            .collect();

        assert_eq!(struck, [0, 1, 1, 0, 0]);
        let seen = faults.clear(set.id).unwrap();
        assert_eq!((seen.met, seen.struck), (5, 2));
    }

    #[test]
    fn only_the_chosen_requests_are_struck_and_counted() {
        let faults = Faults::default();
        let requests = Requests {
            query: [("type".to_owned(), "a b".to_owned())].into(),
            path: Some("/tasks/*/output".parse().unwrap()),
            ..Requests::default()
        };
        let set = faults
            .add(Fault::new(ServerName::Director, DROP).on(requests))
            .unwrap();

        let strike = |server, path| faults.strike(server, &get(path)).len();
        assert_eq!(strike(ServerName::Director, "/tasks/1/output?type=a+b"), 1);
        assert_eq!(strike(ServerName::Director, "/tasks/1/output?type=b"), 0);
        assert_eq!(strike(ServerName::Director, "/tasks/1"), 0);
        assert_eq!(strike(ServerName::BoshUaa, "/tasks/1/output?type=a%20b"), 0);
        assert_eq!(faults.get(set.id).unwrap().met, 1);
    }

    #[test]
    fn the_certificate_fault_that_was_set_last_counts() {
        let faults = Faults::default();
        let certificate = |flaw| Fault::new(ServerName::CfUaa, Effect::Certificate { flaw });
        faults.add(certificate(CertificateFlaw::Expired)).unwrap();
        faults
            .add(certificate(CertificateFlaw::OtherHost).times(1))
            .unwrap();

        let connect = || faults.certificate(ServerName::CfUaa);
        assert_eq!(connect(), Some(CertificateFlaw::OtherHost));
        assert_eq!(connect(), Some(CertificateFlaw::Expired));
        assert_eq!(faults.certificate(ServerName::Director), None);
    }

    #[test]
    fn a_fault_that_cannot_take_effect_is_rejected() {
        let faults = Faults::default();
        let for_requests = Fault::new(
            ServerName::Director,
            Effect::Certificate {
                flaw: CertificateFlaw::Expired,
            },
        )
        .on(Requests {
            path: Some("/info".parse().unwrap()),
            ..Requests::default()
        });

        assert_eq!(
            faults.add(for_requests).unwrap_err(),
            AddFaultError::Unusable(UnusableError::CertificateForRequests)
        );
        let never = Fault::new(ServerName::Director, DROP).times(0);
        assert!(faults.add(never).is_err());
        assert!(faults.list().is_empty());
    }
}
