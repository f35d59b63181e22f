//! The promises of the SDK to authors and the broker, tested from outside.

#![cfg(test)]

mod arguments;
mod builder;
mod builder_rejections;
mod calls;
mod documents;
mod first_adapter;
mod job_properties;
mod manifest;
mod plans;
mod precedence;
mod process;
mod protocol;
mod releases;
mod requests_and_answers;
mod runner;
mod secrets;
mod yaml_reading;
mod yaml_writing;
