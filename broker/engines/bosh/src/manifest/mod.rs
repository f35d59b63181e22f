//! Manifests: whether one may be deployed, what one would change, and what is deployed today.
//!
//! | file | holds |
//! | --- | --- |
//! | `checks` | what has to be right about a manifest |
//! | `difference` | what differs between two |
//! | `planned`, `dry_run` | whether an upgrade would change anything, and what |
//! | `target` | what is deployed today, in one word |
//! | `trial` | whether the adapter's manifest for a plan could be deployed, for a check of the configuration |

pub(crate) mod checks;
pub(crate) mod difference;
pub(crate) mod dry_run;
pub(crate) mod planned;
pub(crate) mod target;
pub(crate) mod trial;
