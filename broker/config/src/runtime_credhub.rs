//! The section `credhub`: the CredHub of applications, which keeps the credentials of bindings.

use odb_clients::credhub::{CredHubClient, CredentialName};

use super::{
    address::{self, Address},
    catalog::Offering,
    findings::AlreadyReported,
    section::Section,
};

/// The CredHub of applications, and the broker's client for it.
#[derive(Debug)]
pub struct RuntimeCredHub {
    /// Where it is.
    pub url: Address,
    /// A client of the UAA that CredHub names.
    pub client: CredHubClient,
    /// CredHub's authority, beside those of the operating system.
    pub ca_cert: Option<String>,
    /// The authority of its UAA, beside those of the operating system.
    pub uaa_ca_cert: Option<String>,
}

/// Reads the section. Any value switches it on, as with the Go broker, and then it has to be complete.
pub(super) fn read(section: &Section<'_>) -> Result<Option<RuntimeCredHub>, AlreadyReported> {
    if !section.holds_a_value() {
        return Ok(None);
    }
    let url = address::required(
        section,
        "api_url",
        "the address of the runtime CredHub, such as `https://credhub.service.cf.internal:8844`",
    );
    let client_id = section.required_text(
        "client_id",
        "a client of the platform's UAA with the authorities `credhub.read` and `credhub.write`",
    );
    let client_secret = section.required_text("client_secret", "that client's secret");
    let ca_cert = section.plain_text("ca_cert");
    let uaa_ca_cert = section.plain_text("internal_uaa_ca_cert");
    section.warn_unknown_keys();
    match (url, client_id, client_secret) {
        (Some(url), Some(client_id), Some(client_secret)) => Ok(Some(RuntimeCredHub {
            url,
            client: CredHubClient {
                client_id: client_id.value,
                client_secret: client_secret.value.into(),
            },
            ca_cert,
            uaa_ca_cert,
        })),
        _ => Err(AlreadyReported),
    }
}

/// Whether section and catalog go together.
pub(super) fn check_catalog(
    credhub: Option<&RuntimeCredHub>,
    catalog: &Section<'_>,
    offering: &Offering,
) {
    if credhub.is_none() && offering.bindings_retrievable {
        catalog.refuse::<()>(
            "bindings_retrievable",
            ("is true", "metadata of bindings is stored in the runtime CredHub: configure `credhub`, or remove this key"),
        );
    }
    let is_nameable = CredentialName::try_from(format!("/c/{}", offering.id)).is_ok();
    if credhub.is_some() && !is_nameable {
        catalog.refuse::<()>(
            "id",
            "cannot be part of a name in CredHub, where `credhub` stores the credentials of bindings: names have letters, digits and `-_/.:,()[]+`",
        );
    }
}
