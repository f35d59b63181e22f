//! Service instances as Helm releases on registered Kubernetes clusters.
//!
//! | module | contents |
//! | --- | --- |
//! | [`bindings`] | credentials of a binding |
//! | [`cluster`] | registered clusters and their credentials |
//! | [`lease`] | who may work on an instance |
//! | [`readiness`] | when the objects of an instance are ready |
//! | [`record`] | the operation record of an instance |
//! | [`release`] | the state of a Helm release, and the step to the wanted one |

#![expect(
    missing_docs,
    reason = "a name says what it is; a comment says what a name cannot"
)]

pub mod bindings;
pub mod cluster;
pub mod lease;
pub mod readiness;
pub mod record;
pub mod release;
