//! Redis as `spec/contracts/adapter-protocol.md` describes it under "Redis", asked of every adapter that promises it.
//! The adapter is run as the broker runs it: a process, a document on stdin, an answer on stdout.
//!
//! | module | what is asked |
//! | --- | --- |
//! | `adapter` | who runs it, and the sample inputs |
//! | `manifests`, `updates` | manifests of new instances, and what later ones keep |
//! | `bindings` | credentials |
//! | `process` | settings, arguments, exit codes |

/// Makes a test of each function for each implementation: `in_rust::name`, `from_a_folder::name`.
macro_rules! of_each_implementation {
    ($($name:ident),* $(,)?) => {
        mod in_rust {
            $(#[test] fn $name() { super::$name(crate::redis::adapter::Implementation::Rust); })*
        }
        mod from_a_folder {
            $(#[test] fn $name() { super::$name(crate::redis::adapter::Implementation::Folder); })*
        }
    };
}

pub(crate) mod adapter;
mod bindings;
mod manifests;
mod process;
mod updates;
