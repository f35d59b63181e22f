//! The keys of the section `broker`.

use super::key::{DefaultValue, Key, Keys};

pub(super) const BROKER: Keys = Keys::only(&[
    Key::number_within("port", 1, 65535, "The port that the broker listens on.").required(),
    Key::text(
        "bind_address",
        "The IP address to listen on; all interfaces unless given.",
    )
    .of_our_own(),
    Key::text(
        "username",
        "The name that the platform and the errands authenticate with.",
    )
    .required(),
    Key::text(
        "password",
        "The password that the platform and the errands authenticate with.",
    )
    .required()
    .secret(),
    Key::section(
        "tls",
        &TLS,
        "Certificate and key of the broker; plain HTTP without.",
    ),
    Key::number_within(
        "shutdown_timeout_in_seconds",
        0,
        3600,
        "How long requests may finish after a signal; 0 is no time at all.",
    )
    .otherwise(DefaultValue::Number(60)),
    Key::flag(
        "disable_ssl_cert_verification",
        "Do not verify the certificates of Cloud Controller and UAA. Never in production; set `cf.root_ca_cert` instead.",
    ),
    Key::flag(
        "disable_cf_startup_checks",
        "Do not look at the Cloud Controller before the first request is taken. `cf` may then be left out.",
    ),
    Key::flag(
        "disable_bosh_configs",
        "Neither read nor write BOSH configs. Adapters may then return none, and no operation is recorded over a restart.",
    ),
    Key::flag(
        "expose_operational_errors",
        "Show platform users the causes of errors, not only what to do and an id to quote.",
    ),
    Key::flag(
        "enable_plan_schemas",
        "Ask the adapter which parameters each plan takes, publish that in the catalog and hold parameters against it.",
    ),
    Key::optional_flag(
        "use_stdin",
        "Ask the adapter on its stdin. Off, the broker passes arguments, which every user of the machine can read.",
    )
    .otherwise(DefaultValue::Flag(true)),
    Key::flag(
        "enable_secure_manifests",
        "Keep the adapter's secrets in the Director's CredHub; needs `bosh_credhub` and `use_stdin`.",
    ),
    Key::flag(
        "enable_telemetry",
        "Write a line of telemetry at the start and at the end of each operation.",
    ),
    Key::flag(
        "support_backup_agent_binding",
        "Let backup agents bind to instances.",
    ),
    Key::flag(
        "skip_check_for_pending_changes",
        "Let an update bring in what the operator has changed since the instance was deployed.",
    ),
    Key::flag(
        "skip_unchanged_upgrades",
        "Hand nothing over for an upgrade that would change nothing of an instance at rest. Changed cloud, runtime and CPI configs and rotated variables are not seen.",
    )
    .of_our_own(),
    Key::flag(
        "enable_fetch_instance",
        "Let platforms retrieve instances, as the catalog declares.",
    )
    .of_our_own(),
    Key::flag(
        "require_organization_and_space",
        "Refuse orders without `organization_guid` and `space_guid`, as the specification has it.",
    )
    .of_our_own(),
    Key::flag("startup_banner", "Print a name at start-up."),
    Key::section(
        "timings",
        &TIMINGS,
        "Durations and ceilings.",
    )
    .of_our_own(),
    Key::flag("enable_optimised_upgrades", "Means nothing.").deprecated("remove it"),
]);

const TLS: Keys = Keys::only(&[
    Key::text(
        "cert_file",
        "A PEM file with the certificate chain, the broker's own certificate first.",
    ),
    Key::text("key_file", "A PEM file with the certificate's private key."),
]);

const TIMINGS: Keys = Keys::only(&[
    Key::number_within(
        "request_budget_in_seconds",
        1,
        55,
        "What a request has from its arrival to its answer. The platform gives up after 60 seconds.",
    )
    .otherwise(DefaultValue::Number(55)),
    Key::number_within(
        "adapter_processes",
        1,
        1024,
        "How many adapters run at once; more wait their turn.",
    )
    .otherwise(DefaultValue::Number(64)),
    Key::number_within(
        "lost_answer_in_seconds",
        1,
        60,
        "How long a lost answer to a submission is looked for among the tasks of the Director.",
    )
    .otherwise(DefaultValue::Number(10)),
    Key::number_within(
        "adapter_call_in_seconds",
        1,
        55,
        "How long a call of the adapter may take, if the request has that time left.",
    )
    .otherwise(DefaultValue::Number(55)),
    Key::number_within(
        "adapter_answer_in_mebibytes",
        1,
        64,
        "How long an adapter's answer may be.",
    )
    .otherwise(DefaultValue::Number(8)),
    Key::number_within(
        "adapter_log_in_kibibytes",
        1,
        65536,
        "How much of what an adapter says on stderr comes into the log, for each call.",
    )
    .otherwise(DefaultValue::Number(256)),
    Key::number_within(
        "slow_client_in_seconds",
        1,
        60,
        "How long a client may take for the body of a request, or take nothing of an answer; for the head at most 10.",
    )
    .otherwise(DefaultValue::Number(20)),
    Key::number_within(
        "connections",
        8,
        16384,
        "How many connections there may be; one client may have half of them.",
    )
    .otherwise(DefaultValue::Number(512)),
    Key::number_within(
        "clean_up_in_seconds",
        1,
        86400,
        "How long a deletion retries when a server does not remove what the instance leaves behind. Then it fails and can be repeated.",
    )
    .otherwise(DefaultValue::Number(3600)),
    Key::number_within(
        "failed_authentication_in_seconds",
        0,
        60,
        "The longest wait of a client that fails to authenticate again and again; 0 turns the delay off.",
    )
    .otherwise(DefaultValue::Number(5)),
]);
