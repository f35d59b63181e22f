//! Version 3 (`spec/contracts/platform-apis.md`, section 3).

mod brokers;
mod deletions;
mod instances;
mod offered_plans;
mod pages;
mod places;
mod plans;
mod upgrades;
mod visibility;

pub(super) use brokers::{broker_named, create_broker, delete_broker, update_broker};
pub(super) use deletions::{
    bindings, delete_binding, delete_instance, purge_instance, shared_spaces, standing, unshare,
};
pub(super) use instances::{
    InstanceList, count_instances, instance, instance_lists, known_instances,
};
pub(super) use offered_plans::plans_of_broker;
pub(super) use places::{organization_name, organization_named, space_named};
pub(super) use plans::plans_of_offering;
pub(super) use upgrades::{maintenance_info_of_plan, upgrade_instance, versioned_instance};
pub(super) use visibility::{plan_visibility, set_plan_visibility};
