//! The adapter as the broker runs it: a process, a document on stdin, an answer on stdout.

#![cfg(test)]

mod adapter;
mod bindings;
mod manifests;
mod process;
mod updates;
