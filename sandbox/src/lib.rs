//! A foundation on one machine: Director, UAA and Cloud Controller with real processes, to try and test a broker
//! against.
//!
//! | module | contents |
//! | --- | --- |
//! | [`net`], [`certificates`], [`serve`] | the loopback net, its certificate authority and its servers |
//! | [`store`], [`rsa_keys`] | the storage of state, and RSA keys for the next sandbox |
//! | [`faults`], [`calls`] | injected faults, and the recorded calls |
//! | [`director`], [`cpi`] | the BOSH Director, and the processes that are its VMs |
//! | [`uaa`] | the token servers, one beside the Director and one beside the Cloud Controller |
//! | [`credhub`] | a CredHub beside each of the two |
//! | [`cloud_controller`] | the Cloud Controller v3 and its behaviour towards brokers |
//! | [`control`] | the API of the sandbox itself |
//! | [`foundation`] | all of it together: configuration, start, `foundation.json`, stop |
//! | [`fleet`] | thousands of instances without orders |
//! | [`cf`] | a command line client: the service commands of the cf command line |
//! | [`dev_loop`] | a broker beside it, for authors of adapters |
//! | [`commands`] | other commands for a running foundation |

#![expect(
    missing_docs,
    reason = "the library serves the program and its tests alone"
)]

pub mod calls;
pub mod certificates;
pub mod cf;
pub mod cloud_controller;
pub mod commands;
pub mod control;
pub mod cpi;
pub mod credhub;
pub mod dev_loop;
pub mod director;
pub mod durations;
pub mod faults;
pub mod fleet;
pub mod foundation;
pub mod net;
pub mod rsa_keys;
pub mod serve;
pub mod store;
pub mod uaa;
