//! The section `cf`: where the Cloud Controller is and how to authenticate there.

use odb_clients::uaa::Grant;

use super::{
    address::{self, Address},
    client_credentials,
    client_definition::{self, ClientDefinition},
    findings::AlreadyReported,
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
    pub credentials: Grant,
    /// The definition of each service instance's UAA client; without it instances have none.
    pub client_definition: Option<ClientDefinition>,
    /// Whether the Cloud Controller is checked at the start.
    pub checks: CloudFoundryChecks,
}

/// Whether the Cloud Controller is checked at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudFoundryChecks {
    /// Checks its version, the credentials, and that the configuration has every plan in use.
    Run,
    /// `broker.disable_cf_startup_checks` is set: the Cloud Controller is still used.
    Skipped,
}

/// Whether an upstream's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// As it should be.
    On,
    /// A switch is set; the broker logs a warning.
    Off,
}

impl Verification {
    /// Verification is off if one of the sections turns it off; the types of all are checked.
    pub(super) fn read<'s, 'd: 's>(sections: impl IntoIterator<Item = &'s Section<'d>>) -> Self {
        let is_off = |section: &Section<'_>| section.flag("disable_ssl_cert_verification", false);
        let switches = sections.into_iter().map(is_off);
        if switches.fold(false, |any, is_off| any | is_off) {
            Self::Off
        } else {
            Self::On
        }
    }
}

/// Reads `cf`. With `broker.disable_cf_startup_checks` it may be left out, or be unfinished: the Go broker does not
/// look at it then. It may also be left out where `service_instances_api` lists the instances.
pub(super) fn read(root: &Section<'_>) -> Result<Option<CloudFoundry>, AlreadyReported> {
    let broker = root.section("broker");
    let section = root.section("cf");
    let (skipped, run) = (CloudFoundryChecks::Skipped, CloudFoundryChecks::Run);
    let checks = broker.choose("disable_cf_startup_checks", skipped, run);
    let is_listed_elsewhere = root.section("service_instances_api").has_value("url");
    if is_listed_elsewhere && !section.holds_a_value() {
        return Ok(None);
    }
    if checks == CloudFoundryChecks::Skipped && !is_complete(&section) {
        if section.holds_a_value() {
            client_definition::warn_unused(
                &section.section("uaa"),
                ("`cf` is not complete", "complete it"),
            );
            section.warn_here((
                "is not complete, and not used because `broker.disable_cf_startup_checks` is set",
                "give `url`, `uaa.url` and credentials, or remove it",
            ));
        }
        return Ok(None);
    }
    // The Go broker let each of the two hold for some calls (`spec/contracts/broker-behaviour.md` §9.37). Both are
    // read, so that both are held against their type.
    let verification = Verification::read([&broker, &section]);
    cloud_foundry(&section, verification, checks)
        .map(Some)
        .ok_or(AlreadyReported)
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
    let uaa = section.section("uaa");
    let (url, root_ca_cert, uaa_url) = servers(section, &uaa);
    let credentials = credentials(&uaa.section("authentication"), |section| {
        let text = ("conflicts with `client_credentials`", "give one of the two");
        section.refuse("user_credentials", text)
    });
    let client_definition = match &credentials {
        Some(Grant::Password { .. }) => {
            client_definition::warn_unused(
                &uaa,
                (
                    "only a client may administer clients",
                    "give `authentication.client_credentials`",
                ),
            );
            None
        }
        Some(Grant::ClientCredentials { .. }) | None => client_definition::read(&uaa),
    };
    uaa.warn_unknown_keys();
    section.warn_unknown_keys();
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

/// The Cloud Controller's address, a trust root, and the UAA's address.
pub(super) fn servers(
    section: &Section<'_>,
    uaa: &Section<'_>,
) -> (Option<Address>, Option<String>, Option<Address>) {
    let url = address::required(
        section,
        "url",
        "the address of the Cloud Controller, such as `https://api.example.com`",
    );
    let root_ca_cert = section.plain_text("root_ca_cert");
    let uaa_url = address::required(
        uaa,
        "url",
        "the address of its UAA, such as `https://uaa.example.com`",
    );
    (url, root_ca_cert, uaa_url)
}

/// The credentials for a token. `both` is the finding if a client and a user are present; the client takes precedence.
pub(super) fn credentials(
    section: &Section<'_>,
    both: fn(&Section<'_>) -> Option<()>,
) -> Option<Grant> {
    let client = section.section("client_credentials");
    let user = section.section("user_credentials");
    section.warn_unknown_keys();
    match (client.holds_a_value(), user.holds_a_value()) {
        (true, true) => both(section)?,
        (false, false) => {
            let text = ("is missing", "give it or `user_credentials`");
            return section.refuse("client_credentials", text);
        }
        (true, false) => {}
        (false, true) => {
            let (username, password) = client_credentials::user(&user, "a user of the platform")?;
            return Some(Grant::Password { username, password });
        }
    }
    let (client_id, client_secret) = client_credentials::read(&client, "a client of the UAA")?;
    Some(Grant::ClientCredentials {
        client_id,
        client_secret,
    })
}
