//! A client's connection: its address, its limits, its end.
//!
//! These limits are below the HTTP library: it has a deadline for the head of the first request of a connection, but
//! none for the heads of later ones, for bodies or for answers that are not read (`docs/contributing/security.md` lists
//! all limits). The edge supports HTTP/1.1 only, which platforms and routers use; the library has no limits for HTTP/2.
//!
//! | file | contents |
//! | --- | --- |
//! | `acceptor` | accepts connections: TLS, and the limits of `connection_limit` |
//! | `connection_limit` | how many connections are allowed, in all and for one client |
//! | `client` | the client of a connection |
//! | `activity` | the activity of a connection, as far as its stream needs it |
//! | `stream` | the bytes of a connection, and their deadlines |

mod acceptor;
mod activity;
mod client;
mod connection_limit;
mod stream;

pub(super) use acceptor::Acceptor;
pub(super) use activity::{Activity, LINGER};
pub(super) use client::Client;
pub(super) use connection_limit::ConnectionLimit;
pub(super) use stream::{GuardedStream, Timeouts};
