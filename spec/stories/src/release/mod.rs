//! What a Director makes of the BOSH release: rendered jobs, of one job alone or of a whole manifest.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `jobs` | the jobs of a release |
//! | `link` | what one job tells another |
//! | `rendering` | a job that is to be rendered |
//! | `rendered`, `rejection` | what comes of it |
//! | `deployment` | every job of ours in a manifest |
//! | `ruby` | the program that evaluates templates |
//! | `vm` | a folder that stands for a VM, with bpm |
//! | `tarball` | the release itself |
//! | `site` | what a sandbox has in the place of a real site |

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
