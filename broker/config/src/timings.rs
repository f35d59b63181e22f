//! The section `broker.timings`, and every duration and ceiling that it does not name.

use std::time::Duration;

use super::section::Section;

/// Every duration and limit that no protocol fixes, in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    /// The time for a request, from its arrival to its answer. The platform gives up after 60 s.
    pub request_budget: Duration,
    /// The time that must be left when work is submitted: for the submission itself, and to look for a lost answer.
    pub submission_reserve: Duration,
    /// A reconciler's first pause between two polls of a task.
    pub first_look: Duration,
    /// A reconciler's longest pause between two polls of a task.
    pub longest_look: Duration,
    /// How long a reconciler waits for one answer of the Director.
    pub reconciler_call: Duration,
    /// The first pause of a reconciler after a call that failed.
    pub first_retry: Duration,
    /// The longest pause of a reconciler after a call that failed.
    pub longest_retry: Duration,
    /// How long the broker searches the Director's tasks after a lost answer.
    pub lost_answer: Duration,
    /// The additional time for a rollback, beyond that of the request.
    pub rollback: Duration,
    /// The time for the UAA to find and delete an instance's earlier client when clients are no longer defined.
    pub undefined_client: Duration,
    /// How long the broker tries to roll back a failed bind, in the background after the answer.
    pub undoing_a_bind: Duration,
    /// How long a deletion retries to remove residual resources beside the deployment; then it fails.
    pub clean_up: Duration,
    /// How long an ended operation is kept in memory; afterwards its operation record has it.
    pub recorded: Duration,
    /// The time to live of the Cloud Controller's ids of the offering's plans. Shorter than `recorded`: orders under
    /// ids that are not known yet are kept in memory until those are learned.
    pub plans_cached: Duration,
    /// The same as long as a plan of the catalog is not among them, as between a deployment and the registration.
    pub incomplete_plans_cached: Duration,
    /// The time to live of the instance count for the metrics.
    pub instance_count_ttl: Duration,
    /// How long a scrape of the metrics waits for an instance count.
    pub instance_count_timeout: Duration,
    /// How long each upstream may take at start-up.
    pub start_up: Duration,
    /// How long a call of the adapter may run, within the time of its request.
    pub adapter_call: Duration,
    /// How many adapter processes run at once; more wait their turn.
    pub adapter_processes: usize,
    /// The longest answer of an adapter that is read, in bytes.
    pub adapter_answer: usize,
    /// How many bytes of the adapter's stderr per call are logged.
    pub adapter_log: usize,
    /// How many submissions to the Director are under way at once; more wait their turn.
    pub submissions: usize,
    /// How long a client may take for a handshake, and for the head of a request.
    pub request_head: Duration,
    /// How long a client may take for the body of a request.
    pub request_body: Duration,
    /// How long an idle connection is kept. Longer than routers keep theirs (Gorouter 90 s): the side with the shorter
    /// time closes it, and a router that sends a request into a closing connection does not know whether it took
    /// effect.
    pub idle_connection: Duration,
    /// How long an answer is held of which a client takes nothing.
    pub answer_unread: Duration,
    /// How many connections there may be, and with them requests at once; one client may have half of them.
    pub connections: usize,
    /// The longest wait of a client that fails to authenticate again and again; zero means that no request waits.
    pub failed_authentication: Duration,
}

const KIBIBYTE: usize = 1024;
const MEBIBYTE: usize = 1024 * KIBIBYTE;

impl Default for Timings {
    fn default() -> Self {
        Self {
            request_budget: Duration::from_secs(55),
            submission_reserve: Duration::from_secs(15),
            first_look: Duration::from_millis(250),
            longest_look: Duration::from_secs(5),
            reconciler_call: Duration::from_secs(30),
            first_retry: Duration::from_millis(500),
            longest_retry: Duration::from_secs(30),
            lost_answer: Duration::from_secs(10),
            rollback: Duration::from_secs(4),
            undefined_client: Duration::from_secs(5),
            undoing_a_bind: Duration::from_mins(2),
            clean_up: Duration::from_hours(1),
            recorded: Duration::from_hours(1),
            plans_cached: Duration::from_mins(10),
            incomplete_plans_cached: Duration::from_secs(5),
            instance_count_ttl: Duration::from_mins(1),
            // Collectors wait for ten seconds by default.
            instance_count_timeout: Duration::from_secs(5),
            start_up: Duration::from_secs(30),
            adapter_call: Duration::from_secs(55),
            adapter_processes: 64,
            // The largest manifests have some hundred kilobytes.
            adapter_answer: 8 * MEBIBYTE,
            adapter_log: 256 * KIBIBYTE,
            submissions: 16,
            request_head: Duration::from_secs(10),
            request_body: Duration::from_secs(20),
            idle_connection: Duration::from_mins(3),
            answer_unread: Duration::from_secs(20),
            connections: 512,
            failed_authentication: Duration::from_secs(5),
        }
    }
}

pub(super) fn read(section: &Section<'_>) -> Option<Timings> {
    let usual = Timings::default();
    let seconds = |key| {
        let found = section.number_or_default(key, " seconds");
        found.map(Duration::from_secs)
    };
    let count = |key, unit| usize::try_from(section.number_or_default(key, unit)?).ok();
    let budget = section.number_or_default(
        "request_budget_in_seconds",
        " seconds, for the platform gives up after 60",
    );
    let lost_answer = seconds("lost_answer_in_seconds");
    let adapter_call = seconds("adapter_call_in_seconds");
    let processes = count("adapter_processes", "");
    let answer = count("adapter_answer_in_mebibytes", " MiB");
    let log = count("adapter_log_in_kibibytes", " KiB");
    let slow_client = seconds("slow_client_in_seconds");
    let connections = count("connections", "");
    let clean_up = seconds("clean_up_in_seconds");
    let failed_authentication = seconds("failed_authentication_in_seconds");
    section.warn_unknown_keys();
    let (request_budget, request_body) = (Duration::from_secs(budget?), slow_client?);
    Some(Timings {
        request_budget,
        submission_reserve: usual.submission_reserve.min(request_budget / 4),
        lost_answer: lost_answer?,
        adapter_call: adapter_call?,
        adapter_processes: processes?,
        adapter_answer: answer? * MEBIBYTE,
        adapter_log: log? * KIBIBYTE,
        request_head: usual.request_head.min(request_body),
        request_body,
        answer_unread: request_body,
        connections: connections?,
        clean_up: clean_up?,
        failed_authentication: failed_authentication?,
        ..usual
    })
}
