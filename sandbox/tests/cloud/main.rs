//! UAA and Cloud Controller over HTTP, with a broker that notes what it is asked.

#![cfg(test)]

mod bindings;
mod broker;
mod brokers;
mod client;
mod failures;
mod foundation;
mod instances;
mod lists;
mod metadata;
mod plans;
mod platform;
mod replay;
mod requests;
mod restart;
mod roles;
mod sharing;
mod tokens;
mod upstreams;
mod v2;
