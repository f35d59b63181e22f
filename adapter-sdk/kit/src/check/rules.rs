//! The rules for adapters: one for each finding. `docs/authors/check.md` lists them.

use serde::Serialize;

/// One thing that an adapter can do wrong. Two rules are the same if their ids are.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Rule {
    /// Its name in reports, such as `K-02`. The name never changes.
    pub id: &'static str,
    pub severity: Severity,
    pub error: &'static str,
    pub why: &'static str,
    pub remedy: &'static str,
    /// Section of `spec/contracts/adapter-protocol.md` that the rule comes from.
    pub section: &'static str,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Works, but not well.
    Warning,
    /// Breaks the protocol, or the service.
    Error,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

/// All rules, in the order of reports.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    ALL.iter().copied()
}

macro_rules! rules {
    ($($name:ident: $severity:ident $id:literal $error:literal,
        why: $why:literal,
        remedy: $remedy:literal,
        section: $section:literal;)*) => {
        const ALL: &[&Rule] = &[$(&$name),*];

        $(
            pub(super) const $name: Rule = Rule {
                id: $id,
                severity: Severity::$severity,
                error: $error,
                why: $why,
                remedy: $remedy,
                section: $section,
            };
        )*
    };
}

rules! {
    // The executable as a process.
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
    TOO_MUCH_OUTPUT: Error "P-04" "stdout is longer than the limit for answers",
        why: "the broker kills the adapter when stdout exceeds the limit",
        remedy: "print only the answer",
        section: "stdout";
    SLOW: Warning "P-05" "a call takes longer than a second",
        why: "an update calls the adapter three times while the user waits, and an upgrade of a fleet calls it for every instance",
        remedy: "do no slow work in the adapter: no lookups and no heavy interpreter",
        section: "Which calls an operation makes";
    CRASHES: Error "P-06" "the adapter crashes",
        why: "the user gets a text for unknown errors, and the operator gets a stack trace",
        remedy: "check the type of every value before using it; answer with exit code 1, a text for the user on stdout and the cause on stderr",
        section: "Exit codes";
    ACCEPTS_ANY_SUBCOMMAND: Error "P-07" "an unknown or missing subcommand ends with exit code 0",
        why: "a newer broker takes the output for an answer",
        remedy: "exit with 1 and list the subcommands on stderr",
        section: "What the Go SDK prints and returns";
    LEAVES_INPUT_UNREAD: Warning "P-08" "stdin is closed before it has been read to its end",
        why: "a caller that writes a long document into a closed pipe may be killed by it",
        remedy: "read stdin to its end before answering",
        section: "stdin form";

    // Stdout and stderr.
    NOT_ONE_VALUE: Error "S-01" "stdout is not exactly one JSON value",
        why: "the broker parses the whole of stdout as one value: a log line before it or anything after it fails the request",
        remedy: "print the answer to stdout and all other output to stderr",
        section: "stdout";
    WRONG_SHAPE: Error "S-02" "the answer does not have the shape that the protocol asks for",
        why: "the broker cannot read it, and the request fails",
        remedy: "answer with the object that the protocol shows for this subcommand",
        section: "stdout";
    SILENT_FAILURE: Warning "S-03" "the adapter fails with nothing on stderr",
        why: "the operator cannot find the cause",
        remedy: "print the cause on stderr whenever the exit code is not 0",
        section: "Exit codes";
    SECRET_ON_STDERR: Error "S-04" "stderr contains a secret",
        why: "the broker logs stderr; many people can read the log",
        remedy: "never print the input, the manifest, secrets or credentials; name them",
        section: "Exit codes";
    SECRET_FOR_USER: Error "S-05" "the text for the platform user contains a secret",
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

    // Subcommands, forms of requests, exit codes.
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
        why: "a broker with `use_stdin: false` sends requests in this form",
        remedy: "read the arguments after the subcommand when there are any; or set `forms: [stdin]` in the check's inputs and document it for operators",
        section: "argv form";
    OWN_SECTION_ONLY: Error "C-05" "a document with only the subcommand's section is not understood",
        why: "the Go SDK accepts it, so callers other than the Go broker send it",
        remedy: "read the section of the subcommand and require no other",
        section: "stdin form";
    UNKNOWN_FIELDS: Error "C-06" "unknown fields are refused",
        why: "new versions of brokers add fields; the Go SDK ignores unknown ones",
        remedy: "ignore unknown members, in the document and in the JSON in its strings",
        section: "stdin form";
    ABSENT_MEMBERS: Warning "C-07" "a member that may be absent is required",
        why: "older brokers send no `previous_secrets`, `previous_configs` or `uaa_client`",
        remedy: "treat an absent member, an empty one and `null` alike",
        section: "stdin form";
    HALF_BINDINGS: Error "C-08" "only one of `create-binding` and `delete-binding` is implemented",
        why: "without both, the platform has bindings that cannot be deleted",
        remedy: "implement both, or neither for a service that is not bindable",
        section: "Subcommands";
    MALFORMED_ACCEPTED: Error "C-09" "invalid input ends with exit code 0",
        why: "a bug of the broker becomes an instance that no user ordered",
        remedy: "refuse what cannot be decoded: exit code 1, nothing on stdout, the cause on stderr",
        section: "stdin form";
    WRONG_EXIT_CODE: Error "C-10" "the exit code has another meaning for this subcommand",
        why: "the broker reads 10, 41, 42 and 49 the same way for every subcommand: the user gets the wrong status and text",
        remedy: "use 10 only for what is not implemented at all, 41 only in `delete-binding`, 42 and 49 only in `create-binding`, else 1",
        section: "Exit codes";
    FORMS_DIFFER: Error "C-11" "the two forms of one request get different answers",
        why: "a change of `use_stdin` would change every instance",
        remedy: "decode both forms into the same type and answer from that",
        section: "argv form";

    // The manifest itself.
    NOT_A_MANIFEST: Error "M-01" "the manifest is not a valid BOSH manifest in YAML",
        why: "the broker or the Director refuses it, and the request fails",
        remedy: "write one YAML map with `name`, `releases`, `stemcells`, `instance_groups` and `update`",
        section: "What the broker checks in a generated manifest";
    WRONG_NAME: Error "M-02" "the manifest's name is not the deployment's",
        why: "the broker rejects it: it would overwrite the deployment of another instance",
        remedy: "write `deployment_name` of the service deployment as `name`",
        section: "What the broker checks in a generated manifest";
    INEXACT_VERSION: Error "M-03" "a version ends in `latest`",
        why: "the broker rejects it: the deployed version would be unknown",
        remedy: "use the versions of the service deployment",
        section: "What the broker checks in a generated manifest";
    FOREIGN_VERSION: Error "M-04" "a release or stemcell is not in the service deployment",
        why: "the operator uploads the releases and stemcells of the service deployment; the Director rejects all others",
        remedy: "take name and version of releases and stemcells from the service deployment",
        section: "What an author must do";
    JOB_WITHOUT_RELEASE: Error "M-05" "a job comes from a release that does not provide it",
        why: "the Director fails the deployment",
        remedy: "find each job's release in `releases[].jobs` of the service deployment; refuse if none or several have it",
        section: "What an author must do";
    ERRAND_MISSING: Error "M-06" "a lifecycle errand of the plan is not in the manifest",
        why: "the error shows only when the errand runs: after the deployment, or when the instance is deleted",
        remedy: "write errands without `instances` as a group with `lifecycle: errand`, those with `instances` as a job of the group they name",
        section: "What an author must do";
    NO_UPDATE_BLOCK: Error "M-07" "the manifest has no update block that a Director accepts",
        why: "the Director refuses a manifest without `update` and its values",
        remedy: "write the plan's update block, or a default where the plan has none",
        section: "What an author must do";
    AMBIGUOUS_SCALAR: Warning "M-08" "YAML parsers interpret a value without quotes differently",
        why: "the Director and the Go broker read YAML 1.1: `yes` is a boolean there, `12:30` a number, `010` is 8",
        remedy: "quote every string that is not a plain word",
        section: "YAML: what readers on the other side do";
    UNKNOWN_STEMCELL: Error "M-09" "an instance group uses a stemcell alias that the manifest does not define",
        why: "the Director fails the deployment",
        remedy: "write each alias under `stemcells`",
        section: "The SDK's BOSH manifest type";
    PLAN_NOT_FOLLOWED: Warning "M-10" "an instance group differs from the plan",
        why: "operators change instance groups of a plan without an effect",
        remedy: "carry instances, VM type, disk type, networks and zones over from the plan's group",
        section: "Plan";
    WRONG_CONFIG: Error "M-11" "a BOSH config in the answer cannot be used",
        why: "the broker writes configs to the Director before the deployment, which fails on them",
        remedy: "answer with types `cloud`, `cpi` or `runtime`, each a text of YAML that is a map",
        section: "Configs";
    UNDECLARED_VARIABLE: Warning "M-12" "a reference `((name))` has no entry under `variables`",
        why: "the Director generates the names under `variables`; every other name must exist in CredHub",
        remedy: "declare it, or refer to an absolute path",
        section: "What an author must do";

    // Regenerated manifests.
    PENDING_CHANGES: Error "D-01" "a regenerated manifest differs although nothing changed",
        why: "before each update the broker regenerates the manifest with an empty request, and refuses the update with 422 if it differs: the instance can never be updated again",
        remedy: "generate a value once and then read it back from the previous manifest; write no times and no random values, and sort hash maps; read values that are sent only once, such as the UAA client, from the previous manifest",
        section: "What an author must do";
    CHANGES_WITHOUT_CAUSE: Error "D-02" "an update or upgrade without a change changes the manifest",
        why: "VMs are restarted or recreated for nothing",
        remedy: "read values that the request does not contain from the previous manifest",
        section: "What an author must do";
    UNSTABLE_ORDER: Error "D-03" "two equal orders get manifests that differ in more than generated values",
        why: "instances of one plan differ, and a regenerated manifest can differ later",
        remedy: "write lists in the order of the input, and no random values except secrets",
        section: "What an author must do";
    REGENERATION_FAILS: Error "D-04" "the check for pending changes, or an update or upgrade without a change, fails",
        why: "the instance can never be updated or upgraded again",
        remedy: "fix what stderr reports; the previous manifest contains the values that the request omits",
        section: "What an author must do";

    // Secrets that the broker stores, and values at wrong locations.
    SECRET_CHANGED: Error "K-01" "an update or upgrade without a change changes a secret",
        why: "applications that are bound with the old value are locked out, or the service restarts with an unknown password",
        remedy: "keep the reference, or the value, of the previous manifest; an upgrade sends no previous secrets, so do not compare there",
        section: "What an author must do";
    PLACEHOLDER_WITHOUT_ENTRY: Error "K-02" "a placeholder `((odb_secret:NAME))` has no entry in `secrets`",
        why: "the placeholder stays, and the Director fails the deployment with a syntax error",
        remedy: "return the value under the same name, or keep the reference of the previous manifest",
        section: "Secrets going out (ODB-managed)";
    ENTRY_WITHOUT_PLACEHOLDER: Warning "K-03" "an entry in `secrets` has no placeholder in the manifest",
        why: "the broker ignores it without a message",
        remedy: "write `((odb_secret:NAME))` where the value belongs, or return no entry",
        section: "Secrets going out (ODB-managed)";
    WRONG_ENTRY: Error "K-04" "a value in `secrets` is neither a string nor an object",
        why: "the broker fails with an unknown credential type",
        remedy: "return strings, or objects for structured secrets",
        section: "stdout";
    SECRET_IN_MANIFEST: Error "K-05" "the manifest contains a secret in plain text",
        why: "manifests are stored permanently, and every user with access to the deployment can read them",
        remedy: "write a placeholder `((odb_secret:NAME))` and return the value in `secrets`; leave references of the previous manifest as they are",
        section: "What an author must do";
    WRONG_SECRET_NAME: Error "K-06" "the name in a placeholder has invalid characters",
        why: "the broker makes a CredHub path of it, which CredHub or the Director rejects",
        remedy: "use letters, digits, `_` and `-`",
        section: "Secrets going out (ODB-managed)";
    REUSED_SECRET_NAME: Warning "K-07" "a secret's new value is returned under the name of the old one",
        why: "secrets are written before the deployment: if that fails, CredHub has a value that the running service does not use",
        remedy: "give a new value a new name, with a random or content-derived suffix",
        section: "What an author must do";
    GENERATED_IN_MANIFEST: Warning "K-08" "the manifest contains a plain value that looks like a generated secret",
        why: "manifests are stored permanently, and every user with access to the deployment can read them",
        remedy: "let the Director generate it (`variables`) or the broker store it (`((odb_secret:NAME))`); list the location under `plain_secrets` in the check's inputs if it is not a secret or must be plain",
        section: "What an author must do";

    // The users' parameters.
    FORGOTTEN: Error "U-01" "the next update or upgrade loses the user's parameters",
        why: "parameters are sent only once: the next manifest has the default again, and pending changes block updates",
        remedy: "take each value from the parameter, else from the previous manifest, else from the plan, else from a default",
        section: "What an author must do";
    VALID_REFUSED: Error "U-02" "valid parameters are refused",
        why: "users cannot order what the documentation offers",
        remedy: "accept them, or remove them from the check's inputs",
        section: "Request parameters";
    INVALID_ACCEPTED: Error "U-03" "unknown or malformed parameters are accepted",
        why: "a typo is accepted silently, and the user does not get what the parameters ask for",
        remedy: "refuse unknown parameters and wrong types, and name them",
        section: "What an author must do";
    REFUSED_WITHOUT_TEXT: Error "U-04" "parameters are refused without a text that helps the user",
        why: "the user does not learn what to change, and asks the operator about their own mistake",
        remedy: "print one sentence on stdout that names the parameter and what it expects, and exit with 1",
        section: "Exit codes";
    NOT_AS_EXPECTED: Error "U-05" "a parameter does not have the effect that the check's inputs expect",
        why: "users do not get what they ordered",
        remedy: "write the parameter's value where the job reads it",
        section: "Request parameters";
    PLAN_CHANGE: Error "U-06" "a change of plan does not end as the check's inputs expect",
        why: "users cannot move to the plan that they need, or lose data by moving to one that they must not",
        remedy: "compare `plan` with `previous_plan`; refuse what would lose data, with a text for the user",
        section: "What an author must do";

    // Bindings and dashboards.
    BINDING_FAILS: Error "B-01" "a binding cannot be created",
        why: "applications cannot use the service",
        remedy: "make `bosh_vms`, `parameters` and secrets in the check's inputs match what a broker sends; stderr names the missing value",
        section: "What an author must do";
    NO_CREDENTIALS: Error "B-02" "a binding has no credentials, or not those that are expected",
        why: "the application starts and cannot connect",
        remedy: "answer with `credentials`, an object, or with one of the URLs that replace it",
        section: "stdout";
    BINDING_OUTCOME: Error "B-03" "a binding does not end with the exit code that the check's inputs expect",
        why: "the platform maps 49 to 409, 42 to 422 and 41 to 410, and acts on those",
        remedy: "exit with 49 for a binding that exists, 42 for a missing app GUID, 41 for a binding to delete that does not exist",
        section: "Exit codes";
    UNBINDING_FAILS: Error "B-04" "a binding cannot be deleted",
        why: "the binding stays in the platform, and the service instance cannot be deleted",
        remedy: "delete by the binding id what `create-binding` created; succeed if there is nothing to delete",
        section: "What an author must do";
    DASHBOARD_FAILS: Error "B-05" "the dashboard's address cannot be requested",
        why: "the broker rejects an order if its dashboard request fails",
        remedy: "answer with an address from the instance id, plan and manifest alone, or exit with 10",
        section: "Exit codes";
    WRONG_DASHBOARD: Error "B-06" "the dashboard's address is not a valid URL",
        why: "the platform shows a link that does not work",
        remedy: "answer with an absolute `https://` address",
        section: "stdout";

    // Plan schemas.
    SCHEMA_MISSING: Error "J-01" "a plan schema is missing or is not marked as draft 4",
        why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
        remedy: "answer with all three schemas, each with `\"$schema\": \"http://json-schema.org/draft-04/schema#\"`",
        section: "Plan schemas";
    SCHEMA_INVALID: Error "J-02" "a plan schema is not a valid JSON Schema of draft 4",
        why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
        remedy: "fix the schema; `exclusiveMinimum` is a boolean in draft 4, and there is no `const`",
        section: "Plan schemas";
    SCHEMA_TOO_STRICT: Error "J-03" "a plan schema refuses parameters that are valid",
        why: "the broker rejects parameters that the adapter accepts",
        remedy: "generate the schema from the parsing code or vice versa, or test both with the same documents",
        section: "What an author must do";
    SCHEMA_TOO_LAX: Error "J-04" "a plan schema accepts parameters that the adapter refuses",
        why: "marketplaces show forms for parameters that cannot be ordered",
        remedy: "remove parameters that the adapter does not accept from the schema, and write `additionalProperties: false`",
        section: "What an author must do";
    SCHEMAS_FAIL: Error "J-05" "`generate-plan-schemas` fails",
        why: "with `enable_plan_schemas` the broker refuses to work with such an adapter",
        remedy: "fix what stderr reports; an adapter without schemas exits with 10",
        section: "Plan schemas";
}
