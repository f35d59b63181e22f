//! The section `cf`: where the Cloud Controller is and how to authenticate there.

use secrecy::SecretString;

use super::{problems::Faulty, section::Section};

/// The Cloud Controller and its UAA.
#[derive(Debug)]
pub struct CloudFoundry {
    /// The Cloud Controller's address.
    pub url: String,
    /// A trust root beside the operating system's.
    pub root_ca_cert: Option<String>,
    /// Whether certificates of Cloud Controller and UAA are verified.
    pub verification: Verification,
    /// The UAA's address.
    pub uaa_url: String,
    /// How to authenticate.
    pub credentials: PlatformCredentials,
}

/// Whether a neighbour's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// As it should be.
    On,
    /// `broker.disable_ssl_cert_verification` is set; the log says so loudly.
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

/// Reads `cf`, unless `broker.disable_cf_startup_checks` says that there is no Cloud Controller.
pub(super) fn read(root: &Section<'_>) -> Result<Option<CloudFoundry>, Faulty> {
    let broker = root.section("broker");
    let section = root.section("cf");
    if broker.flag("disable_cf_startup_checks", false) {
        return Ok(None);
    }
    let verification = if broker.flag("disable_ssl_cert_verification", false) {
        Verification::Off
    } else {
        Verification::On
    };
    cloud_foundry(&section, verification)
        .map(Some)
        .ok_or(Faulty)
}

fn cloud_foundry(section: &Section<'_>, verification: Verification) -> Option<CloudFoundry> {
    let url = section.required_text(
        "url",
        "the address of the Cloud Controller, such as `https://api.example.com`",
    );
    let root_ca_cert = section.text("root_ca_cert").map(|found| found.value);
    let uaa = section.section("uaa");
    let uaa_url = uaa.required_text(
        "url",
        "the address of its UAA, such as `https://uaa.example.com`",
    );
    let credentials = credentials(&uaa.section("authentication"));
    let definition = uaa.section("client_definition");
    if definition.holds_a_value() {
        uaa.refuse::<()>(
            "client_definition",
            "is configured; this version does not offer a UAA client for each service instance, remove it",
        );
    }
    uaa.remark_unknown_keys();
    section.ignore(&["disable_ssl_cert_verification"]);
    section.remark_unknown_keys();
    Some(CloudFoundry {
        url: url?.value,
        root_ca_cert,
        verification,
        uaa_url: uaa_url?.value,
        credentials: credentials?,
    })
}

fn credentials(section: &Section<'_>) -> Option<PlatformCredentials> {
    let client = section.section("client_credentials");
    let user = section.section("user_credentials");
    section.remark_unknown_keys();
    match (client.holds_a_value(), user.holds_a_value()) {
        (true, true) => section.refuse(
            "user_credentials",
            "stands beside `client_credentials`; give one of the two",
        ),
        (false, false) => section.refuse(
            "client_credentials",
            "is missing; give it or `user_credentials`",
        ),
        (true, false) => {
            let client_id = client.required_text("client_id", "a client of the UAA");
            let client_secret = client.required_text("client_secret", "that client's secret");
            client.remark_unknown_keys();
            Some(PlatformCredentials::Client {
                client_id: client_id?.value,
                client_secret: client_secret?.value.into(),
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
