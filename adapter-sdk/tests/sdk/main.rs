//! What authors and the broker rely on in the SDK, seen from outside.

#![cfg(test)]

mod arguments;
mod documents;
mod manifest;
mod process;
mod protocol;
mod runner;
mod yaml_reading;
mod yaml_writing;
