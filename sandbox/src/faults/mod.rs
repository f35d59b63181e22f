//! Injected faults: they make the servers of a foundation fail.
//!
//! A [`Fault`] names a server, its requests and an effect. It is added through the control API (or directly, by the
//! program that started the foundation). From then on every request passes [`Faults`] before and after the server
//! handles it. The servers are not aware of it.
//!
//! | module | contents |
//! | --- | --- |
//! | `fault`, `requests`, `effect`, `words` | a fault: a server, a selection of requests, an effect |
//! | `table` | the current faults, and the requests that they match |
//! | `injection`, `body` | their effect on a request and on the body of its answer |
//! | `connection` | a second handle of a connection, which can cut it |
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
