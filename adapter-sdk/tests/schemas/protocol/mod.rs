//! The JSON Schemas of the protocol's documents, held against what reads and writes them.

mod committed;
mod document;
mod generated;
mod input;
mod mutations;
mod samples;
mod written;
