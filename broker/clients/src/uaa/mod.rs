//! UAA, of the BOSH and of the Cloud Foundry side alike: tokens, and the clients of the latter.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 1.1, 1.2 and 1.5.

mod clients;
mod grant;
mod token_source;

pub use clients::{
    ClientAdministration, ClientId, ClientRegistration, ClientRights, NewClient, SecretChange,
};
pub use grant::Grant;
pub use token_source::{Claims, Token, TokenSource};
