//! A foundation on one machine: Director, UAA and Cloud Controller with real processes, to try and test a broker against.
//!
//! | module | what it plays |
//! | --- | --- |
//! | [`net`], [`certificates`], [`serve`] | the loopback net, its certificate authority and its servers |
//! | [`store`], [`rsa_keys`] | where state is kept, and RSA keys for the next sandbox |
//! | [`faults`], [`calls`] | how those servers are made to fail, and what they were asked |
//! | [`director`], [`cpi`] | the BOSH Director, and the processes that are its VMs |
//! | [`uaa`] | the token servers, one beside the Director and one beside the Cloud Controller |
//! | [`credhub`], [`instance_identity`] | a CredHub beside each of the two, and the certificates by which apps are known there |
//! | [`cloud_controller`] | the Cloud Controller v3 and its behaviour towards brokers |
//! | [`control`] | the API of the sandbox itself |
//! | [`foundation`] | all of it together: configuration, start, `foundation.json`, stop |
//! | [`fleet`] | thousands of instances that nobody ordered |
//! | [`cf`] | a client for people: what the cf command line does with services |
//! | [`dev_loop`] | a broker beside it, for authors of adapters |
//! | [`commands`] | what else people do with a foundation that runs |

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
pub mod instance_identity;
pub mod net;
pub mod rsa_keys;
pub mod serve;
pub mod store;
pub mod uaa;
