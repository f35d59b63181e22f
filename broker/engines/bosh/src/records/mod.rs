//! What is known of instances and of operations.
//!
//! | file | holds |
//! | --- | --- |
//! | `record`, `records` | the operation record, and where the Director keeps it |
//! | `token` | what the platform keeps of an operation |
//! | `instance_record`, `reading` | the record of an instance: driver, operation record and tasks, joined; of one, some or all |
//! | `last_operation` | the answer to a poll |
//! | `review`, `course` | the same for operators: stages, tasks and steps |
//! | `in_flight`, `unfinished` | whether what is recorded as begun is on its way; what holds a deployment |
//! | `condition` | what a failed operation has left of an instance |

pub(crate) mod condition;
pub(crate) mod in_flight;
pub(crate) mod instance_record;
pub(crate) mod last_operation;
pub(crate) mod operation_details;
pub(crate) mod operation_record;
pub(crate) mod operation_records;
pub(crate) mod progress;
pub(crate) mod reading;
pub(crate) mod token;
pub(crate) mod unfinished;
