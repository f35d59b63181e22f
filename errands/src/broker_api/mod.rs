//! The broker, as errands speak to it: its management API and last operation (`spec/contracts/errands.md` §1.2, §4).
//!
//! | file | holds |
//! | --- | --- |
//! | `client` | how requests are sent and answers sorted; a request for any route |
//! | `error` | what can go wrong |
//! | `listing` | the lists of instances and orphans |
//! | `orphans` | what no instance stands behind; operations that are cancelled |
//! | `operation` | upgrade or recreate one instance, and see what becomes of it |

mod client;
mod error;
mod listing;
mod operation;
mod orphans;

pub use client::BrokerApi;
pub use error::{BrokerApiRejection, BrokerApiSetUpError};
pub use listing::{ListError, ListedInstance, ListedOrphan, Metrics};
pub use operation::{
    FleetOperation, LastOperation, LastOperationError, OperationData, OperationState, TriggerError,
    TriggerFailure, Triggered,
};
pub use orphans::{OrphanDeleted, OrphanDeletion};
