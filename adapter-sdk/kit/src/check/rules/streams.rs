//! What stands on stdout and stderr.

use super::{Rule, Severity};

/// The rules of this file.
pub const ALL: &[&Rule] = &[
    &NOT_ONE_VALUE,
    &WRONG_SHAPE,
    &SILENT_FAILURE,
    &SECRET_ON_STDERR,
    &SECRET_FOR_USER,
    &CALLER_FAULT_FOR_USER,
    &INTERNALS_FOR_USER,
];

/// S-01: stdout is not exactly one JSON value.
pub const NOT_ONE_VALUE: Rule = Rule {
    id: "S-01",
    severity: Severity::Error,
    fault: "stdout is not exactly one JSON value",
    why: "the broker parses the whole of stdout as one value: a log line before it or anything after it fails the request",
    remedy: "print the answer to stdout and everything else to stderr",
    section: "stdout",
};

/// S-02: the answer does not have the shape that the protocol asks for.
pub const WRONG_SHAPE: Rule = Rule {
    id: "S-02",
    severity: Severity::Error,
    fault: "the answer does not have the shape that the protocol asks for",
    why: "the broker cannot read it, and the request fails",
    remedy: "answer with the object that the protocol shows for this subcommand",
    section: "stdout",
};

/// S-03: the adapter fails and says nothing on stderr.
pub const SILENT_FAILURE: Rule = Rule {
    id: "S-03",
    severity: Severity::Warning,
    fault: "the adapter fails and says nothing on stderr",
    why: "the operator has no way to find out why",
    remedy: "print the cause on stderr whenever the exit code is not 0",
    section: "Exit codes",
};

/// S-04: a secret stands on stderr.
pub const SECRET_ON_STDERR: Rule = Rule {
    id: "S-04",
    severity: Severity::Error,
    fault: "a secret stands on stderr",
    why: "stderr goes into the broker's log, which many can read and nobody can clean",
    remedy: "never print the input, the manifest, secrets or credentials; name them",
    section: "Exit codes",
};

/// S-05: a secret stands in the text for the platform user.
pub const SECRET_FOR_USER: Rule = Rule {
    id: "S-05",
    severity: Severity::Error,
    fault: "a secret stands in the text for the platform user",
    why: "the text goes through the platform to whoever made the request, and into logs on the way",
    remedy: "never put values of the input into such a text; name the parameter",
    section: "Exit codes",
};

/// S-06: input that breaks the protocol is answered with a text for the platform user.
pub const CALLER_FAULT_FOR_USER: Rule = Rule {
    id: "S-06",
    severity: Severity::Warning,
    fault: "input that breaks the protocol is answered with a text for the platform user",
    why: "the user reads about a fault of the broker or operator that nobody but those can mend",
    remedy: "leave stdout empty and print the cause on stderr",
    section: "What an author must do",
};

/// S-07: the text for the platform user shows internals.
pub const INTERNALS_FOR_USER: Rule = Rule {
    id: "S-07",
    severity: Severity::Warning,
    fault: "the text for the platform user shows internals",
    why: "users cannot act on a stack trace, and it tells strangers about the system",
    remedy: "print one short sentence on stdout and the trace on stderr",
    section: "What an author must do",
};
