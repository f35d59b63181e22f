//! The authorities that a client needs at its UAA. `uaac client update` replaces the complete list, so every command
//! has all that the client has and all that it lacks, for every upstream: the commands can be run in any order.

use odb_clients::{
    director::Credentials,
    uaa::{ClientRights, Grant, Token},
};
use odb_config::Sections;

use crate::preflight::uaa::rights::{
    CREDHUB_SCOPES, CloudControllerRights, is_admin_at_a_director, missing,
};

/// Of which foundation a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Director,
    Platform,
}

/// The needs of one side's clients.
#[derive(Clone, Copy)]
pub(crate) struct Grants<'a> {
    pub(crate) sections: &'a Sections,
    pub(crate) side: Side,
}

impl Grants<'_> {
    /// The command that adds the missing authorities to a client, and keeps those of its token.
    pub(crate) fn update(self, client: &str, token: &Token) -> String {
        // `uaa.none` means no authority.
        let held = token.scopes().iter().map(String::as_str);
        let mut authorities: Vec<&str> = held.filter(|scope| *scope != "uaa.none").collect();
        authorities.extend(self.lacking(client, token));
        format!(
            "uaac client update {client} --authorities {}",
            authorities.join(",")
        )
    }

    fn lacking(self, client: &str, token: &Token) -> Vec<&'static str> {
        match self.side {
            Side::Director => self.lacking_at_the_directors_uaa(client, token),
            Side::Platform => self.lacking_at_the_platforms_uaa(client, token),
        }
    }

    fn lacking_at_the_directors_uaa(self, client: &str, token: &Token) -> Vec<&'static str> {
        let mut lacking = Vec::new();
        let bosh = self.sections.bosh.right().map(|bosh| &bosh.credentials);
        if let Some(Credentials::Uaa { client_id, .. }) = bosh
            && client_id == client
            && !is_admin_at_a_director(token.scopes())
        {
            lacking.push("bosh.teams.TEAM.admin");
        }
        if let Some(access) = self.sections.bosh_credhub.right()
            && access.client.client_id == client
        {
            lacking.extend(missing(&CREDHUB_SCOPES, token.scopes()));
        }
        lacking
    }

    fn lacking_at_the_platforms_uaa(self, client: &str, token: &Token) -> Vec<&'static str> {
        let mut lacking = Vec::new();
        if let Some(cf) = self.sections.cloud_foundry.right()
            && let Grant::ClientCredentials { client_id, .. } = &cf.credentials
            && client_id == client
        {
            match CloudControllerRights::of(token.scopes()) {
                CloudControllerRights::Everything | CloudControllerRights::LooksAtAll => {}
                CloudControllerRights::LooksAtParts | CloudControllerRights::Nothing => {
                    lacking.push("cloud_controller.admin");
                }
            }
            if let Some(definition) = &cf.client_definition {
                match ClientRights::of(token) {
                    ClientRights::All => {}
                    ClientRights::Limited if !definition.needs_an_administrator() => {}
                    ClientRights::Limited | ClientRights::Lacking | ClientRights::Unknown => {
                        lacking.push("clients.admin");
                    }
                }
            }
        }
        if let Some(section) = self.sections.runtime_credhub.right()
            && section.client.client_id == client
        {
            lacking.extend(missing(&CREDHUB_SCOPES, token.scopes()));
        }
        lacking
    }
}
