//! The HTTP foundation of all clients.
//!
//! - [`Trust`]: the trusted certificates; TLS 1.2 and 1.3, aws-lc-rs.
//! - [`Limits`]: time to connect, time for one attempt, size of an answer, pauses between attempts.
//! - [`Call`] and [`Deadline`]: the remaining time of the request that a call belongs to. An attempt takes the smaller
//!   of its own limit and the remaining time.
//! - [`HttpClient`]: sends one [`Request`], with retries if they are safe; returns any [`Response`].
//! - [`Observer`]: is notified of every attempt, for metrics and logs.
//! - [`trace`]: the span of every attempt, and the trace that it belongs to.
//!
//! Redirects are never followed: at the Director they are part of its protocol, at other servers they are an unexpected
//! answer. Proxies are taken from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`), but never used for
//! loopback addresses.
//!
//! No body, query or header is logged here.

pub mod address;
mod call;
mod client;
mod error;
mod observer;
mod request;
mod response;
pub mod trace;
mod trust;

pub use address::check_address;
pub use call::{Call, Deadline, Limits};
pub use client::{HttpClient, proxy_for};
pub use error::{
    Break, ClientError, HandshakeError, TransportError, is_of_a_namesake, is_of_an_authority,
};
pub use observer::{
    Attempt, AttemptOutcome, Departure, Observer, Service, TokenEvent, observe_calls,
};
pub use request::{Repeat, Request, UnsendableCredentials, basic_authorization};
pub use reqwest::{Method, StatusCode, header};
pub use response::{Response, UnreadableResponse, cut};
pub use trust::{Trust, TrustError};
pub use url::Url;

pub(crate) use observer::observer;
