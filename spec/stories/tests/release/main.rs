//! The BOSH release as its users meet it: the tarball, what a Director renders of it, and the manifests that deploy it.
//!
//! | module | which |
//! | --- | --- |
//! | `documents` | what all documents tell their readers to do |
//! | `help` | the `--help` of every program |
//! | `tarball` | the tarball as a Director and its agents unpack it |
//! | `migrating` | the manifest of the Go release, with the release's name swapped |
//! | `manifests` | the manifests that deploy it, and what has to be there before |
//! | `packaged` | the release on a VM, from pre-start to drain |
//! | `rendering` | a broker's files: smallest, whole, and the manifest of the contract |
//! | `properties` | every property of every job, and where it is found again |
//! | `rejections` | what templates refuse, in whose words and in which order |
//! | `values` | values that YAML makes something else of, and older forms of properties |
//! | `scripts` | the scripts of the jobs: clean, free of secrets, and `drain` at work |
//! | `watching` | what indicators and collectors of metrics read |
//! | `project_scripts` | the scripts that build, try and test the project |
//! | `samples` | the manifest of the contract, and the smallest broker |

#![cfg(test)]

mod documents;
mod help;
mod manifests;
mod migrating;
mod packaged;
mod project_scripts;
mod properties;
mod rejections;
mod rendering;
mod samples;
mod scripts;
mod tarball;
mod values;
mod watching;
