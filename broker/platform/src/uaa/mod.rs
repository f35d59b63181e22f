//! Tokens from UAA, of the BOSH and of the Cloud Foundry side alike.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 1.1 and 1.2.

mod error;
mod grant;
mod token_source;

pub use error::TokenError;
pub use grant::Grant;
pub(crate) use token_source::AuthorizedError;
pub use token_source::{Token, TokenSource};
