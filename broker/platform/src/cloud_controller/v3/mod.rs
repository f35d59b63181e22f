//! Version 3 (`spec/contracts/platform-apis.md`, section 3).

mod instances;
mod pages;
mod plans;

pub(super) use instances::{count_instances, instances};
pub(super) use plans::plans_of_offering;
