//! Injected faults: they make the servers of a foundation fail.
//!
//! A [`Fault`] names a server, its requests and an effect. It is added through the control API (or directly, by the
//! program that started the foundation). From then on every request passes [`Faults`] before and after the server
//! handles it. The servers are not aware of it.
//!
//! | module | contents |
//! | --- | --- |
//! | `fault`, `effect`, `words` | a fault: a server, a selection of requests, an effect; the certificate that a server presents |
//! | `table` | the current faults, and the requests that they match |
//! | `injection`, `body` | their effect on a request and on the body of its answer; a second handle of a connection, which can cut it |

mod body;
mod effect;
mod fault;
mod injection;
mod table;
mod words;

pub use effect::{CertificateFlaw, Effect, FaultResponse, Moment};
pub(crate) use fault::Presented;
pub use fault::{Fault, FaultId, ServerName, UnusableError};
pub use fault::{HeaderMatch, Requests};
pub(crate) use injection::Connection;
pub(crate) use injection::inject;
pub use table::{AddFaultError, Faults, SetFault};
pub use words::{FieldName, FieldValue, NotThat, PathPattern, RequestMethod, Status};
