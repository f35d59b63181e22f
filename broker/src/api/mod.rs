//! The HTTP edge: authentication, headers, JSON ⇄ domain types, error ⇄ status code.
//!
//! | file | holds |
//! | --- | --- |
//! | `server`, `tls` | where requests come in |
//! | `connection/` | whom a connection is from, what it may cost, when it is hung up on |
//! | `edge` | what every request goes through: id, a look at its head, log |
//! | `authentication`, `throttle` | the credentials of a request; the delay of answers to wrong ones |
//! | `unauthenticated` | what the log has of those who may not |
//! | `receive` | reading the body of a request, whole and soon |
//! | `audit` | who has asked for which change, and what came of it |
//! | `count`, `metrics` | what is asked, counted; all that is counted, told |
//! | `originator` | on whose behalf a platform asks |
//! | `incoming`, `unique_names` | taking a request apart: path, query, body |
//! | `run` | from a handler to the operations and back |
//! | `error` | an error as an answer, one half for the user and one for the operator |
//! | `refused` | which answer it is to everything that is refused |
//! | `health` | the one path without authentication |
//! | `osb/` | the Open Service Broker API |
//! | `management/` | what the operator's errands ask for |

mod audit;
mod authentication;
mod connection;
mod count;
mod edge;
mod error;
mod health;
mod incoming;
mod management;
mod metrics;
mod originator;
mod osb;
mod receive;
mod refused;
mod run;
mod server;
mod throttle;
mod tls;
mod unauthenticated;
mod unique_names;

pub use server::{AppState, FLUSH, ListenError, Server};
pub use tls::{CertificateError, OldClients, OwnCertificate, OwnTls, load_tls};
pub(crate) use tls::{read_chain, read_key};
