//! Version 2, as far as old foundations make it necessary (`spec/contracts/platform-apis.md`,
//! section 4).

mod instances;
mod pages;
mod plans;

pub(super) use instances::{count_instances, instances};
pub(super) use plans::plans_of_offering;
