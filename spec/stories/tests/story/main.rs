//! The user's story and its variations, with the executables themselves: a sandbox, a broker and an adapter for each
//! test, used as by platforms, users and operators.
//!
//! | module | contents |
//! | --- | --- |
//! | `redis_story`, `redis_example`, `marketplace` | a user orders a Redis, uses it, deletes it |
//! | `kafka_story` | a user orders a Kafka, for which the sandbox has stand-ins |
//! | `adapter_samples` | a Director deploys the answers of adapters |
//! | `template_redis`, `postgres_story` | the same with an adapter without code |
//! | `resumption`, `shutdown` | the broker ends during an operation |
//! | `hang_up` | the client disconnects during a request |
//! | `bad_requests`, `repeats` | invalid and repeated requests |
//! | `bad_adapters`, `hanging_adapter`, `exit_codes` | the adapter misbehaves, or fails |
//! | `bindings` | credentials are created, stored, repeated, fetched and deleted |
//! | `hostile_adapters` | malicious adapters |
//! | `argument_form` | the adapter takes arguments instead of its stdin |
//! | `plan_schemas` | the adapter describes its parameters |
//! | `faithful_values` | values that are easily changed on the way |
//! | `matrix` | each upstream fails at each call, or the broker is killed there |
//! | `outgoing_calls` | the number of calls to upstreams |
//! | `fetching`, `last_operations` | the platform reads instances and bindings, and polls operations |
//! | `management`, `recreates`, `upgrades` | the operator's operations on users' instances |
//! | `deletion_errands` | the operator deletes a complete fleet |
//! | `fleet_upgrades` | the operator upgrades or recreates all instances |
//! | `inventory`, `runs`, `unchanged_upgrades` | the operator lists all instances, runs through them, and finds nothing to do |
//! | `stuck` | an operation has failed or hangs, and the operator resolves it |
//! | `orphans` | deployments without a service instance in the platform |
//! | `whole_fleet` | the operator upgrades all instances while users work on them |
//! | `errand_command_line` | the operator calls an errand in every form |
//! | `service_metrics`, `post_start` | the operator's machine reads the metrics, and waits for the broker |
//! | `management_lists` | the lists and metrics of the management API as in the Go broker |
//! | `rules` | every rule of the Open Service Broker API, by its number |
//! | `fuzzing` | random requests |
//! | `author` | a service author tries things out |
//! | `public_suite` | the public conformance suite |
//! | `failed_operations`, `silent_director`, `lost_answers`, `dropped_tasks` | the Director fails, does not answer, or drops tasks |
//! | `dns_bindings` | bindings need names of BOSH DNS |
//! | `cut_short` | the client deletes an instance during its creation |
//! | `dry_runs`, `health` | the operator reads what an upgrade would change, and the health of VMs |
//! | `operation_status`, `cancelling` | the operator reads the operation in progress, or cancels it |
//! | `instance_clients` | each instance has a UAA client of its own |
//! | `lifecycle_errands` | errands after deployments and before deletions |
//! | `instance_configs` | adapters return BOSH configs, and drop them |
//! | `observers` | other clients read an instance at the Director |
//! | `residual_processes` | residual resources that cannot be removed, or are not recorded |
//! | `parallel_orders`, `quotas` | concurrent orders |
//! | `start_up`, `start_up_checks` | the configuration is wrong, or an upstream is missing, too old or rejects the broker |
//! | `registration` | the operator registers the broker at the platform, and unregisters it |
//! | `check` | the configuration is checked before it is used |
//! | `doctor` | the operator examines the upstreams |
//! | `cloud_controller_access` | the broker counts instances as a client or a user, or not at all |
//! | `migrating` | the operator migrates from the Go broker, or back to it |
//! | `old_foundations` | the Cloud Controller is of an older generation |
//! | `differences` | the bugs of the Go broker |
//! | `hostile_clients` | malicious clients |
//! | `audit` | the audit lines of changes |
//! | `certificate_reload` | the broker's certificate changes while it serves |
//! | `tls` | certificates of the wrong kind, expired ones, and those of another owner |
//! | `page`, `browser` | the page for operators; a browser that shows it |
//! | `documents` | the documents |
//! | `guide` | the operators' guide |
//! | `tutorial`, `skeletons` | the tutorial, and the adapters of `odb-adapter new` |
//! | `secure_manifests` | the service has secrets |
//! | `secrets` | no secret leaks |
//! | `secrets_outside` | secrets in files and environment variables |
//! | `metrics`, `telemetry`, `traces` | the metrics, the telemetry, and the traces |

#![cfg(test)]

mod adapter_samples;
mod argument_form;
mod audit;
mod author;
mod bad_adapters;
mod bad_requests;
mod bindings;
mod browser;
mod cancelling;
mod certificate_reload;
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
mod odb;
mod old_foundations;
mod operation_status;
mod orphans;
mod outgoing_calls;
mod page;
mod parallel_orders;
mod plan_schemas;
mod post_start;
mod postgres_story;
mod public_suite;
mod quotas;
mod recreates;
mod redis_example;
mod redis_story;
mod registration;
mod repeats;
mod residual_processes;
mod resumption;
mod rules;
mod runs;
mod secrets;
mod secrets_outside;
mod secure_manifests;
mod service_metrics;
mod shutdown;
mod silent_director;
mod skeletons;
mod start_up;
mod start_up_checks;
mod stuck;
mod telemetry;
mod template_redis;
mod tls;
mod traces;
mod tutorial;
mod unchanged_upgrades;
mod upgrades;
mod whole_fleet;

use std::time::Duration;

/// How long what is waited for may take. Most of it takes a second.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The Director's tasks for an order of the plan `small` without failures.
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
