//! The configuration files of the errands, read in the same way as `broker.yml`: the same values, the same errors with
//! file, line, column and key. Keys are those of `spec/contracts/errands.md` §1.5.
//!
//! | file | used by |
//! | --- | --- |
//! | `register` | `register-broker`, `deregister-broker` |
//! | `deletion` | `delete-all-service-instances`, also with `-and-deregister-broker` |
//! | `fleet` | `upgrade-all-service-instances`, `recreate-all-service-instances` |
//! | `broker_only` | `orphan-deployments`, `collect-service-metrics`, and the new errands |
//! | `shared` | common sections |

mod broker_only;
mod deletion;
mod fleet;
mod register;
mod shared;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use broker_only::BrokerOnly;
pub use deletion::Deletion;
pub use fleet::{DirectorAddress, Fleet, RunSettings};
pub use register::{DeregisterBroker, PlanAccess, RegisterBroker, RegisteredPlan};
pub use shared::{BrokerApi, CloudFoundryAccess};

use super::{
    InvalidConfig, LoadError, Loaded, Paths,
    document::location,
    findings::Problems,
    inspection,
    keys::Keys,
    read_file,
    section::{Context, Section},
};

fn load<T>(
    file: &Path,
    keys: &'static Keys,
    read: fn(&Section<'_>) -> Option<T>,
) -> Result<Loaded<T>, LoadError> {
    Ok(parse(file, &read_file(file)?, keys, read)?)
}

fn parse<T>(
    file: &Path,
    source: &str,
    keys: &'static Keys,
    read: fn(&Section<'_>) -> Option<T>,
) -> Result<Loaded<T>, InvalidConfig> {
    let findings = Problems::of(file);
    let document = inspection::parse(source, &findings);
    let mut config = None;
    if let Some(document) = &document {
        if let Some(kind) = document.is_no_map() {
            let text = format!("the file is {kind}; it must be a map");
            findings.refuse::<()>(location(&document.root), "", text);
        } else {
            let context = Context {
                document,
                findings: &findings,
                paths: Paths::OfAnother,
            };
            let root = Section::root(context, keys);
            config = read(&root);
            root.warn_unknown_keys();
        }
    }
    let (findings, warnings) = findings.into_parts();
    match config {
        Some(config) if findings.is_empty() => Ok(Loaded { config, warnings }),
        _ => Err(InvalidConfig { findings, warnings }),
    }
}
