//! Builds the BOSH release of the on-demand broker.
//!
//! Two steps, each of use by itself:
//!
//! 1. [`stage`] writes a release folder from this project, as the `bosh` command line knows it: jobs, packages with
//!    their files, licence.
//! 2. [`build`] makes a release tarball of a release folder.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `version` | what a version of a release may look like |
//! | `digest`, `fingerprint` | what names bytes, and what names a job or package by its content |
//! | `contents` | the files of a job or package |
//! | `archive` | gzipped tar archives, written the same each time |
//! | `specification` | the `spec` of a job and of a package |
//! | `release_folder` | a release folder, read |
//! | `release_manifest` | `release.MF` |
//! | [`stage`] | from the project to a release folder |
//! | [`build`] | from a release folder to a tarball |
//! | `executable` | what an executable needs of the machine that it will run on |

pub mod archive;
pub mod build;
pub mod contents;
pub mod digest;
pub mod executable;
pub mod fingerprint;
pub mod release_folder;
pub mod release_manifest;
pub mod specification;
pub mod stage;
pub mod version;
