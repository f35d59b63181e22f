//! A foundation on one machine: Director, UAA and Cloud Controller with real processes, to try and test a broker against.
//!
//! | module | what it plays |
//! | --- | --- |
//! | [`net`], [`certificates`], [`serve`] | the loopback net, its certificate authority and its servers |
//! | [`store`] | where state is kept |
//! | [`director`], [`cpi`] | the BOSH Director, and the processes that are its VMs |
//! | [`uaa`] | the token servers, one beside the Director and one beside the Cloud Controller |
//! | [`cloud_controller`] | the Cloud Controller v3 and its behaviour towards brokers |
//! | [`control`] | the API of the sandbox itself |
//! | [`foundation`] | all of it together: configuration, start, `foundation.json`, stop |
//! | [`cf`] | a client for people: what the cf command line does with services |

pub mod certificates;
pub mod cf;
pub mod cloud_controller;
pub mod control;
pub mod cpi;
pub mod director;
pub mod foundation;
pub mod net;
pub mod serve;
pub mod store;
pub mod uaa;
