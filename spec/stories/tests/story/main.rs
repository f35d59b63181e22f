//! The user's story and everything that may happen to it, told by the executables themselves: a sandbox, a broker and
//! an adapter for each test, spoken to as platforms, users and operators do.
//!
//! | module | what may happen |
//! | --- | --- |
//! | `redis_story`, `marketplace` | nothing: somebody orders a Redis, uses it, gives it back |
//! | `kafka_story` | nothing: somebody orders a Kafka, of which the sandbox has stand-ins |
//! | `adapter_samples` | nothing: a Director is given what adapters answer |
//! | `template_redis`, `postgres_story` | nothing either, and the adapter has no code |
//! | `resumption`, `shutdown` | the broker ends in the middle |
//! | `hang_up` | the client goes away in the middle |
//! | `bad_requests`, `repeats` | the client asks for what cannot be, or asks again |
//! | `bad_adapters`, `hanging_adapter`, `exit_codes` | the adapter misbehaves, or fails |
//! | `bindings` | credentials are made, kept, repeated, fetched and taken back |
//! | `hostile_adapters` | the adapter does its worst |
//! | `argument_form` | the adapter takes arguments instead of its stdin |
//! | `plan_schemas` | the adapter describes its parameters |
//! | `faithful_values` | values that are easily changed on the way |
//! | `matrix` | each upstream fails at each call, or the broker is killed there |
//! | `outgoing_calls` | nothing: how often the broker asks its upstreams |
//! | `fetching`, `last_operations` | the platform asks what there is, and how it is doing |
//! | `management`, `recreates`, `upgrades` | the operator operates on what others have ordered |
//! | `deletion_errands` | the operator deletes a whole fleet |
//! | `fleet_upgrades` | the operator upgrades or recreates all there is |
//! | `inventory`, `runs`, `unchanged_upgrades` | the operator looks at all of them, goes through them, and finds nothing to do |
//! | `stuck` | something has failed, or hangs, and somebody has to get out of it |
//! | `orphans` | deployments are there that no instance of the platform stands behind |
//! | `whole_fleet` | the operator upgrades all there is while everybody works on it |
//! | `errand_command_line` | the operator calls an errand in every way |
//! | `service_metrics`, `post_start` | the operator's machine asks how many there are, and whether the broker is up |
//! | `management_lists` | the operator's errands ask which instances there are, which deployments nobody needs, and how much is used |
//! | `rules` | every rule of the Open Service Broker API, by its number |
//! | `fuzzing` | somebody asks whatever comes to mind |
//! | `author` | nothing is done yet: a service author tries things out |
//! | `public_suite` | somebody runs the public conformance suite |
//! | `failed_operations`, `silent_director`, `lost_answers`, `dropped_tasks` | the Director fails, does not answer, or forgets |
//! | `dns_bindings` | bindings need names that BOSH DNS knows |
//! | `cut_short` | the client deletes what is being created |
//! | `dry_runs`, `health` | the operator asks what an upgrade would change, and how VMs are |
//! | `operation_status`, `cancelling` | the operator looks at what is being done, or has enough of it |
//! | `instance_clients` | each instance has a UAA client of its own |
//! | `lifecycle_errands` | errands follow and precede |
//! | `instance_configs` | adapters ask for BOSH configs, and give them up |
//! | `observers` | somebody looks at an instance at the Director |
//! | `residual_processes` | something cannot be cleaned up, or nobody remembers |
//! | `parallel_orders`, `quotas` | many ask at once |
//! | `start_up`, `start_up_checks` | the configuration is wrong, or an upstream is not there, too old or does not know us |
//! | `registration` | the operator makes the broker known to the platform, and has it forgotten |
//! | `check` | the configuration is looked at before it is used |
//! | `doctor` | the operator asks what keeps the broker from working |
//! | `cloud_controller_access` | the broker counts as this client or that user, or not at all |
//! | `migrating` | the operator comes from the Go broker, or goes back to it |
//! | `old_foundations` | the Cloud Controller is of an older generation |
//! | `differences` | what the Go broker got wrong |
//! | `hostile_clients` | the client means harm |
//! | `audit` | somebody asks later who has changed what |
//! | `tls` | certificates are of the wrong kind, run out, or are another owner's |
//! | `documents` | somebody reads about it |
//! | `guide` | somebody does what the operator's guide says |
//! | `tutorial` | somebody types what the tutorial says |
//! | `secure_manifests` | the service has secrets |
//! | `secrets` | somebody reads along |
//! | `metrics`, `telemetry` | somebody counts |

#![cfg(test)]

mod adapter_samples;
mod argument_form;
mod audit;
mod author;
mod bad_adapters;
mod bad_requests;
mod bindings;
mod cancelling;
mod check;
mod cloud_controller_access;
mod cut_short;
mod deletion_errands;
mod differences;
mod dns_bindings;
mod doctor;
mod documents;
mod dropped_tasks;
mod dry_runs;
mod errand_command_line;
mod exit_codes;
mod failed_operations;
mod faithful_values;
mod fetching;
mod fleet_upgrades;
mod fuzzing;
mod guide;
mod hang_up;
mod hanging_adapter;
mod health;
mod hostile_adapters;
mod hostile_clients;
mod instance_clients;
mod instance_configs;
mod inventory;
mod kafka_story;
mod last_operations;
mod lifecycle_errands;
mod lost_answers;
mod management;
mod management_lists;
mod marketplace;
mod matrix;
mod metrics;
mod migrating;
mod observers;
mod old_foundations;
mod operation_status;
mod orphans;
mod outgoing_calls;
mod parallel_orders;
mod plan_schemas;
mod post_start;
mod postgres_story;
mod public_suite;
mod quotas;
mod recreates;
mod redis_story;
mod registration;
mod repeats;
mod residual_processes;
mod resumption;
mod rules;
mod runs;
mod secrets;
mod secure_manifests;
mod service_metrics;
mod shutdown;
mod silent_director;
mod start_up;
mod start_up_checks;
mod stuck;
mod telemetry;
mod template_redis;
mod tls;
mod tutorial;
mod unchanged_upgrades;
mod upgrades;
mod whole_fleet;

use std::time::Duration;

/// How long what is waited for may take. Most of it takes a second.
const TIMEOUT: Duration = Duration::from_mins(1);

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
