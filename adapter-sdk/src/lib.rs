//! The service adapter protocol as types, a trait for authors and its runner, and the BOSH manifest model.
