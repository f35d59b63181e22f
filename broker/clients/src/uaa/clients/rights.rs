//! The rights of a token on clients.

use crate::uaa::Token;

/// Rights to everything that is done to clients here.
const ADMINISTERS: [&str; 3] = ["clients.admin", "uaa.admin", "zones.uaa.admin"];

/// The rights of a token on the clients of a UAA (`spec/contracts/platform-apis.md`, section 1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientRights {
    /// Everything.
    All,
    /// To look clients up and to write them, but to give them no authorities and no scopes that the writer has not.
    Limited,
    /// Not enough to look after clients: `clients.read` or `clients.write` is missing.
    Lacking,
    /// The UAA does not report them.
    Unknown,
}

impl ClientRights {
    /// The rights that come with a token.
    pub fn of(token: &Token) -> Self {
        Self::of_scopes(token.scopes())
    }

    fn of_scopes(scopes: &[String]) -> Self {
        let has = |wanted: &str| scopes.iter().any(|scope| scope == wanted);
        if scopes.is_empty() {
            Self::Unknown
        } else if ADMINISTERS.into_iter().any(has) {
            Self::All
        } else if has("clients.read") && has("clients.write") {
            Self::Limited
        } else {
            Self::Lacking
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_takes_reading_as_well_unless_everything_is_allowed() {
        for (scopes, rights) in [
            ("clients.admin", ClientRights::All),
            ("cloud_controller.admin uaa.admin", ClientRights::All),
            ("clients.read clients.write", ClientRights::Limited),
            ("clients.write", ClientRights::Lacking),
            ("cloud_controller.admin clients.read", ClientRights::Lacking),
            ("", ClientRights::Unknown),
        ] {
            let listed: Vec<String> = scopes.split_whitespace().map(str::to_owned).collect();
            assert_eq!(ClientRights::of_scopes(&listed), rights, "{scopes}");
        }
    }
}
