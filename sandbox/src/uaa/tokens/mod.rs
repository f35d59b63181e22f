//! Tokens: issuing, contents, verification.
//!
//! | module | contents |
//! | --- | --- |
//! | `granting` | `/oauth/token` |
//! | `client_authentication` | the client of a request, and its token |
//! | `claims`, [`Signer`], `key` | a token and the key that signs it |
//! | [`TokenVerifier`], `claims` | verification at the servers behind a UAA, and at the UAA itself |
//! | `revocations` | revocation |

mod claims;
mod client_authentication;
mod granting;
mod key;
mod revocations;
mod signer;
mod verifier;

pub use key::KeysError;
pub use revocations::Tokens;
pub use signer::{Signer, SignerError};
pub use verifier::{InvalidKey, TokenError, TokenVerifier, VerifiedToken};

pub(super) use claims::{InvalidToken, Purpose};
pub(super) use client_authentication::Rejection;
pub(super) use client_authentication::{Form, authenticated};
pub(super) use granting::routes;
pub(super) use key::Key;
pub(super) use revocations::Revocations;
