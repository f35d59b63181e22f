//! Faults: how the servers of a foundation are made to fail those who call them.
//!
//! A [`Fault`] says which server, which requests and what happens to them. It is added through the control API (or
//! directly, by whoever started the foundation), and from then on every request passes by [`Faults`] before and after
//! it is worked on. The servers themselves know nothing of it.
//!
//! | module | what it has |
//! | --- | --- |
//! | `fault`, `requests`, `effect`, `words` | what a fault is: a server, a choice of requests, what happens to them |
//! | `table` | the faults that are set, and whom they strike |
//! | `injection`, `body` | what they do to a request and to the body of its answer |
//! | `connection` | a second hold on a connection, by which it can be cut |
//! | `presented` | the certificate that a server presents |

mod body;
mod connection;
mod effect;
mod fault;
mod injection;
mod presented;
mod requests;
mod table;
mod words;

pub(crate) use connection::Connection;
pub use effect::{Answer, CertificateFlaw, Effect, Moment};
pub use fault::{Fault, FaultId, ServerName, UnusableError};
pub(crate) use injection::inject;
pub(crate) use presented::Presented;
pub use requests::{HeaderMatch, Requests};
pub use table::{AddFaultError, Faults, SetFault};
pub use words::{FieldName, FieldValue, NotThat, PathPattern, RequestMethod, Status};
