//! The effects of faults.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::words::{FieldName, FieldValue, Status};
use crate::durations;

/// The effect on a request, an answer or a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Effect {
    /// Everything takes longer.
    Delay {
        /// How much longer, with its unit.
        #[serde(with = "durations")]
        duration: Duration,
        /// Whether the server works on the request before the wait or after it.
        #[serde(default)]
        moment: Moment,
    },
    /// The request is held until the fault is cleared.
    Hold {
        /// Whether the server has worked on the request by then.
        #[serde(default)]
        moment: Moment,
    },
    /// Something else is answered.
    Answer(FaultResponse),
    /// The connection is cut, and with it every other request on it.
    Drop {
        /// Whether the server has worked on the request by then.
        #[serde(default)]
        moment: Moment,
    },
    /// The connection is cut within the body of the answer. Its head has the complete length.
    Truncate {
        /// How much of the body arrives.
        bytes: usize,
    },
    /// The body of the answer trickles.
    Slow {
        /// How fast.
        bytes_per_second: NonZeroU32,
    },
    /// The answer says that it is of another type than it is.
    ContentType {
        /// The value.
        value: FieldValue,
    },
    /// New connections get a certificate that clients must reject. Existing connections are not affected.
    Certificate {
        /// The flaw.
        flaw: CertificateFlaw,
    },
}

/// An answer that the server would not have given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultResponse {
    /// Its status.
    pub status: Status,
    /// Its headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<FieldName, FieldValue>,
    /// Its body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Whether the server has worked on the request by then.
    #[serde(default)]
    pub moment: Moment,
}

/// When a fault is injected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// Before the server gets to see the request: nothing has happened.
    #[default]
    Before,
    /// When the server has done what was asked: only the answer suffers.
    After,
}

/// The flaw of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum CertificateFlaw {
    /// It is for another host.
    OtherHost,
    /// The certificate has expired.
    Expired,
    /// The certificate is signed by an unknown authority.
    UnknownAuthority,
}
