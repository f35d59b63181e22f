//! Schemas that the SDK makes: of an author's own types, and of the protocol.

#![cfg(test)]

mod agreement;
mod parameters;
mod plan_properties;
mod plan_schemas;
mod protocol;
mod service;
