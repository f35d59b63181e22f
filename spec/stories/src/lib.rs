//! The black-box suite: binaries of this project, spoken to as their users would, against the sandbox.
//!
//! This library is the dev loop of its tests. [`Foundation`] starts a sandbox of its own for each test, [`Broker`] a
//! broker on it, [`Platform`] orders from that broker, [`Director`] shows what became of it, [`Redis`] uses it.
//! What a test starts ends with it; when the test fails, its logs are printed.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `binaries` | where the executables are |
//! | `process` | a child that never outlives its test |
//! | `foundation`, `broker`, `broker_configuration`, `adapters`, `adapter_folder` | what is started |
//! | `platform`, `answer`, `raw_client`, `cf`, `cloud_controller`, `redis`, `postgres` | who speaks to it |
//! | `instances_api` | who lists instances where no Cloud Controller does |
//! | `stand_in` | who answers in the place of a broker |
//! | `api_document` | what the broker may answer at all |
//! | `control` | who makes its servers fail and reads what they were asked |
//! | `director`, `credhub`, `uaa_clients`, `process_table` | who looks at what became of it |
//! | `dev_loop` | a service author with a folder of their own, and a sandbox that runs what is in it |
//! | `secrets` | what nobody may read |
//! | `errand` | who runs the operator's errands |
//! | [`release`] | what a Director makes of the BOSH release |
//! | `conformance_suite` | who runs the public suite against a broker |
//! | [`manifest`] | BOSH manifests, ops files and variables |
//! | `guide` | the documents, and somebody who types what they say |
//! | `eventually` | waiting for a condition |

#![expect(
    clippy::panic,
    reason = "what a test needs and does not get ends that test"
)]

mod adapter_folder;
mod adapters;
mod answer;
mod api_document;
mod binaries;
mod broker;
mod broker_configuration;
mod cf;
mod cloud_controller;
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
mod management;
pub mod manifest;
mod platform;
mod postgres;
mod process;
mod process_table;
mod raw_client;
mod redis;
pub mod release;
mod secrets;
mod stand_in;
mod trust;
mod uaa_clients;

pub use adapter_folder::AdapterFolder;
pub use adapters::Adapters;
pub use answer::Answer;
pub use api_document::ApiDocument;
pub use binaries::Binaries;
pub use broker::{Broker, LogLine};
pub use broker_configuration::BrokerConfiguration;
pub use cf::{Cf, CfOutput};
pub use cloud_controller::{CfOrder, CloudController};
pub use conformance_suite::{ConformanceSuite, SuiteRun};
pub use control::{BrokerCall, Control, SetFault};
pub use credhub::CredHub;
pub use dev_loop::{DevLoop, RunningDevLoop};
pub use director::Director;
pub use errand::{Errand, ErrandConfiguration, ErrandRun, RunningErrand};
pub use eventually::eventually;
pub use foundation::{Foundation, FoundationSetup, Upstream};
pub use guide::{
    Desk, Document, Fence, Link, ProjectTests, Reader, broker_texts, fences, messages_of,
    properties_page,
};
pub use instances_api::InstancesApi;
pub use platform::{Ended, Order, Platform, new_id};
pub use postgres::Postgres;
pub use process::Process;
pub use process_table::{ProcessTable, RunningProcess, peak_memory_of};
pub use raw_client::RawClient;
pub use redis::Redis;
pub use secrets::Secrets;
pub use stand_in::StandIn;
pub use uaa_clients::{UaaClients, client_definition};
