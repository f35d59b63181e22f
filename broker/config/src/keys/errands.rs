//! The keys of the configuration files of the management errands (`spec/contracts/errands.md` §1.5), as the jobs of the
//! release render them.

use super::{
    key::{Key, Keys, Kind},
    upstreams::{CLIENT, ROOT_CA_CERT, USER},
};

/// The top-level keys of all errands' files: one file may be used for all of them.
pub(crate) const OF_ALL: &[&str] = &[
    "attempt_interval",
    "attempt_limit",
    "bosh",
    "broker_api",
    "broker_name",
    "broker_password",
    "broker_url",
    "broker_username",
    "canaries",
    "canary_selection_params",
    "cf",
    "disable_ssl_cert_verification",
    "give_up_after",
    "maintenance_info_present",
    "max_in_flight",
    "plans",
    "polling_initial_offset",
    "polling_interval",
    "request_timeout",
    "run",
    "service_catalog",
    "service_offering_id",
];

const fn file_with(keys: &'static [Key]) -> Keys {
    Keys::of_a_shared_file(keys, OF_ALL)
}

/// `register-broker`.
pub(crate) const REGISTER_BROKER: Keys = file_with(&[
    Key::text("broker_name", "The broker's name in the Cloud Controller.").required(),
    Key::text(
        "broker_username",
        "For the Cloud Controller's requests to the broker.",
    )
    .required(),
    Key::text(
        "broker_password",
        "For the Cloud Controller's requests to the broker.",
    )
    .required()
    .secret(),
    Key::text(
        "broker_url",
        "The broker's address for the Cloud Controller.",
    )
    .required(),
    CF.required(),
    Key::text(
        "service_offering_id",
        "The offering's id in the broker's catalog.",
    )
    .required(),
    Key::sections("plans", &PLAN, "Who may use which plan."),
    VERIFICATION,
]);

const PLAN: Keys = Keys::only(&[
    Key::text("name", "The plan's name in the catalog.").required(),
    Key::text(
        "cf_service_access",
        "Service access: `enable`, `disable`, `org-restricted`; `manual` changes nothing.",
    ),
    Key::text(
        "service_access_org",
        "The organization of `org-restricted`, by name.",
    ),
    Key::texts("service_access_orgs", "Further organizations, by name.").of_our_own(),
]);

/// `deregister-broker`.
pub(crate) const DEREGISTER_BROKER: Keys = file_with(&[CF.required(), VERIFICATION, BROKER_NAME]);

const BROKER_NAME: Key = Key::text(
    "broker_name",
    "The broker's name in the Cloud Controller. The flag `--broker-name` takes precedence.",
)
.of_our_own();

/// `delete-all-service-instances`, and the same with `-and-deregister-broker`.
pub(crate) const DELETION: Keys = file_with(&[
    CF.required(),
    VERIFICATION,
    BROKER_NAME,
    Key::section("service_catalog", &OFFERING, "What is deleted.").required(),
    Key::number(
        "polling_interval",
        "Seconds between two polls of a deletion.",
    ),
    Key::number(
        "polling_initial_offset",
        "Seconds from the request to the first poll.",
    ),
    Key::number_within(
        "max_in_flight",
        1,
        1000,
        "How many instances are deleted at once; default 10.",
    )
    .of_our_own(),
    Key::number_within(
        "give_up_after",
        1,
        604_800,
        "Seconds for one instance; default 14400 (four hours).",
    )
    .of_our_own(),
]);

const OFFERING: Keys =
    Keys::only(&[Key::text("id", "The offering's id in the broker's catalog.").required()]);

/// `upgrade-all-service-instances` and `recreate-all-service-instances`.
pub(crate) const FLEET: Keys = file_with(&[
    BROKER_API,
    CF,
    Key::flag(
        "maintenance_info_present",
        "Whether the catalog has `maintenance_info`, so that the Cloud Controller knows which instances to upgrade.",
    ),
    Key::number(
        "polling_interval",
        "Seconds between two polls of an operation.",
    )
    .required(),
    Key::number(
        "attempt_interval",
        "Seconds between two attempts at a busy instance.",
    )
    .required(),
    Key::number("attempt_limit", "How many attempts a busy instance gets.").required(),
    Key::number(
        "request_timeout",
        "Seconds that the broker may take for an answer; 0 is unlimited.",
    ),
    Key::number("max_in_flight", "How many operations run at once.").required(),
    Key::number(
        "canaries",
        "How many canaries run first; with selection parameters, 0 means all that match.",
    ),
    Key::new(
        "canary_selection_params",
        Kind::TextMap,
        "Which instances may be canaries, such as `cf_org` and `cf_space`.",
    ),
    Key::section(
        "bosh",
        &DIRECTOR,
        "The Director. The errand only reads its version, and only where the broker cannot report it.",
    ),
    Key::section("run", &RUN, "Options of the run. Flags take precedence.").of_our_own(),
]);

const DIRECTOR: Keys = Keys::only(&[
    Key::text("url", "Its address."),
    Key::certificates("root_ca_cert", ROOT_CA_CERT),
]);

const RUN: Keys = Keys::only(&[
    Key::flag(
        "continue",
        "Continues the last run unless it succeeded; finished instances are skipped.",
    ),
    Key::flag(
        "retry_failed",
        "With `continue`: retries the instances that failed in that run.",
    ),
    Key::flag("dry_run", "Shows what would change, and changes nothing."),
    Key::text(
        "max_failures",
        "How many instances may fail before the run stops: a number such as `5`, or a percentage such as `2%`.",
    ),
    Key::flag(
        "health_gate",
        "Begins the next instances only when the finished ones are healthy.",
    ),
    Key::number_within(
        "wave",
        1,
        1_000_000,
        "With `health_gate`: how many instances per check.",
    ),
    Key::number_within(
        "health_timeout",
        1,
        86_400,
        "With `health_gate`: how many seconds until instances must be healthy.",
    ),
    Key::number_within(
        "answer_timeout",
        0,
        86_400,
        "How many seconds unanswered calls are retried before their instance counts as failed.",
    ),
    Key::texts("plans", "Only instances of these plans, by name or id."),
    Key::texts(
        "organizations",
        "Only instances of these organizations, by name or GUID.",
    ),
    Key::texts("spaces", "Only instances in these spaces, by name or GUID."),
    Key::texts("instances", "Only these instances, by id."),
    Key::texts(
        "exclude",
        "All but these instances, plans, spaces or organizations, by name or id.",
    ),
]);

/// `orphan-deployments`, and other errands that call only the broker.
pub(crate) const BROKER_ONLY: Keys = file_with(&[BROKER_API]);

const BROKER_API: Key = Key::section("broker_api", &BROKER, "The broker.").required();

const BROKER: Keys = Keys::only(&[
    Key::text("url", "Its address.").required(),
    Key::section(
        "authentication",
        &BROKER_AUTHENTICATION,
        "How the errand authenticates.",
    )
    .required(),
    Key::section("tls", &BROKER_TLS, "How its certificate is verified."),
]);

const BROKER_AUTHENTICATION: Keys = Keys::only(&[Key::section(
    "basic",
    &USER,
    "`broker.username` and `broker.password` of the broker's configuration.",
)
.required()]);

const BROKER_TLS: Keys = Keys::only(&[
    Key::certificates("ca_cert", ROOT_CA_CERT),
    Key::flag(
        "disable_ssl_cert_verification",
        "Do not verify its certificate. Never in production; set `broker_api.tls.ca_cert` instead.",
    ),
]);

const VERIFICATION: Key = Key::flag(
    "disable_ssl_cert_verification",
    "Do not verify the certificates of the Cloud Controller and its UAA. Never in production; set `cf.root_ca_cert` instead.",
);

const CF: Key = Key::section("cf", &CLOUD_FOUNDRY, "The Cloud Controller and its UAA.");

const CLOUD_FOUNDRY: Keys = Keys::only(&[
    Key::text("url", "Its address."),
    Key::certificates("root_ca_cert", ROOT_CA_CERT),
    VERIFICATION,
    Key::section("uaa", &CF_UAA, "Its UAA."),
]);

const CF_UAA: Keys = Keys::only(&[
    Key::text("url", "Its address."),
    Key::section(
        "authentication",
        &CF_AUTHENTICATION,
        "How the errand authenticates: as a client, or as a user.",
    ),
    Key::new(
        "client_definition",
        Kind::Anything,
        "For the broker; errands ignore it.",
    )
    .read_elsewhere(),
]);

const CF_AUTHENTICATION: Keys = Keys::only(&[
    Key::section("client_credentials", &CLIENT, "A client of the UAA."),
    Key::section("user_credentials", &USER, "A user."),
]);
