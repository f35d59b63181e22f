//! The BOSH release as a Director renders it: one job alone, or the jobs of a complete manifest.
//!
//! | module | contents |
//! | --- | --- |
//! | `jobs` | the jobs of a release |
//! | `link` | a link between two jobs |
//! | `rendering` | a job to render |
//! | `rendered`, `rejection` | the result |
//! | `deployment` | every job of this release in a manifest |
//! | `ruby` | the program that evaluates templates |
//! | `vm` | a folder in place of a VM, with bpm |
//! | `tarball` | the release itself |
//! | `site` | a sandbox in place of a real site |

mod deployment;
mod jobs;
mod link;
mod rejection;
mod rendered;
mod rendering;
mod ruby;
mod site;
mod tarball;
#[cfg(test)]
mod tests;
mod vm;

pub use deployment::{Deployment, DeploymentRejection, RenderedDeployment, RenderedInstance};
pub use jobs::Jobs;
pub use link::Link;
pub use rejection::{Fault, Rejection};
pub use rendered::Rendered;
pub use rendering::{Rendering, render_all};
pub use site::{broker_properties, credhub_link, overlay, secure_bindings, secure_manifests};
pub use tarball::tarball;
pub use vm::{UnpackedRelease, Vm};
