//! The HTTP foundation under all clients.
//!
//! - [`Trust`]: whose certificates are believed; TLS 1.2 and 1.3, aws-lc-rs.
//! - [`Limits`]: time to connect, time for one attempt, size of an answer, pauses between attempts.
//! - [`Call`] and [`Deadline`]: the budget of the work that a call is part of. An attempt takes the
//!   smaller of its own limit and what is left.
//! - [`HttpClient`]: sends one [`Request`], again if it says that this is safe; any [`Answer`] is one.
//! - [`Observer`]: hears of every attempt, to count them or to tell of them.
//!
//! Redirects are never followed: to the Director they are part of its protocol, from anybody else
//! they are an answer that was not expected. Proxies are taken from the environment
//! (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), but never used for loopback addresses.
//!
//! Nothing here logs a body, a query or a header.

pub mod address;
mod answer;
mod call;
mod client;
mod error;
mod limits;
mod observer;
mod request;
mod said;
mod tls;
mod trust;

pub use address::check_address;
pub use answer::{Answer, UnreadableAnswer, cut};
pub use call::{Call, Deadline};
pub use client::{HttpClient, proxy_for};
pub use error::{ClientError, TransportError};
pub use limits::Limits;
pub use observer::{
    Attempt, AttemptOutcome, Departure, Observer, Service, TokenEvent, observe_calls,
};
pub use request::{Repeat, Request, UnsendableCredentials, basic_authorization};
pub use reqwest::{Method, StatusCode, header};
pub use tls::{Break, HandshakeError, is_of_a_namesake, is_of_an_authority};
pub use trust::{Trust, TrustError};
pub use url::Url;

pub(crate) use observer::observe_token;
pub(crate) use said::{Name, Words};
