//! The rights that each feature needs: the list that `doctor` checks (`docs/operators/permissions.md`,
//! `spec/contracts/platform-apis.md` §1.6).

use std::collections::BTreeSet;

use odb_clients::{
    cloud_controller::SEES_ALL,
    credhub::PermittedOperation,
    director::Credentials,
    uaa::{ClientRights, Grant, Token},
};

use crate::preflight::context::Context;

/// The scopes for a CredHub; both are needed.
pub(crate) const CREDHUB_SCOPES: [&str; 2] = ["credhub.read", "credhub.write"];

/// The broker's operations in its folder of the Director's CredHub.
pub(crate) const WITH_SECRETS: [PermittedOperation; 3] = [
    PermittedOperation::Read,
    PermittedOperation::Write,
    PermittedOperation::Delete,
];

/// The broker's operations in its folder of the runtime CredHub: it also grants read access to applications.
pub(crate) const WITH_CREDENTIALS: [PermittedOperation; 5] = [
    PermittedOperation::Read,
    PermittedOperation::Write,
    PermittedOperation::Delete,
    PermittedOperation::ReadAcl,
    PermittedOperation::WriteAcl,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DirectorRights {
    /// Everything, by this scope.
    Everything(String),
    /// All rights on the resources of these teams.
    Teams(Vec<String>),
    Reading,
    Nothing,
}

impl DirectorRights {
    /// Of these scopes at the Director of this UUID.
    pub(crate) fn of(scopes: &[String], uuid: &str) -> Self {
        let everything = ["bosh.admin".to_owned(), format!("bosh.{uuid}.admin")];
        if let Some(scope) = scopes.iter().find(|scope| everything.contains(scope)) {
            return Self::Everything(scope.clone());
        }
        let of_team = |right: &str| -> Vec<String> {
            let suffix = format!(".{right}");
            scopes
                .iter()
                .filter_map(|scope| scope.strip_prefix("bosh.teams.")?.strip_suffix(&suffix))
                .map(str::to_owned)
                .collect()
        };
        let teams = of_team("admin");
        if !teams.is_empty() {
            return Self::Teams(teams);
        }
        let reading = ["bosh.read".to_owned(), format!("bosh.{uuid}.read")];
        if scopes.iter().any(|scope| reading.contains(scope)) || !of_team("read").is_empty() {
            Self::Reading
        } else {
            Self::Nothing
        }
    }
}

/// Whether the scopes are an administrator's at some Director, of everything or of a team.
pub(crate) fn is_admin_at_a_director(scopes: &[String]) -> bool {
    let whose = |scope: &String| -> Option<bool> {
        let whose = scope.strip_prefix("bosh")?.strip_suffix(".admin")?;
        Some(whose.is_empty() || whose.starts_with('.'))
    };
    scopes.iter().filter_map(whose).any(|is_admin| is_admin)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloudControllerRights {
    Everything,
    LooksAtAll,
    /// To look at the spaces in which the bearer has a role.
    LooksAtParts,
    Nothing,
}

impl CloudControllerRights {
    pub(crate) fn of(scopes: &[String]) -> Self {
        let has = |wanted: &str| scopes.iter().any(|scope| scope == wanted);
        if has("cloud_controller.admin") {
            Self::Everything
        } else if SEES_ALL.into_iter().any(has) {
            Self::LooksAtAll
        } else if has("cloud_controller.read") {
            Self::LooksAtParts
        } else {
            Self::Nothing
        }
    }
}

/// The missing scopes, in words such as `credhub.read`.
pub(crate) fn missing<'a>(needed: &[&'a str], scopes: &[String]) -> Vec<&'a str> {
    let lacks = |wanted: &&&str| scopes.iter().all(|scope| scope != **wanted);
    needed.iter().filter(lacks).copied().collect()
}

/// The operations to permit: those needed, and reading permissions. Existing ones are included, because a new
/// permission replaces the former one.
pub(crate) fn to_permit(
    needed: &[PermittedOperation],
    permitted: &BTreeSet<PermittedOperation>,
) -> Vec<String> {
    let mut wanted = permitted.clone();
    wanted.extend(needed);
    wanted.insert(PermittedOperation::ReadAcl);
    wanted.iter().map(ToString::to_string).collect()
}

pub(crate) fn not_permitted(
    needed: &[PermittedOperation],
    permitted: &BTreeSet<PermittedOperation>,
) -> Vec<String> {
    let lacking = needed.iter().filter(|needed| !permitted.contains(needed));
    lacking.map(ToString::to_string).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Director,
    Platform,
}

/// The authorities that one side's clients need at their UAA. `uaac client update` replaces the complete list, so every
/// command has all that the client has and all that it lacks, for every upstream: the commands can be run in any order.
#[derive(Clone, Copy)]
pub(crate) struct Grants<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) side: Side,
}

impl Grants<'_> {
    /// The command that adds the missing authorities to a client, and keeps those of its token.
    pub(crate) fn update(self, client: &str, token: &Token) -> String {
        // `uaa.none` means no authority.
        let held = token.scopes().iter().map(String::as_str);
        let mut authorities: Vec<&str> = held.filter(|scope| *scope != "uaa.none").collect();
        let credhub = match self.side {
            Side::Director => {
                authorities.extend(self.lacking_at_the_director(client, token));
                let access = self.context.bosh_credhub.right();
                access.map(|access| &access.client)
            }
            Side::Platform => {
                authorities.extend(self.lacking_at_the_cloud_controller(client, token));
                let section = self.context.runtime_credhub.right();
                section.map(|section| &section.client)
            }
        };
        if credhub.is_some_and(|known| known.client_id == client) {
            authorities.extend(missing(&CREDHUB_SCOPES, token.scopes()));
        }
        format!(
            "uaac client update {client} --authorities {}",
            authorities.join(",")
        )
    }

    fn lacking_at_the_director(self, client: &str, token: &Token) -> Option<&'static str> {
        let bosh = self.context.bosh.right()?;
        let is_needed = matches!(&bosh.credentials, Credentials::Uaa { client_id, .. } if client_id == client)
            && !is_admin_at_a_director(token.scopes());
        is_needed.then_some("bosh.teams.TEAM.admin")
    }

    fn lacking_at_the_cloud_controller(self, client: &str, token: &Token) -> Vec<&'static str> {
        let mut lacking = Vec::new();
        let Some(cf) = self.context.cloud_foundry.right() else {
            return lacking;
        };
        if !matches!(&cf.credentials, Grant::ClientCredentials { client_id, .. } if client_id == client)
        {
            return lacking;
        }
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
        lacking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn an_admin_at_a_director_is_one_of_everything_or_of_a_part() {
        for (text, is_admin) in [
            ("bosh.admin", true),
            ("uaa.none bosh.u-1.admin", true),
            ("bosh.teams.a.admin", true),
            ("bosh.teams.a.read bosh.read", false),
            ("boshy.admin cloud_controller.admin", false),
            ("", false),
        ] {
            assert_eq!(is_admin_at_a_director(&scopes(text)), is_admin, "{text}");
        }
    }

    #[test]
    fn at_a_director_only_admins_of_all_or_of_a_team_may_deploy() {
        let teams = |teams: &[&str]| {
            DirectorRights::Teams(teams.iter().map(|team| (*team).to_owned()).collect())
        };
        for (text, rights) in [
            (
                "bosh.admin",
                DirectorRights::Everything("bosh.admin".to_owned()),
            ),
            (
                "bosh.u-1.admin",
                DirectorRights::Everything("bosh.u-1.admin".to_owned()),
            ),
            ("bosh.u-2.admin", DirectorRights::Nothing),
            ("bosh.teams.a.admin bosh.teams.b.admin", teams(&["a", "b"])),
            ("bosh.teams.a.read bosh.teams.b.admin", teams(&["b"])),
            ("bosh.teams.a.read", DirectorRights::Reading),
            ("bosh.read", DirectorRights::Reading),
            ("bosh.u-1.read uaa.none", DirectorRights::Reading),
            ("cloud_controller.admin", DirectorRights::Nothing),
            ("", DirectorRights::Nothing),
        ] {
            assert_eq!(DirectorRights::of(&scopes(text), "u-1"), rights, "{text}");
        }
    }

    #[test]
    fn at_a_cloud_controller_reading_alone_shows_parts() {
        for (text, rights) in [
            (
                "cloud_controller.admin cloud_controller.read",
                CloudControllerRights::Everything,
            ),
            (
                "cloud_controller.global_auditor",
                CloudControllerRights::LooksAtAll,
            ),
            (
                "cloud_controller.admin_read_only",
                CloudControllerRights::LooksAtAll,
            ),
            (
                "cloud_controller.read cloud_controller.write",
                CloudControllerRights::LooksAtParts,
            ),
            ("cloud_controller.write", CloudControllerRights::Nothing),
            ("clients.admin", CloudControllerRights::Nothing),
        ] {
            assert_eq!(CloudControllerRights::of(&scopes(text)), rights, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_reported_one_by_one() {
        assert_eq!(
            missing(&CREDHUB_SCOPES, &scopes("credhub.read")),
            ["credhub.write"]
        );
        assert!(missing(&CREDHUB_SCOPES, &scopes("credhub.read credhub.write")).is_empty());
        let permitted = [PermittedOperation::Read, PermittedOperation::Delete].into();
        assert_eq!(not_permitted(&WITH_SECRETS, &permitted), ["write"]);
    }

    #[test]
    fn existing_permissions_stay_and_no_needless_permission_is_given() {
        let all = ["read", "write", "delete", "read_acl"];
        assert_eq!(to_permit(&WITH_SECRETS, &BTreeSet::new()), all);
        let permitted = [PermittedOperation::Read, PermittedOperation::WriteAcl].into();
        assert_eq!(
            to_permit(&WITH_SECRETS, &permitted),
            ["read", "write", "delete", "read_acl", "write_acl"]
        );
    }
}
