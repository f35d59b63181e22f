//! The records of instances and of operations.
//!
//! | file | contents |
//! | --- | --- |
//! | `operation_record`, `operation_records` | the operation record, and its storage at the Director |
//! | `token` | the operation token of the platform |
//! | `instance_record`, `reading` | the instance record: reconciler, operation record and tasks, joined; of one, some or all instances |
//! | `last_operation` | the answer to a poll |
//! | `operation_details`, `progress` | the same for operators: stages, tasks and steps |

pub(crate) mod instance_record;
pub(crate) mod last_operation;
pub(crate) mod operation_details;
pub(crate) mod operation_record;
pub(crate) mod operation_records;
pub(crate) mod progress;
pub(crate) mod reading;
pub(crate) mod token;
