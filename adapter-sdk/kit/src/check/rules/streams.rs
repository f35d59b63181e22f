//! Stdout and stderr.

rules! {
    NOT_ONE_VALUE: Error "S-01" "stdout is not exactly one JSON value",
        why: "the broker parses the whole of stdout as one value: a log line before it or anything after it fails the request",
        remedy: "print the answer to stdout and all other output to stderr",
        section: "stdout";

    WRONG_SHAPE: Error "S-02" "the answer does not have the shape that the protocol asks for",
        why: "the broker cannot read it, and the request fails",
        remedy: "answer with the object that the protocol shows for this subcommand",
        section: "stdout";

    SILENT_FAILURE: Warning "S-03" "the adapter fails with nothing on stderr",
        why: "the operator has no way to find out why",
        remedy: "print the cause on stderr whenever the exit code is not 0",
        section: "Exit codes";

    SECRET_ON_STDERR: Error "S-04" "stderr has a secret",
        why: "the broker logs stderr; many people can read the log",
        remedy: "never print the input, the manifest, secrets or credentials; name them",
        section: "Exit codes";

    SECRET_FOR_USER: Error "S-05" "the text for the platform user has a secret",
        why: "the platform shows the text to the user, and logs on the way keep it",
        remedy: "never put values of the input into such a text; name the parameter",
        section: "Exit codes";

    CALLER_ERROR_FOR_USER: Warning "S-06" "invalid input ends with a text for the platform user",
        why: "the user reads about an error that only the operator can fix",
        remedy: "leave stdout empty and print the cause on stderr",
        section: "What an author must do";

    INTERNALS_FOR_USER: Warning "S-07" "the text for the platform user shows internals",
        why: "users cannot act on a stack trace, and it reveals internals",
        remedy: "print one short sentence on stdout and the trace on stderr",
        section: "What an author must do";
}
