//! The sections `broker_api` and `cf`.

use odb_clients::uaa::Grant;
use secrecy::SecretString;

use crate::{
    Address, Verification, address,
    cloud_foundry::{credentials, servers},
    findings::AlreadyReported,
    section::Section,
};

/// The broker, as an errand reaches it.
#[derive(Debug)]
pub struct BrokerApi {
    /// Its address.
    pub url: Address,
    /// `broker.username` of its configuration.
    pub username: String,
    /// `broker.password` of its configuration.
    pub password: SecretString,
    /// A trust root beside the operating system's.
    pub ca_cert: Option<String>,
    /// Whether its certificate is verified.
    pub verification: Verification,
}

/// The Cloud Controller and its UAA, as an errand reaches them.
#[derive(Debug)]
pub struct CloudFoundryAccess {
    /// The Cloud Controller's address.
    pub url: Address,
    /// The UAA's address.
    pub uaa_url: Address,
    /// A trust root beside the operating system's.
    pub root_ca_cert: Option<String>,
    /// Whether certificates of both are verified.
    pub verification: Verification,
    /// How to authenticate.
    pub credentials: Grant,
}

/// The Go errands' message when one of the three is missing; ours adds the location.
const BROKER_ACCESS: &str =
    "is missing: the brokerUsername, brokerPassword and brokerUrl are required to function";

/// Reads `broker_api`, which must be there.
pub(super) fn broker_api(root: &Section<'_>) -> Option<BrokerApi> {
    let section = root.section("broker_api");
    let required = |section: &Section<'_>, key| {
        section.text(key).or_else(|| {
            if section.has_value(key) {
                None
            } else {
                section.refuse(key, BROKER_ACCESS)
            }
        })
    };
    let url = required(&section, "url").and_then(|found| address::of(&section, found));
    let authentication = section.section("authentication");
    let basic = authentication.section("basic");
    let username = required(&basic, "username");
    let password = required(&basic, "password");
    let tls = section.section("tls");
    let ca_cert = tls.plain_text("ca_cert");
    let verification = Verification::read([&tls]);
    for section in [&section, &authentication, &basic, &tls] {
        section.warn_unknown_keys();
    }
    Some(BrokerApi {
        url: url?,
        username: username?.value,
        password: password?.value.into(),
        ca_cert,
        verification,
    })
}

/// Reads `cf`, which must be there. Verification is also switched at the top of some files.
pub(super) fn required_cloud_foundry(root: &Section<'_>) -> Option<CloudFoundryAccess> {
    match cloud_foundry(root) {
        Ok(Some(access)) => Some(access),
        Ok(None) => root.refuse(
            "cf",
            ("is missing", "give `url`, `uaa.url` and credentials"),
        ),
        Err(AlreadyReported) => None,
    }
}

/// Reads `cf`, which may be missing: a file that was rendered without one has all keys, with nulls.
pub(super) fn cloud_foundry(
    root: &Section<'_>,
) -> Result<Option<CloudFoundryAccess>, AlreadyReported> {
    let section = root.section("cf");
    let uaa = section.section("uaa");
    let is_empty =
        !section.has_value("url") && !section.has_value("root_ca_cert") && !uaa.holds_a_value();
    let has_switch = root.declares("disable_ssl_cert_verification");
    let verification = Verification::read([&section].into_iter().chain(has_switch.then_some(root)));
    if is_empty {
        return Ok(None);
    }
    let (url, root_ca_cert, uaa_url) = servers(&section, &uaa);
    let credentials = credentials(&uaa.section("authentication"), |section| {
        let text = (
            "is not used beside `client_credentials`",
            "give one of the two",
        );
        section.warning("user_credentials", text);
        Some(())
    });
    uaa.warn_unknown_keys();
    section.warn_unknown_keys();
    let complete = || {
        Some(CloudFoundryAccess {
            url: url?,
            uaa_url: uaa_url?,
            root_ca_cert,
            verification,
            credentials: credentials?,
        })
    };
    complete().map(Some).ok_or(AlreadyReported)
}
