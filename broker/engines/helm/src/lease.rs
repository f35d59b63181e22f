//! Who may work on an instance: the rules of its Lease (`coordination.k8s.io/v1`).
//!
//! Clocks of two machines are never compared. A Lease has ended when it has not changed for its time by our own clock.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

/// How long a Lease holds without a renewal.
pub const DURATION: Duration = Duration::from_secs(15);

/// How often its holder renews it.
pub const RENEWAL: Duration = Duration::from_secs(5);

/// How old the last renewal may be at a write. What is left of the duration covers the write itself.
const FRESH: Duration = Duration::from_secs(10);

/// One process, in its own life: host name, process id and a random part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder(String);

/// What was last seen of a Lease that another process holds.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    seen: Option<(String, Instant)>,
}

/// What may be done about a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is absent: create it.
    Create,
    /// It is free, or its holder has ended: replace it, by its `resourceVersion`.
    Take { transitions: i64 },
    /// It is our own.
    Renew,
    /// Another process holds it.
    Wait { holder: String },
}

/// A Lease that this process holds.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    renewed: Instant,
}

impl Holder {
    pub fn new(host: &str, process: u32, random: &str) -> Self {
        Self(format!("{host}_{process}_{random}"))
    }

    /// The `spec` of a Lease that this process holds from `time` on, in RFC 3339 with microseconds.
    pub fn spec(&self, time: &str, acquired: &str, transitions: i64) -> Value {
        json!({
            "holderIdentity": self.0,
            "leaseDurationSeconds": DURATION.as_secs(),
            "acquireTime": acquired,
            "renewTime": time,
            "leaseTransitions": transitions,
        })
    }
}

impl Watcher {
    /// What may be done about a Lease that reads so now.
    pub fn claim(&mut self, lease: Option<&Value>, holder: &Holder, now: Instant) -> Claim {
        let Some(lease) = lease else {
            return Claim::Create;
        };
        let spec = &lease["spec"];
        let held_by = spec["holderIdentity"].as_str().unwrap_or_default();
        if held_by == holder.0 {
            return Claim::Renew;
        }
        let transitions = spec["leaseTransitions"].as_i64().unwrap_or(0) + 1;
        if held_by.is_empty() {
            return Claim::Take { transitions };
        }
        let version = format!(
            "{held_by} {}",
            spec["renewTime"].as_str().unwrap_or_default()
        );
        let since = match &self.seen {
            Some((seen, since)) if *seen == version => *since,
            _ => {
                self.seen = Some((version, now));
                now
            }
        };
        if now.duration_since(since) >= DURATION {
            Claim::Take { transitions }
        } else {
            Claim::Wait {
                holder: held_by.to_owned(),
            }
        }
    }
}

impl Hold {
    /// `sent` is when the renewal was sent, not when it was answered.
    pub fn renewed(sent: Instant) -> Self {
        Self { renewed: sent }
    }

    /// Whether the holder may still write.
    pub fn is_fresh(self, now: Instant) -> bool {
        now.duration_since(self.renewed) < FRESH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, renewed: &str) -> Value {
        json!({ "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseTransitions": 2 } })
    }

    fn us() -> Holder {
        Holder::new("vm", 7, "a")
    }

    #[test]
    fn an_absent_or_free_lease_is_taken_and_our_own_is_renewed() {
        let now = Instant::now();
        let mut watcher = Watcher::default();
        assert_eq!(watcher.claim(None, &us(), now), Claim::Create);
        let free = lease("", "t1");
        assert_eq!(
            watcher.claim(Some(&free), &us(), now),
            Claim::Take { transitions: 3 }
        );
        assert_eq!(
            watcher.claim(Some(&json!({})), &us(), now),
            Claim::Take { transitions: 1 }
        );
        let own = json!({ "spec": us().spec("t2", "t1", 3) });
        assert_eq!(watcher.claim(Some(&own), &us(), now), Claim::Renew);
    }

    #[test]
    fn anothers_lease_is_taken_only_when_it_did_not_change_for_its_time() {
        let start = Instant::now();
        let mut watcher = Watcher::default();
        let wait = Claim::Wait {
            holder: "other".to_owned(),
        };
        let at = |seconds| start + Duration::from_secs(seconds);

        assert_eq!(
            watcher.claim(Some(&lease("other", "t1")), &us(), at(0)),
            wait
        );
        assert_eq!(
            watcher.claim(Some(&lease("other", "t1")), &us(), at(14)),
            wait
        );
        // It was renewed: the time begins anew.
        assert_eq!(
            watcher.claim(Some(&lease("other", "t2")), &us(), at(15)),
            wait
        );
        assert_eq!(
            watcher.claim(Some(&lease("other", "t2")), &us(), at(29)),
            wait
        );
        assert_eq!(
            watcher.claim(Some(&lease("other", "t2")), &us(), at(30)),
            Claim::Take { transitions: 3 }
        );
        // A third process was faster.
        assert!(matches!(
            watcher.claim(Some(&lease("third", "t2")), &us(), at(31)),
            Claim::Wait { .. }
        ));
    }

    #[test]
    fn a_holder_stops_writing_before_another_may_take_over() {
        let sent = Instant::now();
        let hold = Hold::renewed(sent);
        assert!(hold.is_fresh(sent + Duration::from_secs(9)));
        assert!(!hold.is_fresh(sent + Duration::from_secs(10)));
        assert!(RENEWAL < FRESH && FRESH < DURATION);
    }
}
