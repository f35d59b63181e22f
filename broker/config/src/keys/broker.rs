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
        "Certificate and key of the broker. Without it, the broker serves plain HTTP.",
    ),
    Key::number_within(
        "shutdown_timeout_in_seconds",
        0,
        3600,
        "How long open requests may take after a signal.",
    )
    .otherwise(DefaultValue::Number(60)),
    Key::flag(
        "disable_ssl_cert_verification",
        "Do not verify the certificates of Cloud Controller and UAA. Never in production; set `cf.root_ca_cert` instead.",
    ),
    Key::flag(
        "disable_cf_startup_checks",
        "Do not check the Cloud Controller at the start; `cf` becomes optional.",
    ),
    Key::flag(
        "disable_bosh_configs",
        "Do not use BOSH configs. Adapters may then return none, and operations are not recorded.",
    ),
    Key::flag(
        "expose_operational_errors",
        "Show platform users the causes of errors.",
    ),
    Key::flag(
        "enable_plan_schemas",
        "Get each plan's parameter schema from the adapter, publish it in the catalog and validate parameters.",
    ),
    Key::optional_flag(
        "use_stdin",
        "Call the adapter on stdin. Otherwise the broker passes arguments, which every user of the machine can read.",
    )
    .otherwise(DefaultValue::Flag(true)),
    Key::flag(
        "enable_secure_manifests",
        "Keep the adapter's secrets in the Director's CredHub; needs `bosh_credhub` and `use_stdin`.",
    ),
    Key::flag(
        "enable_telemetry",
        "Log a line of telemetry at the start and end of each operation.",
    ),
    Key::flag(
        "support_backup_agent_binding",
        "Let backup agents bind to instances.",
    ),
    Key::flag(
        "skip_check_for_pending_changes",
        "Let an update apply pending changes of the operator.",
    ),
    Key::flag(
        "skip_unchanged_upgrades",
        "Skip upgrades that would not change the manifest. Changed cloud, runtime and CPI configs and rotated variables do not count.",
    )
    .of_our_own(),
    Key::flag(
        "enable_fetch_instance",
        "Let platforms retrieve instances, as the catalog declares.",
    )
    .of_our_own(),
    Key::flag(
        "require_organization_and_space",
        "Reject orders without `organization_guid` and `space_guid`, as the specification does.",
    )
    .of_our_own(),
    Key::flag("startup_banner", "Print a banner at the start."),
    Key::section(
        "timings",
        &TIMINGS,
        "Durations and limits.",
    )
    .of_our_own(),
    Key::flag("enable_optimised_upgrades", "No effect.").deprecated("remove it"),
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
        "The time for one request. Platforms give up after 60 seconds.",
    )
    .otherwise(DefaultValue::Number(55)),
    Key::number_within(
        "adapter_processes",
        1,
        1024,
        "How many adapters run at once; further calls wait.",
    )
    .otherwise(DefaultValue::Number(64)),
    Key::number_within(
        "lost_answer_in_seconds",
        1,
        60,
        "How long the broker searches the Director's tasks after a lost answer.",
    )
    .otherwise(DefaultValue::Number(10)),
    Key::number_within(
        "adapter_call_in_seconds",
        1,
        55,
        "The time for one adapter call, within that of the request.",
    )
    .otherwise(DefaultValue::Number(55)),
    Key::number_within(
        "adapter_answer_in_mebibytes",
        1,
        64,
        "The size of an adapter's answer.",
    )
    .otherwise(DefaultValue::Number(8)),
    Key::number_within(
        "adapter_log_in_kibibytes",
        1,
        65536,
        "How much of an adapter's stderr is logged per call.",
    )
    .otherwise(DefaultValue::Number(256)),
    Key::number_within(
        "slow_client_in_seconds",
        1,
        60,
        "How long a client may take to send a body or to read an answer; for the head at most 10.",
    )
    .otherwise(DefaultValue::Number(20)),
    Key::number_within(
        "connections",
        8,
        16384,
        "How many connections may be open; one client may use half of them.",
    )
    .otherwise(DefaultValue::Number(512)),
    Key::number_within(
        "clean_up_in_seconds",
        1,
        86400,
        "How long a deletion retries to remove residual resources. Then it fails and can be repeated.",
    )
    .otherwise(DefaultValue::Number(3600)),
    Key::number_within(
        "failed_authentication_in_seconds",
        0,
        60,
        "The longest delay after repeated failed authentication; 0 turns it off.",
    )
    .otherwise(DefaultValue::Number(5)),
]);
