//! The state of a Cloud Controller.

mod broker;
mod guid;
mod indexed;
mod instance;
mod job;
mod lost_work;
mod member;
mod metadata;
mod operation;
mod organization;
mod quota;
mod service;
mod tables;

pub(crate) use broker::{Broker, BrokerAddress, BrokerKey, BrokerState};
pub(crate) use guid::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, RoleGuid, RouteGuid, SpaceGuid,
};
pub(crate) use indexed::{Indexed, Keyed};
pub(crate) use instance::{
    Binding, BindingKey, BindingKind, BrokerMetadata, Instance, InstanceKey, UserProvidedInstance,
    UserProvidedKey,
};
pub(crate) use job::{Job, JobOperation, JobResource, JobState};
pub(crate) use member::{Role, RoleKey, RoleKind, RoleScope, User, UserName};
pub(crate) use metadata::{Metadata, MetadataChange};
pub(crate) use operation::{LastOperation, OperationKind, OperationState};
pub(crate) use organization::{
    App, AppKey, Organization, OrganizationKey, OrganizationStatus, Route, RouteKey, SHARED_DOMAIN,
    Space, SpaceKey,
};
pub use quota::ServiceQuota;
pub(crate) use service::{
    Feature, MaintenanceInfo, Offering, OfferingKey, Plan, PlanKey, Visibility,
};
pub(crate) use tables::{State, Tables};
