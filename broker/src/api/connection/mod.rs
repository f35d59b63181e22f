//! A client's connection: whom it is from, what it may cost, when it is hung up on.
//!
//! What the HTTP library leaves open is closed here, below it: it knows a deadline for the head of the first request of
//! a connection, but none for the heads of later ones, for bodies or for answers that nobody reads (`docs/contributing/security.md`
//! lists who limits what). The edge speaks HTTP/1.1 only: platforms and routers do, and the library limits no HTTP/2.
//!
//! | file | holds |
//! | --- | --- |
//! | `acceptor` | lets connections in: TLS, and the ceilings of `connection_limit` |
//! | `connection_limit` | how many connections there may be, in all and for one client |
//! | `client` | whom a connection is from |
//! | `activity` | what goes on on a connection, as far as its stream has to know |
//! | `stream` | the bytes of a connection, and the deadlines for them |

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
