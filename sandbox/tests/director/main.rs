//! The Director over HTTP, with real processes where a test is about them. Redis and PostgreSQL must be installed.

#![cfg(test)]

mod agents;
mod catalog;
mod client;
mod configs;
mod deployment;
mod diff;
mod disks;
mod errands;
mod failures;
mod fleet;
mod foundation;
mod groups;
mod legacy_configs;
mod machine;
mod names;
mod postgres;
mod processes;
mod redis;
mod rejections;
mod restarts;
mod states;
mod switches;
mod tasks;
mod teams;
mod variables;
