//! Registered Kubernetes clusters.
//!
//! | file | contents |
//! | --- | --- |
//! | `credentials` | the credentials file of a cluster |
//! | `kubeconfig` | credentials out of a whole kubeconfig |

mod credentials;
mod kubeconfig;

pub use credentials::{Credentials, CredentialsProblem, Parsed};
