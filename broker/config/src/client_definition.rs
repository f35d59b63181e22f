//! The section `cf.uaa.client_definition`: the UAA client of each service instance
//! (`spec/contracts/broker-behaviour.md` §3.10).

use super::section::{Found, Section};

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
pub(super) fn read(uaa: &Section<'_>) -> Option<ClientDefinition> {
    let section = uaa.section("client_definition");
    let grants = section.text("authorized_grant_types");
    let definition = ClientDefinition {
        scopes: list(section.text("scopes").as_ref()),
        authorities: list(section.text("authorities").as_ref()),
        authorized_grant_types: list(grants.as_ref()),
        resource_ids: list(section.text("resource_ids").as_ref()),
        name: section.plain_text("name"),
        allow_public: section.flag("allowpublic", false),
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
            section.warn_here(
                ("has neither `authorized_grant_types` nor `scopes`, `authorities` or `resource_ids`; no instance would get a UAA client", "give them or remove it"),
            );
        }
        return None;
    }
    let Some(grants) = grants.filter(|_| !definition.authorized_grant_types.is_empty()) else {
        return section.refuse(
            "authorized_grant_types",
            (
                "is missing, and a UAA registers no client without",
                "give them, such as `client_credentials` or `authorization_code`",
            ),
        );
    };
    check_grants(&section, &grants, &definition)?;
    Some(definition)
}

/// Warns of a definition that is not used, with a remedy. The Go broker does not warn.
pub(super) fn warn_unused(uaa: &Section<'_>, (why, remedy): (&str, &str)) {
    let section = uaa.section("client_definition");
    if section.holds_a_value() {
        section.warn_here((
            format!("is not used, no service instance gets a UAA client: {why}"),
            remedy,
        ));
    }
}

fn check_grants(
    section: &Section<'_>,
    grants: &Found<String>,
    definition: &ClientDefinition,
) -> Option<()> {
    for grant in &definition.authorized_grant_types {
        if GRANTS.contains(&grant.as_str()) {
            continue;
        }
        let nearest = GRANTS
            .into_iter()
            .map(|known| (strsim::damerau_levenshtein(known, grant), known))
            .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
            .min();
        let text = match nearest {
            Some((_, known)) => (
                format!("has `{grant}`, which no UAA is known to take"),
                format!("is `{known}` meant?"),
            ),
            None => (
                format!("has `{grant}`, which no UAA is known to take"),
                format!("known are {}", GRANTS.join(", ")),
            ),
        };
        section.warn_value(grants, text);
    }
    if definition.has_grant("implicit") && definition.has_grant("client_credentials") {
        return section.refuse_value(
            grants,
            ("has `implicit`, whose clients must not have a secret, and `client_credentials`, whose clients need one", "a UAA refuses that, leave one of them out"),
        );
    }
    if definition.allow_public && definition.has_grant("client_credentials") {
        section.warn_value(
            grants,
            ("has `client_credentials` beside `allowpublic`: the secret of a public client is known (`-`), so that anyone who knows an instance's id has its client's authorities", "leave one of them out"),
        );
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
