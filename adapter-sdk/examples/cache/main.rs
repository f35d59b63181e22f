//! The adapter that the documentation of the SDK begins with, as an executable.

include!("adapter.rs");
