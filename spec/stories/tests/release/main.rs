//! The BOSH release as its users see it: the tarball, the files that a Director renders, and the manifests that deploy
//! it.
//!
//! | module | contents |
//! | --- | --- |
//! | `documents` | the commands, files and links of all documents |
//! | `dependencies` | the operator's programs, which have no server among them |
//! | `help` | the `--help` of every program |
//! | `tarball` | the tarball as a Director and its agents unpack it |
//! | `migrating` | the manifest of the Go release, with the release's name swapped |
//! | `manifests` | the manifests that deploy it, and their prerequisites |
//! | `packages` | the packages for machines without Rust, installed and started |
//! | `packaged` | the release on a VM, from pre-start to drain |
//! | `rendering` | a broker's files: smallest, complete, and the manifest of the contract |
//! | `properties` | every property of every job, and its place in the rendered files |
//! | `rejections` | the errors of templates, their words and their order |
//! | `values` | values that YAML reads as another type, and older forms of properties |
//! | `scripts` | the scripts of the jobs: clean, free of secrets, and `drain` at work |
//! | `watching` | the files for indicators and metric collectors |
//! | `project_scripts` | the scripts that build, try and test the project |
//! | `samples` | the manifest of the contract, and the smallest broker |

#![cfg(test)]

mod dependencies;
mod documents;
mod help;
mod manifests;
mod migrating;
mod packaged;
mod packages;
mod project_scripts;
mod properties;
mod rejections;
mod rendering;
mod samples;
mod scripts;
mod tarball;
mod values;
mod watching;
