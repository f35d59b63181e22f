//! Subcommands, forms of the question, exit codes.

use super::{Rule, Severity};

/// The rules of this file.
pub const ALL: &[&Rule] = &[
    &NO_MANIFEST,
    &PLAIN_ORDER_FAILS,
    &STDIN_FORM,
    &ARGUMENT_FORM,
    &OWN_SECTION_ONLY,
    &UNKNOWN_FIELDS,
    &ABSENT_MEMBERS,
    &HALF_BINDINGS,
    &MALFORMED_ACCEPTED,
    &WRONG_EXIT_CODE,
    &FORMS_DIFFER,
];

/// C-01: `generate-manifest` is not implemented.
pub const NO_MANIFEST: Rule = Rule {
    id: "C-01",
    severity: Severity::Error,
    fault: "`generate-manifest` is not implemented",
    why: "without it no instance can be ordered",
    remedy: "implement it",
    section: "Subcommands",
};

/// C-02: an order without parameters fails.
pub const PLAIN_ORDER_FAILS: Rule = Rule {
    id: "C-02",
    severity: Severity::Error,
    fault: "an order without parameters fails",
    why: "`cf create-service` without `-c` is what most users type",
    remedy: "mend what stderr says; where that is a parameter, give it a default; see that plans and releases of the check's inputs are those that the adapter needs",
    section: "Which calls an operation makes",
};

/// C-03: the question on stdin is not understood.
pub const STDIN_FORM: Rule = Rule {
    id: "C-03",
    severity: Severity::Error,
    fault: "the question on stdin is not understood",
    why: "brokers ask on stdin unless told otherwise, and secure manifests work in no other way",
    remedy: "read one JSON object from stdin, take the section of the subcommand, and decode the JSON in its strings",
    section: "stdin form",
};

/// C-04: the question in arguments is not understood.
pub const ARGUMENT_FORM: Rule = Rule {
    id: "C-04",
    severity: Severity::Error,
    fault: "the question in arguments is not understood",
    why: "a broker with `use_stdin: false` asks in this way",
    remedy: "where there are arguments after the subcommand, read those; or give `forms: [stdin]` in the check's inputs and tell operators",
    section: "argv form",
};

/// C-05: a document that has only the section of the subcommand is not understood.
pub const OWN_SECTION_ONLY: Rule = Rule {
    id: "C-05",
    severity: Severity::Error,
    fault: "a document that has only the section of the subcommand is not understood",
    why: "the Go SDK takes it, so callers other than the Go broker send it",
    remedy: "take the section from the subcommand and ask for no other",
    section: "stdin form",
};

/// C-06: fields that the adapter does not know are refused.
pub const UNKNOWN_FIELDS: Rule = Rule {
    id: "C-06",
    severity: Severity::Error,
    fault: "fields that the adapter does not know are refused",
    why: "brokers grow fields from version to version; the Go SDK passes over those that it does not know",
    remedy: "ignore unknown members, in the document and in the JSON in its strings",
    section: "stdin form",
};

/// C-07: a member that may be absent is asked for.
pub const ABSENT_MEMBERS: Rule = Rule {
    id: "C-07",
    severity: Severity::Warning,
    fault: "a member that may be absent is asked for",
    why: "older brokers send no `previous_secrets`, `previous_configs` or `uaa_client`",
    remedy: "take an absent member, an empty one and `null` as nothing",
    section: "stdin form",
};

/// C-08: only one of `create-binding` and `delete-binding` is implemented.
pub const HALF_BINDINGS: Rule = Rule {
    id: "C-08",
    severity: Severity::Error,
    fault: "only one of `create-binding` and `delete-binding` is implemented",
    why: "what can be bound must be unbound, or the platform keeps bindings that cannot be deleted",
    remedy: "implement both, or neither for a service that is not bindable",
    section: "Subcommands",
};

/// C-09: input that breaks the protocol is answered with success.
pub const MALFORMED_ACCEPTED: Rule = Rule {
    id: "C-09",
    severity: Severity::Error,
    fault: "input that breaks the protocol is answered with success",
    why: "a fault of the broker turns into an instance that is not what anybody asked for",
    remedy: "refuse what cannot be decoded: exit code 1, nothing on stdout, the cause on stderr",
    section: "stdin form",
};

/// C-10: the exit code means something else here.
pub const WRONG_EXIT_CODE: Rule = Rule {
    id: "C-10",
    severity: Severity::Error,
    fault: "the exit code means something else here",
    why: "10, 41, 42 and 49 have their meaning for the broker, whatever the subcommand: the user gets the wrong status and text",
    remedy: "use 10 only for what is not implemented at all, 41 only in `delete-binding`, 42 and 49 only in `create-binding`, else 1",
    section: "Exit codes",
};

/// C-11: the two forms of one question get two answers.
pub const FORMS_DIFFER: Rule = Rule {
    id: "C-11",
    severity: Severity::Error,
    fault: "the two forms of one question get two answers",
    why: "an operator who changes `use_stdin` would change every instance",
    remedy: "decode both forms into the same type and answer from that",
    section: "argv form",
};
