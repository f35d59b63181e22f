//! The user's story and everything that may happen to it, told by the executables themselves: a sandbox, a broker and
//! an adapter for each test, spoken to as platforms, users and operators do.
//!
//! | module | what may happen |
//! | --- | --- |
//! | `redis_story`, `marketplace` | nothing: somebody orders a Redis, uses it, gives it back |
//! | `resumption`, `shutdown` | the broker ends in the middle |
//! | `hang_up` | the client goes away in the middle |
//! | `bad_requests`, `repeats` | the client asks for what cannot be, or asks again |
//! | `bad_adapters`, `hanging_adapter`, `exit_codes` | the adapter misbehaves, or fails |
//! | `bindings` | credentials are made, kept, repeated, fetched and taken back |
//! | `hostile_adapters` | the adapter does its worst |
//! | `argument_form` | the adapter takes arguments instead of its stdin |
//! | `plan_schemas` | the adapter describes its parameters |
//! | `faithful_values` | values that are easily changed on the way |
//! | `matrix` | each neighbour fails at each call, or the broker is killed there |
//! | `outgoing_calls` | nothing: how often the broker asks its neighbours |
//! | `fetching`, `last_operations` | the platform asks what there is, and how it is doing |
//! | `management`, `recreates`, `upgrades` | the operator operates on what others have ordered |
//! | `rules` | every rule of the Open Service Broker API, by its number |
//! | `fuzzing` | somebody asks whatever comes to mind |
//! | `public_suite` | somebody runs the public conformance suite |
//! | `failed_operations`, `silent_director`, `lost_answers` | the Director fails, or does not answer |
//! | `dns_bindings` | bindings need names that BOSH DNS knows |
//! | `cut_short` | the client deletes what is being created |
//! | `instance_clients` | each instance has a UAA client of its own |
//! | `lifecycle_errands` | errands follow and precede |
//! | `instance_configs` | adapters ask for BOSH configs, and give them up |
//! | `onlookers` | somebody looks at an instance at the Director |
//! | `leftovers` | something cannot be cleaned up, or nobody remembers |
//! | `parallel_orders`, `quotas` | many ask at once |
//! | `start_up`, `start_up_checks` | the configuration is wrong, or a neighbour is not there, too old or does not know us |
//! | `check` | the configuration is looked at before it is used |
//! | `cloud_controller_access` | the broker counts as this client or that user, or not at all |
//! | `old_foundations` | the Cloud Controller is of an older generation |
//! | `differences` | what the Go broker got wrong |
//! | `hostile_clients` | the client means harm |
//! | `audit` | somebody asks later who has changed what |
//! | `tls` | certificates are of the wrong kind, run out, or are somebody else's |
//! | `documents` | somebody reads about it |
//! | `secure_manifests` | the service has secrets |
//! | `secrets` | somebody reads along |
//! | `metrics`, `telemetry` | somebody counts |

#![cfg(test)]

mod argument_form;
mod audit;
mod bad_adapters;
mod bad_requests;
mod bindings;
mod check;
mod cloud_controller_access;
mod cut_short;
mod differences;
mod dns_bindings;
mod documents;
mod exit_codes;
mod failed_operations;
mod faithful_values;
mod fetching;
mod fuzzing;
mod hang_up;
mod hanging_adapter;
mod hostile_adapters;
mod hostile_clients;
mod instance_clients;
mod instance_configs;
mod last_operations;
mod leftovers;
mod lifecycle_errands;
mod lost_answers;
mod management;
mod marketplace;
mod matrix;
mod metrics;
mod old_foundations;
mod onlookers;
mod outgoing_calls;
mod parallel_orders;
mod plan_schemas;
mod public_suite;
mod quotas;
mod recreates;
mod redis_story;
mod repeats;
mod resumption;
mod rules;
mod secrets;
mod secure_manifests;
mod shutdown;
mod silent_director;
mod start_up;
mod start_up_checks;
mod telemetry;
mod tls;
mod upgrades;

use std::time::Duration;

/// How long what is waited for may take. Most of it takes a second.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the Director is asked to do for an order of the plan `small`, when all goes well.
fn history_of_an_order(instance: &str) -> Vec<String> {
    vec![
        "create deployment: done".to_owned(),
        format!("run errand health-check from deployment service-instance_{instance}: done"),
    ]
}

/// And for its deletion.
fn history_of_a_deletion(instance: &str) -> Vec<String> {
    vec![
        format!("run errand cleanup-data from deployment service-instance_{instance}: done"),
        format!("delete deployment service-instance_{instance}: done"),
    ]
}
