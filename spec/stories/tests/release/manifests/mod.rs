//! The manifests of the project, as `docs/operators/manifests.md` says that they are put together.
//!
//! | module | what it shows |
//! | --- | --- |
//! | `table` | the document's table of ops files, which decides what goes with what |
//! | `site` | a manifest put together: variables in it, its jobs rendered, its files checked |
//! | `purposes` | each ops file does what it is for |
//! | `combinations` | all that go together give a broker (the document's commands: `documents`) |
//! | `cloud_config` | the cloud config has what the manifests name |
//! | `upstreams` | jobs of other releases have what they need |
//! | `foundations` | the clients that a broker needs are made, and are enough |

mod cloud_config;
mod combinations;
mod foundations;
mod purposes;
mod site;
mod table;
mod upstreams;
