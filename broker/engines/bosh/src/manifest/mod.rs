//! Manifests: whether one may be deployed, what one would change, and the current target.
//!
//! | file | contents |
//! | --- | --- |
//! | `checks` | the rules for a manifest |
//! | `difference` | the differences between two |
//! | `planned`, `dry_run` | whether an upgrade would change anything, and what |
//! | `target` | the digest of what is deployed today |
//! | `trial` | whether the adapter's manifest for a plan could be deployed, for a check of the configuration |

pub(crate) mod checks;
pub(crate) mod difference;
pub(crate) mod dry_run;
pub(crate) mod planned;
pub(crate) mod target;
pub(crate) mod trial;
