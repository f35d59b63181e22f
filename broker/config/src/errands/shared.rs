//! The sections `broker_api` and `cf`.

use secrecy::SecretString;

use crate::{
    Address, PlatformCredentials, Verification, address, client_credentials, problems::Faulty,
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
    pub credentials: PlatformCredentials,
}

/// What the Go errands say when one of the three is missing, which ours say with the place.
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
    let ca_cert = tls.text("ca_cert").map(|found| found.value);
    let verification = verification([&tls]);
    for section in [&section, &authentication, &basic, &tls] {
        section.remark_unknown_keys();
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
        Err(Faulty) => None,
    }
}

/// Reads `cf`, which may be missing: a file that was rendered without one has all keys, with nulls.
pub(super) fn cloud_foundry(root: &Section<'_>) -> Result<Option<CloudFoundryAccess>, Faulty> {
    let section = root.section("cf");
    let uaa = section.section("uaa");
    let is_empty =
        !section.has_value("url") && !section.has_value("root_ca_cert") && !uaa.holds_a_value();
    let has_switch = root.declares("disable_ssl_cert_verification");
    let verification = verification([&section].into_iter().chain(has_switch.then_some(root)));
    if is_empty {
        return Ok(None);
    }
    let url = address::required(
        &section,
        "url",
        "the address of the Cloud Controller, such as `https://api.example.com`",
    );
    let root_ca_cert = section.text("root_ca_cert").map(|found| found.value);
    let uaa_url = address::required(
        &uaa,
        "url",
        "the address of its UAA, such as `https://uaa.example.com`",
    );
    let credentials = credentials(&uaa.section("authentication"));
    uaa.remark_unknown_keys();
    section.remark_unknown_keys();
    let complete = || {
        Some(CloudFoundryAccess {
            url: url?,
            uaa_url: uaa_url?,
            root_ca_cert,
            verification,
            credentials: credentials?,
        })
    };
    complete().map(Some).ok_or(Faulty)
}

/// A client is preferred as soon as any of its keys has a value.
fn credentials(section: &Section<'_>) -> Option<PlatformCredentials> {
    let client = section.section("client_credentials");
    let user = section.section("user_credentials");
    section.remark_unknown_keys();
    if client.holds_a_value() {
        if user.holds_a_value() {
            section.remark(
                "user_credentials",
                (
                    "stands beside `client_credentials` and is not used",
                    "give one of the two",
                ),
            );
        }
        let client = client_credentials::read(&client, "a client of the UAA")?;
        return Some(PlatformCredentials::Client {
            client_id: client.client_id,
            client_secret: client.client_secret,
        });
    }
    if !user.holds_a_value() {
        return section.refuse(
            "client_credentials",
            ("is missing", "give it or `user_credentials`"),
        );
    }
    let username = user.required_text("username", "a user of the platform");
    let password = user.required_text("password", "that user's password");
    user.remark_unknown_keys();
    Some(PlatformCredentials::User {
        username: username?.value,
        password: password?.value.into(),
    })
}

/// Verification is off when any of the sections says so; all of them are held against their type.
fn verification<'s, 'd: 's>(sections: impl IntoIterator<Item = &'s Section<'d>>) -> Verification {
    let switches: Vec<bool> = sections
        .into_iter()
        .map(|section| section.flag("disable_ssl_cert_verification", false))
        .collect();
    if switches.contains(&true) {
        Verification::Off
    } else {
        Verification::On
    }
}
