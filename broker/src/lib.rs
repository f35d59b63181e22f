//! An Open Service Broker that deploys service instances on demand through a BOSH Director.

pub mod adapter;
pub mod bosh;
pub mod code;
pub mod complaint;
pub mod config;
pub mod ids;
pub mod kind;
pub mod offering;
pub mod telemetry;
