//! Tokens: who gets them, what stands in them, who checks them.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `endpoint` | `/oauth/token` |
//! | `client_authentication`, `granting` | who asks, and what they get |
//! | `claims`, [`Signer`], `key_ring` | a token and the keys that sign it |
//! | [`TokenVerifier`], `validation` | checking at the servers behind a UAA, and at the UAA itself |
//! | `inspection`, `revocation`, `withdrawals` | asking about tokens, and ending them before their time |

mod claims;
mod client_authentication;
mod endpoint;
mod granting;
mod inspection;
mod key_ring;
mod refusal;
mod revocation;
mod signer;
mod validation;
mod verifier;
mod withdrawals;

use actix_web::web::ServiceConfig;

pub use key_ring::{KeysError, SigningAlgorithm, WithdrawKeyError};
pub use signer::{Signer, SignerError};
pub use verifier::{InvalidKey, TokenFault, TokenVerifier, VerifiedToken};
pub use withdrawals::Tokens;

pub(super) use claims::issuer;
pub(super) use client_authentication::{Form, authenticated};
pub(super) use key_ring::KeyRing;
pub(super) use refusal::Refusal;
pub(super) use validation::{Problem, Purpose};
pub(super) use withdrawals::Withdrawals;

pub(super) fn routes(app: &mut ServiceConfig) {
    // Before the token endpoint's own paths, which would swallow them.
    revocation::routes(app);
    endpoint::routes(app);
    inspection::routes(app);
}
