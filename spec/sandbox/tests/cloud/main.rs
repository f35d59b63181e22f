//! UAA and Cloud Controller over HTTP, with a broker that notes what it is asked.

#![cfg(test)]

mod bindings;
mod broker;
mod brokers;
mod failures;
mod foundation;
mod instances;
mod lists;
mod plans;
mod platform;
mod requests;
mod tokens;
