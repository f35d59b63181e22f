//! The executable as a process.

rules! {
    CANNOT_START: Error "P-01" "the executable cannot be started",
        why: "no request for the service can be answered",
        remedy: "make the file executable for the broker's user; a script needs a first line with an interpreter that is installed",
        section: "The process";

    OUT_OF_TIME: Error "P-02" "a call does not end in time",
        why: "the platform gives up on a request after a minute; the broker kills the adapter before that",
        remedy: "set a timeout for every wait; read only stdin",
        section: "The process";

    LEAVES_PROCESSES: Error "P-03" "a process of the adapter outlives the call",
        why: "a call is one process that runs to its end; processes that outlive it accumulate on the broker's machine or are killed at any moment",
        remedy: "wait for every process that the adapter starts",
        section: "The process";

    TOO_MUCH_OUTPUT: Error "P-04" "more is printed on stdout than an answer may have",
        why: "the broker kills an adapter that floods it",
        remedy: "print only the answer",
        section: "stdout";

    SLOW: Warning "P-05" "a call takes longer than a second",
        why: "an update calls the adapter three times while the user waits, and an upgrade of a fleet calls it for every instance",
        remedy: "leave slow work out of the adapter: look nothing up, start no heavy interpreter",
        section: "Which calls an operation makes";

    CRASHES: Error "P-06" "the adapter crashes",
        why: "the user reads that something unknown went wrong, and the operator finds a stack trace",
        remedy: "check the type of every value before using it; answer with exit code 1, a text for the user on stdout and the cause on stderr",
        section: "Exit codes";

    ACCEPTS_ANY_SUBCOMMAND: Error "P-07" "an unknown subcommand, or none, ends with success",
        why: "a newer broker reads it as an answer",
        remedy: "exit with 1 and list the subcommands on stderr",
        section: "What the Go SDK prints and returns";

    LEAVES_INPUT_UNREAD: Warning "P-08" "stdin is closed before it has been read to its end",
        why: "a caller that writes a long document into a closed pipe may be killed by it",
        remedy: "read stdin to its end before answering",
        section: "stdin form";
}
