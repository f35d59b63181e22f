//! The manifests of the project, combined as in `docs/operators/manifests.md`.
//!
//! | module | contents |
//! | --- | --- |
//! | `table` | the document's table of ops files, which lists the compatible ones |
//! | `site` | a combined manifest: variables filled in, its jobs rendered, its files checked |
//! | `purposes` | each ops file has its effect |
//! | `combinations` | all valid combinations give a broker (the document's commands: `documents`) |
//! | `cloud_config` | the cloud config has what the manifests name |
//! | `upstreams` | jobs of other releases have what they need |
//! | `foundations` | the clients that a broker needs are created, and are sufficient |

mod cloud_config;
mod combinations;
mod foundations;
mod purposes;
mod site;
mod table;
mod upstreams;
