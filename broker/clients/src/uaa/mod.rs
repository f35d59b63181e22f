//! UAA, of the BOSH and of the Cloud Foundry side alike: tokens, and the clients of the latter.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 1.1, 1.2 and 1.5.

mod claims;
mod clients;
mod error;
mod grant;
mod token_source;

pub use claims::Claims;
pub use clients::{
    ClientAdministration, ClientAdministrationError, ClientId, ClientRegistration, ClientRights,
    CreateClientError, NewClient, SecretChange,
};
pub use error::TokenError;
pub use grant::Grant;
pub(crate) use token_source::AuthorizedError;
pub use token_source::{Token, TokenSource};
