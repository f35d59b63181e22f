//! The section `cf`: where the Cloud Controller is, how to authenticate there, and the UAA client of each service instance
//! (`spec/contracts/broker-behaviour.md` §3.10).

use odb_clients::uaa::Grant;

use super::{
    findings::AlreadyReported,
    section::{Found, Section, nearest},
    upstreams::{self, Address},
};

/// The ways to ask for a token that a UAA knows.
const GRANTS: [&str; 9] = [
    "authorization_code",
    "client_credentials",
    "implicit",
    "password",
    "refresh_token",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "urn:ietf:params:oauth:grant-type:saml2-bearer",
    "urn:ietf:params:oauth:grant-type:token-exchange",
    "user_token",
];

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
    /// `broker.disable_cf_startup_checks` is set: the Cloud Controller is used, and not checked at the start for its
    /// version, the credentials, and plans in use that the configuration lacks.
    pub skips_checks: bool,
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
        let is_off = |section: &Section<'_>| section.flag("disable_ssl_cert_verification");
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
    let (broker, section) = (root.section("broker"), root.section("cf"));
    let skips_checks = broker.flag("disable_cf_startup_checks");
    let is_listed_elsewhere = root.section("service_instances_api").has_value("url");
    if is_listed_elsewhere && !section.holds_a_value() {
        return Ok(None);
    }
    if skips_checks && !is_complete(&section) {
        if section.holds_a_value() {
            let why = ("`cf` is not complete", "complete it");
            warn_unused_definition(&section.section("uaa"), why);
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
    cloud_foundry(&section, verification, skips_checks)
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
    skips_checks: bool,
) -> Option<CloudFoundry> {
    let uaa = section.section("uaa");
    let (url, root_ca_cert, uaa_url) = servers(section, &uaa);
    let credentials = credentials(&uaa.section("authentication"), |section| {
        let text = ("conflicts with `client_credentials`", "give one of the two");
        section.refuse("user_credentials", text)
    });
    let client_definition = if let Some(Grant::Password { .. }) = &credentials {
        let right = "give `authentication.client_credentials`";
        warn_unused_definition(&uaa, ("only a client may administer clients", right));
        None
    } else {
        client_definition(&uaa)
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
        skips_checks,
    })
}

/// The Cloud Controller's address, a trust root, and the UAA's address.
pub(super) fn servers(
    section: &Section<'_>,
    uaa: &Section<'_>,
) -> (Option<Address>, Option<String>, Option<Address>) {
    let right = "the address of the Cloud Controller, such as `https://api.example.com`";
    let url = Address::required(section, "url", right);
    let root_ca_cert = section.plain_text("root_ca_cert");
    let right = "the address of its UAA, such as `https://uaa.example.com`";
    (url, root_ca_cert, Address::required(uaa, "url", right))
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
            let (username, password) = upstreams::user(&user, "a user of the platform")?;
            return Some(Grant::Password { username, password });
        }
    }
    let (client_id, client_secret) = upstreams::client(&client, "a client of the UAA")?;
    Some(Grant::ClientCredentials {
        client_id,
        client_secret,
    })
}

/// The definition of a service instance's UAA client.
///
/// `ODB_SPACE_GUID` in scopes, resource ids and authorities is replaced by the GUID of the instance's space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientDefinition {
    /// Its scopes for users.
    pub scopes: Vec<String>,
    /// Its own authorities.
    pub authorities: Vec<String>,
    /// How it may ask for tokens.
    pub authorized_grant_types: Vec<String>,
    /// The audience of its tokens.
    pub resource_ids: Vec<String>,
    /// Its name; the instance's name if absent.
    pub name: Option<String>,
    /// Whether it may do without its secret.
    pub allow_public: bool,
}

impl ClientDefinition {
    /// Whether it grants rights that only an administrator of clients may grant (`spec/contracts/platform-apis.md`
    /// §1.5).
    pub fn needs_an_administrator(&self) -> bool {
        let gives_rights = !self.authorities.is_empty() || !self.scopes.is_empty();
        gives_rights || self.has_grant("password")
    }

    /// Whether clients may ask for tokens in this way.
    pub fn has_grant(&self, grant: &str) -> bool {
        self.authorized_grant_types
            .iter()
            .any(|known| known == grant)
    }
}

/// Reads `client_definition` of `cf.uaa`. It is there when one of its lists is.
fn client_definition(uaa: &Section<'_>) -> Option<ClientDefinition> {
    let section = uaa.section("client_definition");
    let grants = section.text("authorized_grant_types");
    let definition = ClientDefinition {
        scopes: list(section.text("scopes").as_ref()),
        authorities: list(section.text("authorities").as_ref()),
        authorized_grant_types: list(grants.as_ref()),
        resource_ids: list(section.text("resource_ids").as_ref()),
        name: section.plain_text("name"),
        allow_public: section.flag("allowpublic"),
    };
    section.warn_unknown_keys();
    let lists = [
        &definition.scopes,
        &definition.authorities,
        &definition.authorized_grant_types,
        &definition.resource_ids,
    ];
    if lists.into_iter().all(Vec::is_empty) {
        if section.holds_a_value() {
            let wrong = "has neither `authorized_grant_types` nor `scopes`, `authorities` or `resource_ids`; no instance would get a UAA client";
            section.warn_here((wrong, "give them or remove it"));
        }
        return None;
    }
    let Some(grants) = grants.filter(|_| !definition.authorized_grant_types.is_empty()) else {
        let wrong = "is missing, and a UAA registers no client without";
        let right = "give them, such as `client_credentials` or `authorization_code`";
        return section.refuse("authorized_grant_types", (wrong, right));
    };
    check_grants(&section, &grants, &definition)?;
    Some(definition)
}

/// Warns of a definition that is not used, with a remedy. The Go broker does not warn.
fn warn_unused_definition(uaa: &Section<'_>, (why, remedy): (&str, &str)) {
    let section = uaa.section("client_definition");
    if section.holds_a_value() {
        let wrong = format!("is not used, no service instance gets a UAA client: {why}");
        section.warn_here((wrong, remedy));
    }
}

fn check_grants(
    section: &Section<'_>,
    grants: &Found<String>,
    definition: &ClientDefinition,
) -> Option<()> {
    let unknown = definition.authorized_grant_types.iter();
    for grant in unknown.filter(|grant| !GRANTS.contains(&grant.as_str())) {
        let right = match nearest(grant, GRANTS) {
            Some(known) => format!("is `{known}` meant?"),
            None => format!("known are {}", GRANTS.join(", ")),
        };
        let wrong = format!("has `{grant}`, which no UAA supports");
        section.warn_value(grants, (wrong, right));
    }
    let has_credentials = definition.has_grant("client_credentials");
    if definition.has_grant("implicit") && has_credentials {
        let wrong = "has `implicit`, whose clients must not have a secret, and `client_credentials`, whose clients need one";
        let text = (wrong, "a UAA refuses that, leave one of them out");
        return section.refuse_value(grants, text);
    }
    if definition.allow_public && has_credentials {
        let wrong = "has `client_credentials` beside `allowpublic`: the secret of a public client is known (`-`), so that anyone who knows an instance's id has its client's authorities";
        section.warn_value(grants, (wrong, "leave one of them out"));
    }
    Some(())
}

fn list(found: Option<&Found<String>>) -> Vec<String> {
    let text = found.map_or("", |found| found.value.as_str());
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}
