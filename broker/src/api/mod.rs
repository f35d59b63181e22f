//! The HTTP edge: authentication, headers, JSON ⇄ domain types, error ⇄ status code.
//!
//! | file | holds |
//! | --- | --- |
//! | `server`, `tls` | where requests come in |
//! | `edge` | what every request goes through: id, log, authentication |
//! | `originator` | on whose behalf a platform asks |
//! | `incoming` | taking a request apart: path, query, body |
//! | `refusal` | an error as an answer, one half for the user and one for the operator |
//! | `fault` | which answer a fault is |
//! | `health` | the one path without authentication |
//! | `osb/` | the Open Service Broker API |
//! | `management/` | what the operator's errands ask for |

mod edge;
mod fault;
mod health;
mod incoming;
mod management;
mod originator;
mod osb;
mod refusal;
mod server;
mod tls;

pub use server::{AppState, FLUSH, ListenError, Server};
pub use tls::{CertificateError, load_tls};
