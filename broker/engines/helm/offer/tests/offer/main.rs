//! Offers from their files to findings, values and manifests, with both generations of Helm.
//!
//! | file | contents |
//! | --- | --- |
//! | `fixtures` | packages and charts in a compact form |
//! | `helms` | the executables |
//! | `rows` | every bad input of the design's table, with what its author reads |
//! | `rendering` | layers, limits and isolation |
//! | `merging` | merging compared with Helm's |
//! | `catalog` | the service in the catalog |

#![cfg(test)]

mod catalog;
mod fixtures;
mod helms;
mod merging;
mod rendering;
mod rows;
