//! The tarball of the release: as a Director and its agents unpack it, and as people make it.
//!
//! | module | which |
//! | --- | --- |
//! | `director` | what is in it, by `tar`, `sha256sum`, Ruby's YAML and binutils |
//! | `versions` | what it is called, and that it is the same each time |
//! | `faults` | broken release folders |
//! | `bosh_cli` | beside the `bosh` command line |
//! | `sources` | the one that is compiled on a VM |
//! | `readme` | the commands of `release/README.md` |
//! | `small` | a release with the least that has all parts |
//! | `system` | programs that are run |

mod bosh_cli;
mod director;
mod errors;
mod readme;
mod small;
mod sources;
mod system;
mod versions;
