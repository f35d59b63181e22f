//! The HTTP edge: authentication, headers, JSON ⇄ domain types, error ⇄ status code.
//!
//! | file | contents |
//! | --- | --- |
//! | `server`, `tls` | the listener |
//! | `connection/` | a client's connection and its limits |
//! | `edge` | the first and last steps of every request: count, id, checks of its head, log |
//! | `authentication` | the credentials of a request; the delay of answers to wrong ones |
//! | `unauthenticated` | the log of unauthenticated requests |
//! | `receive` | reading the complete body of a request, within limits |
//! | `audit` | the audit lines of changing requests, with the user behind each |
//! | `incoming` | parsing a request: path, query, body |
//! | `run` | from a handler to the operations and back |
//! | `error` | an error as an answer, with a user message and operator detail |
//! | `refused` | the answer to each rejection |
//! | `endpoints` | health and metrics of the process |
//! | `osb/` | the Open Service Broker API |
//! | `management/` | the management API |
//!
//! The page for operators is in [`crate::ui`].

mod audit;
mod authentication;
mod connection;
mod edge;
mod endpoints;
mod error;
mod incoming;
mod management;
mod osb;
mod receive;
mod refused;
mod run;
mod server;
mod tls;
mod unauthenticated;

pub(crate) use audit::{ChangeLine, RecentChanges};
pub(crate) use authentication::basic_username;
pub(crate) use connection::{Activity, InFlight};
pub(crate) use error::ApiError;
pub(crate) use incoming::{Parameters, instance_id};
pub(crate) use management::examined;
pub(crate) use refused::RequestKind;
pub(crate) use run::Run;
pub use server::{AppState, FLUSH, ListenError, Server};
pub use tls::{CertificateError, OldClients, OwnCertificate, OwnTls, ServedTls, load_tls};
pub(crate) use tls::{read_chain, read_key};
