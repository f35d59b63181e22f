//! The section `cf`: where the Cloud Controller is and how to authenticate there.

use secrecy::SecretString;

use super::{
    address::{self, Address},
    client_credentials::{self, ClientCredentials},
    client_definition::{self, ClientDefinition},
    problems::Faulty,
    section::Section,
};

/// The Cloud Controller and its UAA.
#[derive(Debug)]
pub struct CloudFoundry {
    /// The Cloud Controller's address.
    pub url: Address,
    /// A trust root beside the operating system's.
    pub root_ca_cert: Option<String>,
    /// Whether certificates of Cloud Controller and UAA are verified, the UAA's as an authority over clients included.
    pub verification: Verification,
    /// The UAA's address.
    pub uaa_url: Address,
    /// How to authenticate.
    pub credentials: PlatformCredentials,
    /// What the UAA client of each service instance is made of; instances have none without.
    pub client_definition: Option<ClientDefinition>,
    /// Whether it is looked at before the first request is taken.
    pub checks: CloudFoundryChecks,
}

/// Whether the Cloud Controller is looked at before the first request is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudFoundryChecks {
    /// Its version, our credentials, and that no plan in use has gone from the configuration.
    Run,
    /// `broker.disable_cf_startup_checks` is set: it is used all the same.
    Skipped,
}

/// Whether a neighbour's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// As it should be.
    On,
    /// A switch is set; the log says so loudly.
    Off,
}

/// How the broker authenticates to the Cloud Controller.
#[derive(Debug)]
pub enum PlatformCredentials {
    /// A client of the UAA.
    Client {
        /// The client's id.
        client_id: String,
        /// The client's secret.
        client_secret: SecretString,
    },
    /// A user, through the client `cf`.
    User {
        /// The user's name.
        username: String,
        /// The user's password.
        password: SecretString,
    },
}

/// Reads `cf`. With `broker.disable_cf_startup_checks` it may be left out, or be unfinished: the Go broker does not look
/// at it then. It may also be left out where `service_instances_api` lists the instances.
pub(super) fn read(root: &Section<'_>) -> Result<Option<CloudFoundry>, Faulty> {
    let broker = root.section("broker");
    let section = root.section("cf");
    let checks = if broker.flag("disable_cf_startup_checks", false) {
        CloudFoundryChecks::Skipped
    } else {
        CloudFoundryChecks::Run
    };
    let is_listed_elsewhere = root.section("service_instances_api").has_value("url");
    if is_listed_elsewhere && !section.holds_a_value() {
        return Ok(None);
    }
    if checks == CloudFoundryChecks::Skipped && !is_complete(&section) {
        if section.holds_a_value() {
            client_definition::remark_unused(
                &section.section("uaa"),
                ("`cf` is not complete", "complete it"),
            );
            section.remark_here((
                "is not complete, and not used because `broker.disable_cf_startup_checks` is set",
                "give `url`, `uaa.url` and credentials, or remove it",
            ));
        }
        return Ok(None);
    }
    // The Go broker let each of the two hold for some calls (`spec/contracts/broker-behaviour.md` §9.37). Both are read,
    // so that both are held against their type.
    let switches =
        [&broker, &section].map(|section| section.flag("disable_ssl_cert_verification", false));
    let verification = if switches.contains(&true) {
        Verification::Off
    } else {
        Verification::On
    };
    cloud_foundry(&section, verification, checks)
        .map(Some)
        .ok_or(Faulty)
}

/// Addresses and credentials are there, right or wrong.
fn is_complete(section: &Section<'_>) -> bool {
    let uaa = section.section("uaa");
    let authentication = uaa.section("authentication");
    let client = authentication.section("client_credentials");
    let user = authentication.section("user_credentials");
    let has_client = client.has_value("client_id")
        && (client.has_value("client_secret") || client.has_value("secret"));
    let has_user = user.has_value("username") && user.has_value("password");
    section.has_value("url") && uaa.has_value("url") && (has_client || has_user)
}

fn cloud_foundry(
    section: &Section<'_>,
    verification: Verification,
    checks: CloudFoundryChecks,
) -> Option<CloudFoundry> {
    let url = address::required(
        section,
        "url",
        "the address of the Cloud Controller, such as `https://api.example.com`",
    );
    let root_ca_cert = section.text("root_ca_cert").map(|found| found.value);
    let uaa = section.section("uaa");
    let uaa_url = address::required(
        &uaa,
        "url",
        "the address of its UAA, such as `https://uaa.example.com`",
    );
    let credentials = credentials(&uaa.section("authentication"));
    let client_definition = match &credentials {
        Some(PlatformCredentials::User { .. }) => {
            client_definition::remark_unused(
                &uaa,
                (
                    "only a client may administer clients",
                    "give `authentication.client_credentials`",
                ),
            );
            None
        }
        Some(PlatformCredentials::Client { .. }) | None => client_definition::read(&uaa),
    };
    uaa.remark_unknown_keys();
    section.remark_unknown_keys();
    Some(CloudFoundry {
        url: url?,
        root_ca_cert,
        verification,
        uaa_url: uaa_url?,
        credentials: credentials?,
        client_definition,
        checks,
    })
}

fn credentials(section: &Section<'_>) -> Option<PlatformCredentials> {
    let client = section.section("client_credentials");
    let user = section.section("user_credentials");
    section.remark_unknown_keys();
    match (client.holds_a_value(), user.holds_a_value()) {
        (true, true) => section.refuse(
            "user_credentials",
            ("stands beside `client_credentials`", "give one of the two"),
        ),
        (false, false) => section.refuse(
            "client_credentials",
            ("is missing", "give it or `user_credentials`"),
        ),
        (true, false) => {
            let ClientCredentials {
                client_id,
                client_secret,
            } = client_credentials::read(&client, "a client of the UAA")?;
            Some(PlatformCredentials::Client {
                client_id,
                client_secret,
            })
        }
        (false, true) => {
            let username = user.required_text("username", "a user of the platform");
            let password = user.required_text("password", "that user's password");
            user.remark_unknown_keys();
            Some(PlatformCredentials::User {
                username: username?.value,
                password: password?.value.into(),
            })
        }
    }
}
