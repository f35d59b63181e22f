//! The keys of the sections that name the broker's upstreams.

use super::key::{Key, Keys};

pub(super) const ROOT_CA_CERT: &str = "Trust roots in PEM form, beside the operating system's.";

pub(super) const BOSH: Keys = Keys::only(&[
    Key::text(
        "url",
        "The Director's address, such as `https://10.0.0.6:25555`. Only https; default port 25555.",
    )
    .required(),
    Key::certificates(
        "root_ca_cert",
        "The only PEM trust roots for Director and BOSH UAA; those of the operating system unless given.",
    ),
    Key::section(
        "authentication",
        &DIRECTOR_AUTHENTICATION,
        "How the broker authenticates: exactly one of the two.",
    )
    .required(),
]);

const DIRECTOR_AUTHENTICATION: Keys = Keys::only(&[
    Key::section("basic", &USER, "A user of the Director."),
    Key::section("uaa", &DIRECTOR_UAA, "A client of the Director's UAA."),
]);

const DIRECTOR_UAA: Keys = Keys::only(&[
    Key::section(
        "client_credentials",
        &CLIENT,
        "A client with `bosh.teams.TEAM.admin`.",
    ),
    Key::section(
        "user_credentials",
        &USER,
        "Not supported by a Director; the Go broker ignores it.",
    ),
    Key::text("url", "Not used.").deprecated("remove it, for the Director names its UAA itself"),
]);

pub(super) const CLOUD_FOUNDRY: Keys = Keys::only(&[
    Key::text(
        "url",
        "The Cloud Controller's address, such as `https://api.sys.example.com`.",
    ),
    Key::certificates("root_ca_cert", ROOT_CA_CERT),
    Key::section("uaa", &CF_UAA, "The UAA of the Cloud Controller."),
    Key::flag(
        "disable_ssl_cert_verification",
        "As `broker.disable_ssl_cert_verification`.",
    ),
]);

const CF_UAA: Keys = Keys::only(&[
    Key::text(
        "url",
        "The UAA's address, such as `https://uaa.sys.example.com`.",
    ),
    Key::section(
        "authentication",
        &CF_AUTHENTICATION,
        "How the broker authenticates: exactly one of the two.",
    ),
    Key::section(
        "client_definition",
        &CLIENT_DEFINITION,
        "A UAA client for each service instance. Any key except `name` and `allowpublic` turns it on.",
    ),
]);

const CF_AUTHENTICATION: Keys = Keys::only(&[
    Key::section(
        "client_credentials",
        &CLIENT,
        "A client with `cloud_controller.admin`; `client_definition` also needs `clients.admin`.",
    ),
    Key::section(
        "user_credentials",
        &USER,
        "A user in the group `cloud_controller.admin`, with the client `cf`.",
    ),
]);

const CLIENT_DEFINITION: Keys = Keys::only(&[
    Key::text(
        "scopes",
        "Scopes of the client, separated by commas. `ODB_SPACE_GUID` is replaced by the GUID of the instance's space.",
    ),
    Key::text(
        "authorities",
        "Authorities of the client, separated by commas. `ODB_SPACE_GUID` as in `scopes`.",
    ),
    Key::text(
        "authorized_grant_types",
        "Grant types of the client, separated by commas; the UAA needs one.",
    ),
    Key::text(
        "resource_ids",
        "Resource ids of the client, separated by commas. `ODB_SPACE_GUID` as in `scopes`.",
    ),
    Key::text(
        "name",
        "The client's display name; that of the service instance unless given.",
    ),
    Key::flag(
        "allowpublic",
        "Whether the client needs no secret, which is `-`.",
    ),
]);

pub(super) const SERVICE_INSTANCES_API: Keys = Keys::only(&[
    Key::text(
        "url",
        "The address of the list of service instances. Without it, the section has no effect.",
    ),
    Key::certificates("root_ca_cert", ROOT_CA_CERT),
    Key::flag(
        "disable_ssl_cert_verification",
        "Do not verify its certificate. Never in production.",
    ),
    Key::section(
        "authentication",
        &INSTANCES_AUTHENTICATION,
        "How the broker authenticates.",
    ),
]);

const INSTANCES_AUTHENTICATION: Keys =
    Keys::only(&[Key::section("basic", &USER, "Name and password.")]);

pub(super) const RUNTIME_CREDHUB: Keys = Keys::only(&[
    Key::text(
        "api_url",
        "The address of the runtime CredHub, such as `https://credhub.service.cf.internal:8844`.",
    ),
    Key::text(
        "client_id",
        "A client of the platform's UAA with `credhub.read` and `credhub.write`, which may do everything below \
         `/c/SERVICE-ID/` there.",
    ),
    Key::text("client_secret", "That client's secret.").secret(),
    Key::certificates("ca_cert", "Trust roots of the CredHub in PEM form."),
    Key::certificates(
        "internal_uaa_ca_cert",
        "Trust roots of its UAA in PEM form.",
    ),
]);

pub(super) const BOSH_CREDHUB: Keys = Keys::only(&[
    Key::text(
        "url",
        "The address of the Director's CredHub, such as `https://10.0.0.6:8844`.",
    ),
    Key::certificates(
        "root_ca_cert",
        "PEM trust roots in addition to `bosh.root_ca_cert`.",
    ),
    Key::section(
        "authentication",
        &CREDHUB_AUTHENTICATION,
        "How the broker authenticates.",
    ),
]);

const CREDHUB_AUTHENTICATION: Keys =
    Keys::only(&[Key::section("uaa", &CREDHUB_UAA, "The Director's UAA.")]);

const CREDHUB_UAA: Keys = Keys::only(&[
    Key::section(
        "client_credentials",
        &CLIENT,
        "A client of the Director's UAA with `credhub.read` and `credhub.write`.",
    ),
    Key::text("url", "Not used.").deprecated("remove it, for the CredHub names its UAA itself"),
]);

pub(super) const CLIENT: Keys = Keys::only(&[
    Key::text("client_id", "The client's id."),
    Key::text("client_secret", "The client's secret.").secret(),
    Key::text("secret", "Read as `client_secret` where that is missing.")
        .secret()
        .other_spelling("client_secret"),
]);

pub(super) const USER: Keys = Keys::only(&[
    Key::text("username", "The user's name."),
    Key::text("password", "The user's password.").secret(),
]);
