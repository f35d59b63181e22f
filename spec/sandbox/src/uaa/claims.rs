//! What stands in a token (`spec/contracts/platform-apis.md`, "JWT").

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    TokenLives,
    directory::{Client, Grant, User},
};

/// The claims of an access token, and of a refresh token too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    pub(super) jti: String,
    sub: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorities: Option<BTreeSet<String>>,
    pub(super) scope: BTreeSet<String>,
    pub(super) client_id: String,
    cid: String,
    azp: String,
    grant_type: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<UserClaims>,
    rev_sig: String,
    iat: i64,
    exp: i64,
    iss: String,
    zid: String,
    client_auth_method: String,
    aud: BTreeSet<String>,
}

/// The claims that only a user's token has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct UserClaims {
    user_id: String,
    origin: String,
    pub(super) user_name: String,
    email: String,
    auth_time: i64,
}

impl Claims {
    pub(super) fn for_client(
        uaa_url: &str,
        client: &Client,
        scopes: BTreeSet<String>,
        lives: TokenLives,
    ) -> Self {
        Self {
            authorities: Some(scopes.clone()),
            ..Self::common(uaa_url, client, Grant::ClientCredentials, scopes, lives)
        }
    }

    pub(super) fn for_user(
        uaa_url: &str,
        client: &Client,
        user: &User,
        scopes: BTreeSet<String>,
        lives: TokenLives,
    ) -> Self {
        let common = Self::common(uaa_url, client, Grant::Password, scopes, lives);
        let user_claims = UserClaims {
            user_id: user.id.to_string(),
            origin: "uaa".to_owned(),
            user_name: user.name.clone(),
            email: user.name.clone(),
            auth_time: common.iat,
        };
        Self {
            sub: user.id.to_string(),
            user: Some(user_claims),
            ..common
        }
    }

    /// The same claims as a refresh token: told apart by the ending of its id.
    pub(super) fn into_refresh(self, lives: TokenLives) -> Self {
        let exp = expiry(self.iat, lives.refresh);
        Self {
            jti: format!("{}-r", token_id()),
            exp,
            ..self
        }
    }

    fn common(
        uaa_url: &str,
        client: &Client,
        grant: Grant,
        scopes: BTreeSet<String>,
        lives: TokenLives,
    ) -> Self {
        let now = Timestamp::now().as_second();
        Self {
            jti: token_id(),
            sub: client.id.clone(),
            authorities: None,
            aud: audience(&client.id, &scopes),
            scope: scopes,
            client_id: client.id.clone(),
            cid: client.id.clone(),
            azp: client.id.clone(),
            grant_type: grant.name().to_owned(),
            user: None,
            rev_sig: "5ce1f0a7".to_owned(),
            iat: now,
            exp: expiry(now, lives.access),
            iss: format!("{uaa_url}/oauth/token"),
            zid: "uaa".to_owned(),
            client_auth_method: if client.is_public() {
                "none"
            } else {
                "client_secret_basic"
            }
            .to_owned(),
        }
    }

    /// Seconds until the token ends.
    pub(super) fn expires_in(&self) -> i64 {
        self.exp - Timestamp::now().as_second()
    }
}

fn token_id() -> String {
    Uuid::new_v4().simple().to_string()
}

fn expiry(now: i64, life: std::time::Duration) -> i64 {
    now.saturating_add(i64::try_from(life.as_secs()).unwrap_or(i64::MAX))
}

/// The client, and of every scope what stands before its last dot.
fn audience(client: &str, scopes: &BTreeSet<String>) -> BTreeSet<String> {
    let servers = scopes.iter().map(|scope| {
        scope
            .rsplit_once('.')
            .map_or(scope.as_str(), |(server, _)| server)
    });
    servers.chain([client]).map(str::to_owned).collect()
}
