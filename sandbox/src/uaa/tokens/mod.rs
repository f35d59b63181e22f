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
mod key_ring;
mod refusal;
mod signer;
mod validation;
mod verifier;
mod withdrawals;

pub use key_ring::{KeysError, SigningAlgorithm, WithdrawKeyError};
pub use signer::{Signer, SignerError};
pub use verifier::{InvalidKey, TokenFault, TokenVerifier, VerifiedToken};
pub use withdrawals::Tokens;

pub(super) use client_authentication::{Form, authenticated};
pub(super) use endpoint::routes;
pub(super) use key_ring::KeyRing;
pub(super) use refusal::Refusal;
pub(super) use validation::{Problem, Purpose};
pub(super) use withdrawals::Withdrawals;
