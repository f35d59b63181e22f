//! The types that the broker and its clients share: the JSON of the management API, ids, operation kinds, error
//! codes and findings. No I/O.

#![expect(
    missing_docs,
    reason = "a name says what it is; a comment says what a name cannot"
)]

pub mod code;
pub mod finding;
pub mod ids;
pub mod kind;
pub mod management;
