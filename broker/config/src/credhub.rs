//! A CredHub and the broker's client for it, and the section `bosh_credhub`: the Director's CredHub, which stores the
//! secrets of service instances.

use odb_clients::credhub::CredHubClient;

use super::{
    address::{self, Address},
    client_credentials,
    findings::AlreadyReported,
    section::Section,
};

/// A CredHub and the broker's client for it.
#[derive(Debug)]
pub struct CredHubAccess {
    /// Its address, port included.
    pub url: Address,
    /// Trust roots for it and its UAA beside the operating system's: certificates in PEM form, of several keys one
    /// after the other.
    pub ca_certs: Option<String>,
    /// The client of its UAA.
    pub client: CredHubClient,
}

/// Reads `broker.enable_secure_manifests` and, where that is set, `bosh_credhub`; the Director's own trust root is good
/// for its CredHub, too.
///
/// The release renders the section whether or not secure manifests are on: without them it means nothing.
pub(super) fn read_of_director(
    root: &Section<'_>,
) -> Result<Option<CredHubAccess>, AlreadyReported> {
    let broker = root.section("broker");
    let section = root.section("bosh_credhub");
    let Some(enabled) = broker
        .optional_flag("enable_secure_manifests")
        .filter(|found| found.value)
    else {
        return Ok(None);
    };
    if !broker.flag("use_stdin", true) {
        broker.refuse_value::<(), _>(
            &enabled,
            (
                "is true, and `broker.use_stdin` is false: the broker does not pass secrets as arguments",
                "set `use_stdin` to true, or this to false",
            ),
        );
        return Err(AlreadyReported);
    }
    let access = access(&section, root.section("bosh").plain_text("root_ca_cert"));
    access.map(Some).ok_or(AlreadyReported)
}

fn access(section: &Section<'_>, root_of_director: Option<String>) -> Option<CredHubAccess> {
    let url = address::required(
        section,
        "url",
        "the address of the Director's CredHub, such as `https://10.0.0.6:8844`; `broker.enable_secure_manifests` needs it",
    );
    let root_ca_cert = section.plain_text("root_ca_cert");
    let authentication = section.section("authentication");
    let uaa = authentication.section("uaa");
    let client = client_credentials::read(
        &uaa.section("client_credentials"),
        "a client of the UAA of the Director's CredHub, with `credhub.read` and `credhub.write`",
    );
    uaa.warn_unknown_keys();
    authentication.warn_unknown_keys();
    section.warn_unknown_keys();
    let (client_id, client_secret) = client?;
    let certificates: Vec<String> = root_ca_cert.into_iter().chain(root_of_director).collect();
    Some(CredHubAccess {
        url: url?,
        ca_certs: (!certificates.is_empty()).then(|| certificates.join("\n")),
        client: CredHubClient {
            client_id,
            client_secret,
        },
    })
}
