//! Whether the broker can work: the probes, and the three programs that run them. Each probe returns
//! [findings](odb_core::finding::Finding).
//!
//! | folder | holds |
//! | --- | --- |
//! | [`start`] | puts the parts together; a fault keeps the broker from serving |
//! | [`check`] | looks at a configuration without serving, the dependencies only when asked to |
//! | [`doctor`] | tries everything, and measures the time |
//! | `director`, `credhub`, `cloud_controller`, `uaa`, `instances`, `adapter` | the probes of each: `diagnosis` is what `doctor` asks, the rest what a start asks too |
//! | `server` | what holds for every server: name, connection, answer, clock |
//! | `certificates` | the broker's own certificate, those of servers, and whose are trusted |

mod adapter;
mod certificates;
pub mod check;
mod cloud_controller;
mod credhub;
mod director;
pub mod doctor;
mod instances;
mod server;
pub mod start;
mod uaa;
