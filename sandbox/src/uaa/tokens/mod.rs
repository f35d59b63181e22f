//! Tokens: issuing, contents, verification.
//!
//! | module | contents |
//! | --- | --- |
//! | `endpoint` | `/oauth/token` |
//! | `client_authentication`, `granting` | the client of a request, and its token |
//! | `claims`, [`Signer`], `key_ring` | a token and the keys that sign it |
//! | [`TokenVerifier`], `validation` | verification at the servers behind a UAA, and at the UAA itself |
//! | `inspection`, `revocation`, `revocations` | introspection, and revocation |

mod claims;
mod client_authentication;
mod endpoint;
mod granting;
mod key_ring;
mod rejection;
mod revocations;
mod signer;
mod validation;
mod verifier;

pub use key_ring::{KeysError, RevokeKeyError, SigningAlgorithm};
pub use revocations::Tokens;
pub use signer::{Signer, SignerError};
pub use verifier::{InvalidKey, TokenError, TokenVerifier, VerifiedToken};

pub(super) use client_authentication::{Form, authenticated};
pub(super) use endpoint::routes;
pub(super) use key_ring::KeyRing;
pub(super) use rejection::Rejection;
pub(super) use revocations::Revocations;
pub(super) use validation::{InvalidToken, Purpose};
