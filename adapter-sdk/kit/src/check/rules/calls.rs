//! Subcommands, forms of requests, exit codes.

rules! {
    NO_MANIFEST: Error "C-01" "`generate-manifest` is not implemented",
        why: "without it no instance can be ordered",
        remedy: "implement it",
        section: "Subcommands";

    PLAIN_ORDER_FAILS: Error "C-02" "an order without parameters fails",
        why: "`cf create-service` without `-c` is what most users type",
        remedy: "fix what stderr reports: give a parameter a default, or correct plans and releases in the check's inputs",
        section: "Which calls an operation makes";

    STDIN_FORM: Error "C-03" "the request on stdin is not understood",
        why: "brokers send requests on stdin by default, and secure manifests need it",
        remedy: "read one JSON object from stdin, take the section of the subcommand, and decode the JSON in its strings",
        section: "stdin form";

    ARGUMENT_FORM: Error "C-04" "the request in arguments is not understood",
        why: "a broker with `use_stdin: false` asks in this way",
        remedy: "read the arguments after the subcommand when there are any; or set `forms: [stdin]` in the check's inputs and document it for operators",
        section: "argv form";

    OWN_SECTION_ONLY: Error "C-05" "a document that has only the section of the subcommand is not understood",
        why: "the Go SDK takes it, so callers other than the Go broker send it",
        remedy: "take the section from the subcommand and ask for no other",
        section: "stdin form";

    UNKNOWN_FIELDS: Error "C-06" "fields that the adapter does not know are refused",
        why: "brokers grow fields from version to version; the Go SDK passes over those that it does not know",
        remedy: "ignore unknown members, in the document and in the JSON in its strings",
        section: "stdin form";

    ABSENT_MEMBERS: Warning "C-07" "a member that may be absent is required",
        why: "older brokers send no `previous_secrets`, `previous_configs` or `uaa_client`",
        remedy: "take an absent member, an empty one and `null` as nothing",
        section: "stdin form";

    HALF_BINDINGS: Error "C-08" "only one of `create-binding` and `delete-binding` is implemented",
        why: "without both, the platform has bindings that cannot be deleted",
        remedy: "implement both, or neither for a service that is not bindable",
        section: "Subcommands";

    MALFORMED_ACCEPTED: Error "C-09" "invalid input ends with success",
        why: "a bug of the broker becomes an instance that no user ordered",
        remedy: "refuse what cannot be decoded: exit code 1, nothing on stdout, the cause on stderr",
        section: "stdin form";

    WRONG_EXIT_CODE: Error "C-10" "the exit code has another meaning for this subcommand",
        why: "the broker reads 10, 41, 42 and 49 the same way for every subcommand: the user gets the wrong status and text",
        remedy: "use 10 only for what is not implemented at all, 41 only in `delete-binding`, 42 and 49 only in `create-binding`, else 1",
        section: "Exit codes";

    FORMS_DIFFER: Error "C-11" "the two forms of one request get two answers",
        why: "a change of `use_stdin` would change every instance",
        remedy: "decode both forms into the same type and answer from that",
        section: "argv form";
}
