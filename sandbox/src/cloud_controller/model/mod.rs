//! The state of a Cloud Controller.

mod indexed;
mod instance;
mod job;
mod member;
mod metadata;
mod organization;
mod service;
mod tables;

pub(crate) use indexed::{Indexed, Keyed};
pub(crate) use instance::{
    Binding, BindingKey, BindingKind, BrokerMetadata, Instance, InstanceKey,
};
pub(crate) use job::{Job, JobOperation, JobResource, JobState};
pub(crate) use job::{LastOperation, OperationKind, OperationState};
pub(crate) use member::{Role, RoleKey, RoleKind, RoleScope, User, UserName};
pub(crate) use metadata::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, RoleGuid, RouteGuid, SpaceGuid,
};
pub(crate) use metadata::{Metadata, MetadataChange};
pub(crate) use organization::{
    App, AppKey, Organization, OrganizationKey, OrganizationStatus, Route, SHARED_DOMAIN, Space,
    SpaceKey,
};
pub(crate) use service::{Broker, BrokerAddress, BrokerKey, BrokerState};
pub(crate) use service::{
    Feature, MaintenanceInfo, Offering, OfferingKey, Plan, PlanKey, Visibility,
};
pub(crate) use tables::{State, Tables};
