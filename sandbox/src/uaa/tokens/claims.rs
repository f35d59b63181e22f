//! The claims of a token (`spec/contracts/platform-apis.md`, "JWT").
//!
//! Checks a token as the UAA itself does: unlike the servers behind it, it knows whether client and user are still
//! what they were when the token was given.

use std::{collections::BTreeSet, time::Duration};

use aws_lc_rs::digest::{Context, SHA256};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{client_authentication::AuthenticatedClient, verifier::TokenError};
use crate::uaa::{
    TokenLives, Uaa,
    directory::{Account, Grant, Registration, StoredSecret},
};

/// The identity provider of all users: the UAA itself.
const ORIGIN: &str = "uaa";

/// The claims of an access token, and of a refresh token too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::uaa) struct Claims {
    pub(in crate::uaa) jti: String,
    sub: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::uaa) authorities: Option<BTreeSet<String>>,
    pub(in crate::uaa) scope: BTreeSet<String>,
    pub(in crate::uaa) client_id: String,
    cid: String,
    azp: String,
    grant_type: String,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(in crate::uaa) user: Option<UserClaims>,
    pub(in crate::uaa) rev_sig: String,
    pub(in crate::uaa) iat: i64,
    pub(in crate::uaa) exp: i64,
    pub(in crate::uaa) iss: String,
    zid: String,
    client_auth_method: String,
    aud: BTreeSet<String>,
}

/// The claims that only a user's token has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::uaa) struct UserClaims {
    pub(in crate::uaa) user_id: Uuid,
    origin: String,
    pub(in crate::uaa) user_name: String,
    email: String,
    auth_time: i64,
}

impl Claims {
    pub(super) fn for_client(
        uaa_url: &str,
        client: &AuthenticatedClient,
        scopes: BTreeSet<String>,
        lives: TokenLives,
    ) -> Self {
        Self {
            authorities: Some(scopes.clone()),
            ..Self::common(uaa_url, client, None, scopes, lives)
        }
    }

    pub(super) fn for_user(
        uaa_url: &str,
        client: &AuthenticatedClient,
        user: &Account,
        scopes: BTreeSet<String>,
        lives: TokenLives,
    ) -> Self {
        let common = Self::common(uaa_url, client, Some(user), scopes, lives);
        let user_claims = UserClaims {
            user_id: user.id,
            origin: ORIGIN.to_owned(),
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

    /// The same claims as a refresh token, which the suffix of its id identifies.
    pub(super) fn as_refresh(&self, client: &Registration, lives: TokenLives) -> Self {
        let life = client.refresh_token_life(lives);
        Self {
            jti: format!("{}-r", token_id()),
            exp: expiry(self.iat, life),
            ..self.clone()
        }
    }

    /// The ID token, which describes the user to the client (OIDC Core 1.0, section 2).
    pub(super) fn as_id_token(&self) -> Map<String, Value> {
        let mut claims = Map::new();
        let mut claim = |name: &str, value: Value| claims.insert(name.to_owned(), value);
        claim("sub", json!(self.sub));
        if let Some(user) = &self.user {
            claim("user_name", json!(user.user_name));
            claim("origin", json!(user.origin));
            claim("user_id", json!(user.user_id));
            claim("email", json!(user.email));
            claim("email_verified", json!(true));
            claim("auth_time", json!(user.auth_time));
        }
        claim("iss", json!(self.iss));
        claim("client_id", json!(self.client_id));
        claim("cid", json!(self.cid));
        claim("azp", json!(self.azp));
        claim("aud", json!([self.client_id]));
        claim("zid", json!(self.zid));
        claim("grant_type", json!(self.grant_type));
        claim("scope", json!(["openid"]));
        claim("jti", json!(self.jti));
        claim("rev_sig", json!(self.rev_sig));
        claim("iat", json!(self.iat));
        claim("exp", json!(self.exp));
        claims
    }

    fn common(
        uaa_url: &str,
        client: &AuthenticatedClient,
        user: Option<&Account>,
        scopes: BTreeSet<String>,
        lives: TokenLives,
    ) -> Self {
        let now = Timestamp::now().as_second();
        let AuthenticatedClient { client, method } = client;
        let grant = match user {
            Some(_) => Grant::Password,
            None => Grant::ClientCredentials,
        };
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
            rev_sig: recognition(client, client.secrets.last(), user),
            iat: now,
            exp: expiry(now, client.access_token_life(lives)),
            iss: issuer(uaa_url),
            zid: "uaa".to_owned(),
            client_auth_method: method.name().to_owned(),
        }
    }

    /// Whether the token was given to this client, for this user, before either changed a secret.
    pub(super) fn is_recognised(&self, client: &Registration, user: Option<&Account>) -> bool {
        let with = |secret| recognition(client, secret, user) == self.rev_sig;
        client.secrets.iter().any(|secret| with(Some(secret))) || client.is_public() && with(None)
    }

    /// Seconds until the token ends.
    pub(super) fn expires_in(&self) -> i64 {
        self.exp - Timestamp::now().as_second()
    }
}

impl Registration {
    fn access_token_life(&self, lives: TokenLives) -> Duration {
        life(self.access_token_validity).unwrap_or(lives.access)
    }

    fn refresh_token_life(&self, lives: TokenLives) -> Duration {
        life(self.refresh_token_validity).unwrap_or(lives.refresh)
    }
}

/// The lifetime in a client's registration; absent or less than a second means the UAA's default.
fn life(seconds: Option<i64>) -> Option<Duration> {
    let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs)
}

/// The `iss` of all tokens of a UAA.
pub(in crate::uaa) fn issuer(uaa_url: &str) -> String {
    format!("{uaa_url}/oauth/token")
}

pub(super) fn token_id() -> String {
    Uuid::new_v4().simple().to_string()
}

fn expiry(now: i64, life: Duration) -> i64 {
    now.saturating_add(i64::try_from(life.as_secs()).unwrap_or(i64::MAX))
}

/// Eight hex digits that change with a secret or a password. A token with others has been revoked.
fn recognition(
    client: &Registration,
    secret: Option<&StoredSecret>,
    user: Option<&Account>,
) -> String {
    let mut parts = vec![
        client.id.as_str(),
        secret.map(StoredSecret::expose).unwrap_or_default(),
    ];
    let user_id = user.map(|user| user.id.to_string());
    if let (Some(user), Some(id)) = (user, &user_id) {
        parts.extend([id.as_str(), user.password.expose(), &user.name]);
    }
    let mut digest = Context::new(&SHA256);
    for part in parts {
        digest.update(part.as_bytes());
        digest.update(&[0]);
    }
    let digest = digest.finish();
    let [a, b, c, d, ..] = digest.as_ref() else {
        return String::new();
    };
    format!("{a:02x}{b:02x}{c:02x}{d:02x}")
}

/// The client, and of every scope the part before its last dot.
fn audience(client: &str, scopes: &BTreeSet<String>) -> BTreeSet<String> {
    let servers = scopes.iter().map(|scope| {
        scope
            .rsplit_once('.')
            .map_or(scope.as_str(), |(server, _)| server)
    });
    servers.chain([client]).map(str::to_owned).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::uaa) enum Purpose {
    Access,
    Refresh,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::uaa) enum InvalidToken {
    #[error("The token expired, was revoked, or the token ID is incorrect.")]
    UnknownId,
    #[error("Invalid token (could not decode)")]
    Malformed,
    #[error("Could not verify token signature.")]
    BadSignature,
    #[error("Token expired")]
    Expired,
    #[error("Invalid access token: a refresh token gives no access")]
    OtherPurpose,
    #[error("Invalid issuer for token")]
    OtherIssuer,
    #[error("The token refers to a non-existent client")]
    UnknownClient,
    #[error("Token bears a non-existent user ID")]
    UnknownUser,
    #[error("revocable signature mismatch")]
    Revoked,
    #[error("Some scopes have been revoked")]
    ScopesRevoked,
}

impl Uaa {
    pub(in crate::uaa) fn validated(
        &self,
        token: &str,
        purpose: Purpose,
    ) -> Result<Claims, InvalidToken> {
        // A JWT has two dots, the id of an opaque token has none.
        if !token.contains('.') {
            return Err(InvalidToken::UnknownId);
        }
        let directory = self.directory();
        let claims: Claims = self.verifier().claims(token).map_err(InvalidToken::from)?;
        let shown_for = if claims.jti.ends_with("-r") {
            Purpose::Refresh
        } else {
            Purpose::Access
        };
        if shown_for != purpose {
            return Err(InvalidToken::OtherPurpose);
        }
        if claims.iss != issuer(self.url()) {
            return Err(InvalidToken::OtherIssuer);
        }
        let client = directory
            .clients
            .get(&claims.client_id)
            .ok_or(InvalidToken::UnknownClient)?;
        let user = match &claims.user {
            Some(user) => Some(
                directory
                    .users
                    .get(&user.user_id)
                    .ok_or(InvalidToken::UnknownUser)?,
            ),
            None => None,
        };
        let withdrawn = self
            .revocations()
            .concern(&claims.jti, &claims.client_id, claims.iat);
        if withdrawn || !claims.is_recognised(client, user) {
            return Err(InvalidToken::Revoked);
        }
        if claims.scope.is_subset(&client.allowed(user)) {
            Ok(claims)
        } else {
            Err(InvalidToken::ScopesRevoked)
        }
    }
}

impl From<TokenError> for InvalidToken {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Malformed => Self::Malformed,
            TokenError::BadSignature => Self::BadSignature,
            TokenError::Expired => Self::Expired,
            TokenError::RefreshToken => Self::OtherPurpose,
            TokenError::Revoked => Self::Revoked,
        }
    }
}
