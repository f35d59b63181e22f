//! The section `service_instances_api`: the API that lists the service instances instead of a Cloud Controller.

use secrecy::SecretString;

use super::{
    Verification,
    address::{self, Address},
    section::Section,
};

/// The service instances API, a source of service instances.
///
/// Quotas use its list only without a Cloud Controller (`cf`), because the states of the Cloud Controller are exact.
/// With both, quotas ignore it.
#[derive(Debug)]
pub struct ServiceInstancesApi {
    /// Where the list is.
    pub url: Address,
    /// A trust root beside the operating system's.
    pub root_ca_cert: Option<String>,
    /// Whether its certificate is verified.
    pub verification: Verification,
    /// Sent also when empty, as by the Go broker.
    pub username: String,
    /// Sent also when empty.
    pub password: SecretString,
}

/// Reads the section; it is there when it has a `url`.
pub(super) fn read(section: &Section<'_>) -> Option<ServiceInstancesApi> {
    let url = section.text("url");
    let root_ca_cert = section.plain_text("root_ca_cert");
    let verification = Verification::read([section]);
    let authentication = section.section("authentication");
    let basic = authentication.section("basic");
    let username = basic.plain_text("username");
    let password = basic.plain_text("password");
    basic.warn_unknown_keys();
    authentication.warn_unknown_keys();
    section.warn_unknown_keys();
    let Some(url) = url else {
        if root_ca_cert.is_some() || username.is_some() || password.is_some() {
            let text = (
                "is missing, so that the section means nothing",
                "give it or remove the section",
            );
            section.warning("url", text);
        }
        return None;
    };
    Some(ServiceInstancesApi {
        url: address::of(section, url)?,
        root_ca_cert,
        verification,
        username: username.unwrap_or_default(),
        password: password.unwrap_or_default().into(),
    })
}
