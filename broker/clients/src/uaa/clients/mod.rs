//! Administration of the clients of a UAA.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 1.5 and 1.6.
//!
//! | file | holds |
//! | --- | --- |
//! | `administration` | create, look up, update, delete, and change secrets |
//! | `registration` | what a client is registered with |
//! | `secret_change` | what may be done to the secrets of a client |
//! | `rights` | what a token allows to do to clients |

mod administration;
mod registration;
mod rights;
mod secret_change;

pub use administration::ClientAdministration;
pub use registration::{ClientId, ClientRegistration, NewClient};
pub use rights::ClientRights;
pub use secret_change::SecretChange;
