//! The parts of a check. Each part is a function that calls the adapter and checks the answers against the rules.
//! `sequence` calls them in order.
//!
//! | file | checks |
//! | --- | --- |
//! | `orders`, `stability` | orders without parameters, and what must not change |
//! | `forms`, `malformed`, `subcommands` | other forms of request |
//! | `parameters`, `refused_parameters`, `plan_changes` | what users choose |
//! | `bindings`, `dashboards` | bindings and dashboards |
//! | `schemas` | plan schemas |

pub(in crate::check) mod bindings;
pub(in crate::check) mod dashboards;
pub(in crate::check) mod forms;
pub(in crate::check) mod malformed;
pub(in crate::check) mod orders;
pub(in crate::check) mod parameters;
pub(in crate::check) mod plan_changes;
pub(in crate::check) mod refused_parameters;
pub(in crate::check) mod schemas;
pub(in crate::check) mod stability;
pub(in crate::check) mod subcommands;
