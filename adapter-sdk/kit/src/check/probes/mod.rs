//! The parts of a check, each a function that asks and holds the answers to the rules. `sequence` calls them in order.
//!
//! | file | asks |
//! | --- | --- |
//! | `orders`, `stability` | for orders without parameters, and for what must stay as it is |
//! | `forms`, `malformed`, `subcommands` | in other ways |
//! | `parameters`, `refused_parameters`, `plan_changes` | for what users choose |
//! | `bindings`, `dashboards` | for bindings and dashboards |
//! | `schemas` | for plan schemas |

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
