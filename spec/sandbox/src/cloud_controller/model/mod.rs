//! What a Cloud Controller remembers.

mod broker;
mod guid;
mod job;
mod operation;
mod organization;
mod service;
mod tables;

pub(crate) use broker::{Broker, BrokerAddress, BrokerState};
pub(crate) use guid::{
    AppGuid, BindingGuid, BrokerGuid, InstanceGuid, JobGuid, OfferingGuid, OrganizationGuid,
    PlanGuid, SpaceGuid,
};
pub(crate) use job::{Job, JobOperation, JobResource, JobState};
pub(crate) use operation::{LastOperation, OperationKind, OperationState};
pub(crate) use organization::{App, Organization, Space};
pub(crate) use service::{
    Binding, BindingKind, Feature, Instance, MaintenanceInfo, Offering, Plan, Visibility,
};
pub(crate) use tables::{State, Tables};
