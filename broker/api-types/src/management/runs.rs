//! `/mgmt/v1/runs`: an errand's way through a fleet, from its begin to its end.

use std::{fmt, str::FromStr, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ids::Target;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub kind: RunKind,
    pub began: Timestamp,
    pub target: Target,
    /// How it ended; absent until it has. A run that has failed can be continued and succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// The process that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// It skips instances that are up to date, also when it is continued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_outdated: bool,
    /// An operator wants it to stop. Its process stops when it renews its lease.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stop_requested: bool,
}

/// The right of one process to carry out a run. It expires unless its holder renews it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub holder: Holder,
    pub since: Timestamp,
    pub renewed: Timestamp,
}

impl Lease {
    /// How long a lease lasts after its renewal.
    pub const DURATION: Duration = Duration::from_mins(2);

    pub fn new(holder: Holder, now: Timestamp) -> Self {
        Self {
            holder,
            since: now,
            renewed: now,
        }
    }

    /// Its end without a further renewal.
    pub fn end(&self) -> Timestamp {
        self.renewed
            .saturating_add(Self::DURATION)
            .unwrap_or(Timestamp::MAX)
    }
}

impl Run {
    /// The lease that has not expired at this time.
    pub fn lease_at(&self, now: Timestamp) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| now < lease.end())
    }
}

/// The name of a process that carries out a run, as operators recognise it, such as `process 4711 on jumpbox`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Holder(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a holder has 1 to {LONGEST_HOLDER} characters and no control characters")]
pub struct InvalidHolder;

const LONGEST_HOLDER: usize = 200;

impl TryFrom<String> for Holder {
    type Error = InvalidHolder;

    fn try_from(text: String) -> Result<Self, InvalidHolder> {
        let length = text.chars().count();
        if (1..=LONGEST_HOLDER).contains(&length) && !text.chars().any(char::is_control) {
            Ok(Self(text))
        } else {
            Err(InvalidHolder)
        }
    }
}

impl From<Holder> for String {
    fn from(holder: Holder) -> Self {
        holder.0
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The answer to `GET /mgmt/v1/runs/latest`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatestRun {
    #[serde(flatten)]
    pub run: Run,
    /// Whether its target is still the current one. Results for another target say nothing about the current one.
    pub is_current: bool,
    /// Whether a process carries it out now: its lease has not expired. Older brokers do not report it.
    #[serde(default)]
    pub is_running: bool,
}

/// The body of `POST /mgmt/v1/runs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginRun {
    pub kind: RunKind,
    /// The process that carries it out. Errands of older versions hold no lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    #[serde(default)]
    pub only_outdated: bool,
    #[serde(default)]
    pub if_unfinished: IfUnfinished,
}

/// What becomes of an earlier run that has not succeeded and that no process carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfUnfinished {
    /// The new run replaces it, as with a Go broker.
    #[default]
    Replace,
    /// The new run is refused: the operator continues the earlier one, or replaces it explicitly.
    Refuse,
}

/// The body of `POST /mgmt/v1/runs/{id}/lease`, which takes the lease of a run or renews it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRun {
    pub holder: Holder,
    /// Takes the lease even if another process holds it. That process stops when it wants to renew its lease.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub take_over: bool,
}

/// The body of `PATCH /mgmt/v1/runs/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRun {
    pub outcome: RunOutcome,
    /// The process that ends it. Errands of older versions hold no lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    Upgrade,
    Recreate,
}

impl RunKind {
    pub const ALL: [Self; 2] = [Self::Upgrade, Self::Recreate];
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Succeeded,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a run is a UUID")]
pub struct InvalidRunId;

impl RunId {
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        text.parse().map(Self).map_err(|_| InvalidRunId)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_expires_two_minutes_after_its_renewal() {
        let renewed: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let lease = Lease::new("ada".to_owned().try_into().unwrap(), renewed);
        let run = Run {
            id: RunId::random(),
            kind: RunKind::Upgrade,
            began: renewed,
            target: "t".to_owned().into(),
            outcome: None,
            lease: Some(lease.clone()),
            only_outdated: false,
            is_stop_requested: false,
        };
        for (at, expected) in [
            ("2026-01-01T11:59:00Z", true),
            ("2026-01-01T12:01:59Z", true),
            ("2026-01-01T12:02:00Z", false),
        ] {
            let now = at.parse().unwrap();
            assert_eq!(run.lease_at(now) == Some(&lease), expected, "{at}");
        }
    }

    #[test]
    fn a_holder_is_one_line_of_text() {
        let long = "x".repeat(201);
        for (text, is_valid) in [
            ("ada@jumpbox, process 7", true),
            ("", false),
            ("a\nb", false),
            (&long, false),
        ] {
            assert_eq!(
                Holder::try_from(text.to_owned()).is_ok(),
                is_valid,
                "{text:?}"
            );
        }
    }
}
