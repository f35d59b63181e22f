//! The types that the broker and its clients share: the JSON of the management API, ids, operation kinds and error
//! codes. No I/O.
//!
//! | module | contents |
//! | --- | --- |
//! | [`management`] | requests and responses of the management API |
//! | [`ids`] | ids of instances, bindings, offerings, plans and requests |
//! | [`kind`] | the kinds of operations |
//! | [`code`] | the error codes |

#![expect(
    missing_docs,
    reason = "a name says what it is; a comment says what a name cannot"
)]

pub mod code;
pub mod ids;
pub mod kind;
pub mod management;
