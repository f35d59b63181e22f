//! Templates: Tera 2 with values that never become syntax, and with names that are checked before rendering.
//!
//! | file | holds |
//! | --- | --- |
//! | `engine` | loading and rendering |
//! | `source`, `scan` | the text of a template, errors about it; its expressions and names |
//! | `names` | which names a template may use |
//! | `stand_in`, `rendered` | values kept outside the text and inserted after parsing |
//! | `session`, `functions`, `filters` | what templates can call, and the data behind it |

mod engine;
mod filters;
mod functions;
mod names;
mod rendered;
mod scan;
mod session;
mod source;
mod stand_in;

pub(crate) use self::engine::{Engine, RenderError, Template, TemplateKind};
pub(crate) use self::functions::{
    holds_reference, of_bindings, of_dashboards, of_manifests, scalar_text,
};
pub(crate) use self::names::{KnownNames, Shape};
pub(crate) use self::session::{SecretFacts, Stop};
pub(crate) use self::stand_in::kind;

#[cfg(test)]
mod tests;
