//! The Director over HTTP, with real processes where a test is about them. Redis must be installed.

#![cfg(test)]

mod catalog;
mod client;
mod configs;
mod deployment;
mod errands;
mod failures;
mod foundation;
mod processes;
mod redis;
mod refusals;
mod tasks;
mod teams;
mod variables;
