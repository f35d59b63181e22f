//! Bindings and dashboards.

use super::{Rule, Severity};

/// The rules of this file.
pub const ALL: &[&Rule] = &[
    &BINDING_FAILS,
    &NO_CREDENTIALS,
    &BINDING_OUTCOME,
    &UNBINDING_FAILS,
    &DASHBOARD_FAILS,
    &WRONG_DASHBOARD,
];

/// B-01: a binding cannot be created.
pub const BINDING_FAILS: Rule = Rule {
    id: "B-01",
    severity: Severity::Error,
    fault: "a binding cannot be created",
    why: "applications cannot use the service",
    remedy: "see that `bosh_vms`, `parameters` and secrets in the check's inputs are such as the adapter gets them; the text on stderr says what it misses",
    section: "What an author must do",
};

/// B-02: a binding has no credentials, or not those that are expected.
pub const NO_CREDENTIALS: Rule = Rule {
    id: "B-02",
    severity: Severity::Error,
    fault: "a binding has no credentials, or not those that are expected",
    why: "the application starts and finds nothing to connect to",
    remedy: "answer with `credentials`, an object, or with one of the URLs that stand in its place",
    section: "stdout",
};

/// B-03: a binding does not end with the exit code that the check's inputs expect.
pub const BINDING_OUTCOME: Rule = Rule {
    id: "B-03",
    severity: Severity::Error,
    fault: "a binding does not end with the exit code that the check's inputs expect",
    why: "the platform maps 49 to 409, 42 to 422 and 41 to 410, and acts on those",
    remedy: "exit with 49 for a binding that exists, 42 for a missing app GUID, 41 for a binding to delete that does not exist",
    section: "Exit codes",
};

/// B-04: a binding cannot be deleted.
pub const UNBINDING_FAILS: Rule = Rule {
    id: "B-04",
    severity: Severity::Error,
    fault: "a binding cannot be deleted",
    why: "the platform keeps the binding, and the service instance cannot be deleted",
    remedy: "delete what `create-binding` made, by the binding id; succeed where there is nothing to do",
    section: "What an author must do",
};

/// B-05: the dashboard's address cannot be asked for.
pub const DASHBOARD_FAILS: Rule = Rule {
    id: "B-05",
    severity: Severity::Error,
    fault: "the dashboard's address cannot be asked for",
    why: "an order whose dashboard fails is refused",
    remedy: "answer with an address from the instance id, plan and manifest alone, or exit with 10",
    section: "Exit codes",
};

/// B-06: the dashboard's address is none.
pub const WRONG_DASHBOARD: Rule = Rule {
    id: "B-06",
    severity: Severity::Error,
    fault: "the dashboard's address is none",
    why: "the platform shows it as a link that leads nowhere",
    remedy: "answer with an absolute `https://` address",
    section: "stdout",
};
