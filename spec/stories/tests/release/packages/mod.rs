//! The packages for machines without Rust, as their users install and start them.
//!
//! | module | contents |
//! | --- | --- |
//! | `built` | the packages, made by the script that people run |
//! | `image` | the container image, by `skopeo`, `umoci` and `runc` |
//! | `container` | a container of it, as a kubelet starts it |
//! | `chart` | the Helm chart and the plain manifests, as rendered |
//! | `cluster` | the chart on a Kubernetes API server, and its pod as a container |
//! | `debian` | the Debian package, on a machine of its own with systemd |
//! | `machine` | that machine |
//! | `tools` | the tarball of tools for authors |
//! | `bills` | bills of materials and licences |
//! | `figures` | sizes and starts, to be printed |
//! | `site` | the configuration of a broker whose secrets are files |

mod bills;
mod built;
mod chart;
mod cluster;
mod container;
mod debian;
mod figures;
mod image;
mod machine;
mod site;
mod tools;

use std::time::Duration;

/// How long what is waited for may take. Most of it takes a second.
const TIMEOUT: Duration = Duration::from_mins(1);
