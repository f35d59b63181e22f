//! The sections `bosh`, `bosh_credhub`, `credhub` and `service_instances_api`: where these upstreams are, and how to
//! authenticate there.

use std::fmt;

use odb_clients::{
    credhub::{CredHubClient, CredentialName},
    director::{Credentials, Director},
    http::{ClientError, check_address},
};
use secrecy::SecretString;

use super::{
    Verification,
    catalog::Offering,
    findings::AlreadyReported,
    section::{Found, Section},
};

/// The address of an upstream.
///
/// It is displayed without its query, which may contain secrets for some proxies; names and passwords are rejected.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// An address from outside of a file.
    ///
    /// # Errors
    ///
    /// It is unusable. The error repeats no part of it.
    pub fn of(text: &str) -> Result<Self, ClientError> {
        check_address(text).map(|()| Self(text.to_owned()))
    }

    /// The address as it is written, query included.
    pub fn as_written(&self) -> &str {
        &self.0
    }

    /// A required address. `right` describes the expected value.
    pub(super) fn required(section: &Section<'_>, key: &str, right: &str) -> Option<Self> {
        Self::read(section, section.required_text(key, right)?)
    }

    /// An address that was found.
    pub(super) fn read(section: &Section<'_>, found: Found<String>) -> Option<Self> {
        Self::checked(section, found, check_address)
    }

    fn checked(
        section: &Section<'_>,
        found: Found<String>,
        check: fn(&str) -> Result<(), ClientError>,
    ) -> Option<Self> {
        let why = match check(&found.value) {
            Ok(()) => return Some(Self(found.value)),
            Err(ClientError::Address { source }) => source.to_string(),
            Err(_) => {
                "it has no host, a scheme other than `https` and `http`, or a name or password in it"
                    .to_owned()
            }
        };
        let right = "give `https://HOST:PORT`, or HOST alone";
        section.refuse_value(&found, (format!("is not a valid address: {why}"), right))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.trim().split(['?', '#']).next().unwrap_or_default();
        f.write_str(shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(&self.to_string()).finish()
    }
}

/// Reads `client_id` and `client_secret`. `whose` describes the client for the error.
///
/// Some documents of the Go broker call the second one `secret`, which it does not read.
pub(super) fn client(section: &Section<'_>, whose: &str) -> Option<(String, SecretString)> {
    let client_id = section.required_text("client_id", whose);
    let is_spelled_right = section.has_value("client_secret");
    let secret = section.text("secret");
    if let Some(secret) = &secret {
        let text = if is_spelled_right {
            ("is ignored beside `client_secret`", "remove it")
        } else {
            let right = "spell it so, for that is the key's name";
            ("is read as `client_secret`", right)
        };
        section.warn_value(secret, text);
    }
    let client_secret = secret
        .filter(|_| !is_spelled_right)
        .or_else(|| section.required_text("client_secret", "that client's secret"));
    section.warn_unknown_keys();
    Some((client_id?.value, client_secret?.value.into()))
}

/// Reads `username` and `password`. `whose` describes the user for the error.
pub(super) fn user(section: &Section<'_>, whose: &str) -> Option<(String, SecretString)> {
    let username = section.required_text("username", whose);
    let password = section.required_text("password", "that user's password");
    section.warn_unknown_keys();
    Some((username?.value, password?.value.into()))
}

/// The Director.
#[derive(Debug)]
pub struct Bosh {
    /// Host and port; the scheme is always https, the port 25555 unless given.
    pub url: Address,
    /// The only trust root for Director and BOSH UAA when present, else the operating system's.
    pub root_ca_cert: Option<String>,
    /// How to authenticate.
    pub credentials: Credentials,
}

pub(super) fn bosh(section: &Section<'_>) -> Option<Bosh> {
    let right = "the address of the Director, such as `https://10.0.0.6:25555`";
    // Its scheme does not matter, as to the Go broker.
    let url = section
        .required_text("url", right)
        .and_then(|found| Address::checked(section, found, Director::check_address));
    let root_ca_cert = section.plain_text("root_ca_cert");
    let credentials = director_credentials(&section.section("authentication"));
    section.warn_unknown_keys();
    Some(Bosh {
        url: url?,
        root_ca_cert,
        credentials: credentials?,
    })
}

fn director_credentials(section: &Section<'_>) -> Option<Credentials> {
    let (basic, uaa) = (section.section("basic"), section.section("uaa"));
    section.warn_unknown_keys();
    match (basic.holds_a_value(), uaa.holds_a_value()) {
        (true, true) => section.refuse("uaa", ("conflicts with `basic`", "give one of the two")),
        (false, false) => {
            let right = "give `uaa.client_credentials` or `basic`";
            section.refuse("uaa", ("is missing", right))
        }
        (true, false) => {
            let (username, password) = user(&basic, "a user of the Director")?;
            Some(Credentials::Basic { username, password })
        }
        (false, true) => {
            let credentials = uaa.section("client_credentials");
            let has_user = uaa.section("user_credentials").holds_a_value();
            uaa.warn_unknown_keys();
            if has_user {
                let right = "give `client_credentials` with a client of its UAA";
                let text = ("cannot be used for a Director", right);
                uaa.refuse::<()>("user_credentials", text);
                if !credentials.holds_a_value() {
                    return None;
                }
            }
            let (client_id, client_secret) =
                client(&credentials, "a client of the Director's UAA")?;
            Some(Credentials::Uaa {
                client_id,
                client_secret,
            })
        }
    }
}

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
pub(super) fn bosh_credhub(root: &Section<'_>) -> Result<Option<CredHubAccess>, AlreadyReported> {
    let broker = root.section("broker");
    let section = root.section("bosh_credhub");
    let enabled = broker.optional_flag("enable_secure_manifests");
    let Some(enabled) = enabled.filter(|found| found.value) else {
        return Ok(None);
    };
    if !broker.flag("use_stdin") {
        let text = (
            "is true, and `broker.use_stdin` is false: the broker does not pass secrets as arguments",
            "set `use_stdin` to true, or this to false",
        );
        broker.refuse_value::<(), _>(&enabled, text);
        return Err(AlreadyReported);
    }
    let access = credhub_access(&section, root.section("bosh").plain_text("root_ca_cert"));
    access.map(Some).ok_or(AlreadyReported)
}

fn credhub_access(
    section: &Section<'_>,
    root_of_director: Option<String>,
) -> Option<CredHubAccess> {
    let url = Address::required(
        section,
        "url",
        "the address of the Director's CredHub, such as `https://10.0.0.6:8844`; `broker.enable_secure_manifests` needs it",
    );
    let root_ca_cert = section.plain_text("root_ca_cert");
    let authentication = section.section("authentication");
    let uaa = authentication.section("uaa");
    let client = client(
        &uaa.section("client_credentials"),
        "a client of the UAA of the Director's CredHub, with `credhub.read` and `credhub.write`",
    );
    for section in [&uaa, &authentication, section] {
        section.warn_unknown_keys();
    }
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

/// Reads `credhub`, which any value switches on, as with the Go broker.
pub(super) fn runtime_credhub(section: &Section<'_>) -> Option<RuntimeCredHub> {
    let url = Address::required(
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
    Some(RuntimeCredHub {
        url: url?,
        client: CredHubClient {
            client_id: client_id?.value,
            client_secret: client_secret?.value.into(),
        },
        ca_cert,
        uaa_ca_cert,
    })
}

/// Whether the section `credhub` and the catalog go together.
pub(super) fn check_catalog(
    credhub: Option<&RuntimeCredHub>,
    catalog: &Section<'_>,
    offering: &Offering,
) {
    if credhub.is_none() && offering.bindings_retrievable {
        let right = "metadata of bindings is stored in the runtime CredHub: configure `credhub`, or remove this key";
        catalog.refuse::<()>("bindings_retrievable", ("is true", right));
    }
    let is_nameable = CredentialName::try_from(format!("/c/{}", offering.id)).is_ok();
    if credhub.is_some() && !is_nameable {
        let wrong = "cannot be part of a name in CredHub, where `credhub` stores the credentials of bindings: names have letters, digits and `-_/.:,()[]+`";
        catalog.refuse::<()>("id", (wrong, ""));
    }
}

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

/// Reads `service_instances_api`; it is there when it has a `url`.
pub(super) fn service_instances_api(section: &Section<'_>) -> Option<ServiceInstancesApi> {
    let url = section.text("url");
    let root_ca_cert = section.plain_text("root_ca_cert");
    let verification = Verification::read([section]);
    let authentication = section.section("authentication");
    let basic = authentication.section("basic");
    let username = basic.plain_text("username");
    let password = basic.plain_text("password");
    for section in [&basic, &authentication, section] {
        section.warn_unknown_keys();
    }
    let Some(url) = url else {
        if root_ca_cert.is_some() || username.is_some() || password.is_some() {
            let wrong = "is missing, so the section has no effect";
            section.warning("url", (wrong, "give it or remove the section"));
        }
        return None;
    };
    Some(ServiceInstancesApi {
        url: Address::read(section, url)?,
        root_ca_cert,
        verification,
        username: username.unwrap_or_default(),
        password: password.unwrap_or_default().into(),
    })
}
