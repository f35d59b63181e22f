//! The black-box suite: binaries of this project, used as their users would, against the sandbox.
//!
//! This library is the harness of its tests. [`Foundation`] starts a sandbox of its own for each test, [`Broker`] a
//! broker on it, [`Platform`] orders from that broker, [`Director`] shows the deployments, [`Redis`] uses them.
//! Everything that a test starts ends with it; when the test fails, its logs are printed.
//!
//! | module | contents |
//! | --- | --- |
//! | `binaries` | the paths of the executables |
//! | `process` | a child that never outlives its test |
//! | `foundation`, `broker`, `broker_configuration`, `adapters`, `adapter_folder` | the parts under test |
//! | `platform`, `response`, `raw_client`, `cf`, `cloud_controller`, `redis`, `postgres` | their clients |
//! | `instances_api` | a source of instances without a Cloud Controller |
//! | `stand_in` | a server in place of a broker |
//! | `collector` | a collector of traces |
//! | `browser` | a real browser |
//! | `api_document` | the answers that the broker's API documents allow |
//! | `control` | fault injection and recorded calls |
//! | `director`, `credhub`, `uaa_clients`, `process_table` | the state of the upstreams and of the machine |
//! | `dev_loop` | a service author with a folder of their own, and a sandbox that runs its content |
//! | `secrets` | the search for secrets |
//! | `errand`, `odb` | run the operator's errands and command line |
//! | [`release`] | the BOSH release as a Director renders it |
//! | `conformance_suite` | runs the public suite against a broker |
//! | [`manifest`] | BOSH manifests, ops files and variables |
//! | `guide` | the documents, and a reader that runs their commands |
//! | `eventually` | waiting for a condition |

#![expect(
    clippy::panic,
    reason = "what a test needs and does not get ends that test"
)]
#![expect(missing_docs, reason = "most of the harness is explained by its names")]

mod adapter_folder;
mod adapters;
mod api_document;
mod binaries;
mod broker;
mod broker_configuration;
mod browser;
mod cf;
mod cloud_controller;
mod collector;
mod conformance_suite;
mod control;
mod credhub;
mod dev_loop;
mod director;
mod errand;
mod eventually;
mod foundation;
mod guide;
mod instances_api;
mod log_schema;
mod management;
pub mod manifest;
mod odb;
mod platform;
mod postgres;
mod process;
mod process_table;
mod raw_client;
mod redis;
pub mod release;
mod response;
mod secrets;
mod stand_in;
mod trust;
mod uaa_clients;

pub use adapter_folder::AdapterFolder;
pub use adapters::Adapters;
pub use api_document::ApiDocument;
pub use binaries::Binaries;
pub use broker::{Broker, LogLine};
pub use broker_configuration::BrokerConfiguration;
pub use browser::{Browser, BrowserKey};
pub use cf::{Cf, CfOutput};
pub use cloud_controller::{CfOrder, CloudController};
pub use collector::{Collector, ExportedSpan, SpanTree};
pub use conformance_suite::{ConformanceSuite, SuiteRun};
pub use control::{BrokerCall, Control, Fault, SetFault, TaskFault};
pub use credhub::CredHub;
pub use dev_loop::{DevLoop, RunningDevLoop};
pub use director::Director;
pub use errand::{Errand, ErrandConfiguration, ErrandRun, RunningErrand};
pub use eventually::eventually;
pub use foundation::{Foundation, FoundationSetup, Upstream};
pub use guide::{
    Desk, Document, Fence, Link, ProjectTests, Reader, broker_texts, fences, messages_of,
    messages_of_scripts, properties_page,
};
pub use instances_api::InstancesApi;
pub use odb::{Odb, OdbRun, RunningOdb};
pub use platform::{Ended, Order, Platform, new_id};
pub use postgres::Postgres;
pub use process::Process;
pub use process_table::{ProcessTable, RunningProcess, peak_memory_of};
pub use raw_client::RawClient;
pub use redis::Redis;
pub use response::Response;
pub use secrets::Secrets;
pub use stand_in::StandIn;
pub use uaa_clients::{UaaClients, client_definition};
