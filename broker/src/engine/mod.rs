//! What every engine shares: the words in which operations order work from an engine and read how it is doing. Nothing here
//! knows a Director.
//!
//! | file | holds |
//! | --- | --- |
//! | `record` | the instance record: what is known of one instance |
//! | `occupancy` | what the latest operation on an instance means for quotas |

mod occupancy;
mod record;

pub use occupancy::{Occupancy, OccupancyKind};
pub use record::{Condition, InstanceRecord, InstanceRecords, LastOperation, OperationView};
