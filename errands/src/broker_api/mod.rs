//! The client of the broker: its management API and last operation (`spec/contracts/errands.md` §1.2, §4).
//!
//! | file | contents |
//! | --- | --- |
//! | `client` | sends requests and classifies answers; a request for any route |
//! | `error` | errors |
//! | `listing` | the lists of instances and orphans |
//! | `orphans` | deleting orphans; cancelling operations |
//! | `operation` | upgrades or recreates one instance, and polls the operation |

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
