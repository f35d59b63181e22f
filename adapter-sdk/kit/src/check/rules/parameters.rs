//! What users choose.

use super::{Rule, Severity};

/// The rules of this file.
pub const ALL: &[&Rule] = &[
    &FORGOTTEN,
    &VALID_REFUSED,
    &INVALID_ACCEPTED,
    &REFUSED_WITHOUT_TEXT,
    &NOT_AS_EXPECTED,
    &PLAN_CHANGE,
];

/// U-01: what the user chose is lost with the next update or upgrade.
pub const FORGOTTEN: Rule = Rule {
    id: "U-01",
    severity: Severity::Error,
    fault: "what the user chose is lost with the next update or upgrade",
    why: "parameters are sent once and never again; the user's choice turns back into the default, and updates are blocked by pending changes",
    remedy: "take each value from the parameter, else from the previous manifest, else from the plan, else from a default",
    section: "What an author must do",
};

/// U-02: valid parameters are refused.
pub const VALID_REFUSED: Rule = Rule {
    id: "U-02",
    severity: Severity::Error,
    fault: "valid parameters are refused",
    why: "users cannot order what the documentation offers",
    remedy: "accept them, or take them out of the check's inputs",
    section: "Request parameters",
};

/// U-03: unknown or malformed parameters are accepted.
pub const INVALID_ACCEPTED: Rule = Rule {
    id: "U-03",
    severity: Severity::Error,
    fault: "unknown or malformed parameters are accepted",
    why: "a slip of the pen passes silently, and the user believes to have what was asked for",
    remedy: "refuse what is not known or has the wrong type, by name",
    section: "What an author must do",
};

/// U-04: parameters are refused without a text that helps the user.
pub const REFUSED_WITHOUT_TEXT: Rule = Rule {
    id: "U-04",
    severity: Severity::Error,
    fault: "parameters are refused without a text that helps the user",
    why: "the user does not learn what to change, and asks the operator about a slip of their own",
    remedy: "print one sentence on stdout that names the parameter and says what is expected, and exit with 1",
    section: "Exit codes",
};

/// U-05: a parameter does not have the effect that the check's inputs expect.
pub const NOT_AS_EXPECTED: Rule = Rule {
    id: "U-05",
    severity: Severity::Error,
    fault: "a parameter does not have the effect that the check's inputs expect",
    why: "users do not get what they ordered",
    remedy: "write the parameter's value where the job reads it",
    section: "Request parameters",
};

/// U-06: a change of plan does not end as the check's inputs expect.
pub const PLAN_CHANGE: Rule = Rule {
    id: "U-06",
    severity: Severity::Error,
    fault: "a change of plan does not end as the check's inputs expect",
    why: "users cannot move to the plan that they need, or lose data by moving to one that they must not",
    remedy: "compare `plan` with `previous_plan`; refuse what would lose data, with a text for the user",
    section: "What an author must do",
};
