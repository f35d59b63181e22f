//! What a start warns of: it keeps no broker from starting, and orders will fail of it.

use odb_api_types::code::Code;

use crate::config::Address;

/// Something that is better put right before there are orders.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its text")]
pub enum StartUpWarning {
    #[error(
        "client `{client}` {reach} at the Director at `{url}`, so that every order will fail; give it the authority \
         `bosh.teams.TEAM.admin`"
    )]
    DirectorRights {
        url: Address,
        client: String,
        reach: Reach,
    },
}

/// What rights let a client do that do not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reach {
    /// It sees everything, or what belongs to its teams.
    #[error("may only look")]
    Looking,
    /// It is known, and no more.
    #[error("may do nothing")]
    Nothing,
}

impl StartUpWarning {
    /// The key of the configuration to look at first.
    pub fn key(&self) -> &'static str {
        match self {
            Self::DirectorRights { .. } => "bosh.authentication",
        }
    }

    /// The code under which it stands in the log.
    pub fn code(&self) -> Code {
        match self {
            Self::DirectorRights { .. } => Code::DirectorRights,
        }
    }
}
