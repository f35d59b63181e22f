//! Administration of the clients of a UAA.
//!
//! Contract: `spec/contracts/platform-apis.md`, sections 1.5 and 1.6.
//!
//! | file | contents |
//! | --- | --- |
//! | `administration` | create, read, update, delete, and change secrets |
//! | `registration` | the attributes of a client |
//! | `secret_change` | operations on the secrets of a client |
//! | `rights` | the rights of a token on clients |

mod administration;
mod registration;
mod rights;
mod secret_change;

pub use administration::ClientAdministration;
pub use registration::{ClientId, ClientRegistration, NewClient};
pub use rights::ClientRights;
pub use secret_change::SecretChange;
