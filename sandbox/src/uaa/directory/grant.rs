//! Ways to ask for a token.

use serde::{Deserialize, Serialize};

/// A way to ask for a token (RFC 6749, and what UAA adds to it). A client is registered for some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    ClientCredentials,
    /// For a user whose password the client was given.
    Password,
    /// With a refresh token of an earlier answer.
    RefreshToken,
    AuthorizationCode,
    /// For a user, straight into the browser.
    Implicit,
    /// For another client, from a user's token.
    UserToken,
    /// With a JWT of another issuer (RFC 7523).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:jwt-bearer")]
    JwtBearer,
    /// With a SAML assertion (RFC 7522).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:saml2-bearer")]
    Saml2Bearer,
    /// With a token of another issuer (RFC 8693).
    #[serde(rename = "urn:ietf:params:oauth:grant-type:token-exchange")]
    TokenExchange,
}

impl Grant {
    /// All of them.
    pub(in crate::uaa) const ALL: [Self; 9] = [
        Self::Implicit,
        Self::Password,
        Self::ClientCredentials,
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::UserToken,
        Self::Saml2Bearer,
        Self::JwtBearer,
        Self::TokenExchange,
    ];

    pub(in crate::uaa) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grant| grant.name() == name)
    }

    /// Its name as `grant_type`.
    pub(in crate::uaa) const fn name(self) -> &'static str {
        match self {
            Self::ClientCredentials => "client_credentials",
            Self::Password => "password",
            Self::RefreshToken => "refresh_token",
            Self::AuthorizationCode => "authorization_code",
            Self::Implicit => "implicit",
            Self::UserToken => "user_token",
            Self::JwtBearer => "urn:ietf:params:oauth:grant-type:jwt-bearer",
            Self::Saml2Bearer => "urn:ietf:params:oauth:grant-type:saml2-bearer",
            Self::TokenExchange => "urn:ietf:params:oauth:grant-type:token-exchange",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Grant;

    #[test]
    fn a_grant_has_the_same_name_in_a_request_and_in_the_store() {
        for grant in Grant::ALL {
            assert_eq!(json!(grant), grant.name());
            assert_eq!(Grant::named(grant.name()), Some(grant));
        }
    }
}
