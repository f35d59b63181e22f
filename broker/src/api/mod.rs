//! The HTTP edge: authentication, headers, JSON ⇄ domain types, error ⇄ status code.
//!
//! | file | contents |
//! | --- | --- |
//! | `server`, `tls` | the listener |
//! | `connection/` | a client's connection and its limits |
//! | `edge` | the first and last steps of every request: id, checks of its head, log |
//! | `authentication`, `throttle` | the credentials of a request; the delay of answers to wrong ones |
//! | `unauthenticated` | the log of unauthenticated requests |
//! | `receive` | reading the complete body of a request, within limits |
//! | `audit` | the audit lines of changing requests |
//! | `count`, `metrics` | counting requests; the metrics endpoint |
//! | `originator` | the user behind a platform's request |
//! | `incoming`, `unique_names` | parsing a request: path, query, body |
//! | `run` | from a handler to the operations and back |
//! | `error` | an error as an answer, with a user message and operator detail |
//! | `refused` | the answer to each rejection |
//! | `health` | the one path without authentication |
//! | `osb/` | the Open Service Broker API |
//! | `management/` | the management API |

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
