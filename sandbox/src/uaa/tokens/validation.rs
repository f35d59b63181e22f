//! Checks a token as the UAA itself does: unlike the servers behind it, it knows whether client and user are still
//! what they were when the token was given.

use super::{
    claims::{Claims, issuer},
    verifier::TokenError,
};
use crate::uaa::Uaa;

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
    /// The claims of a token that is valid for this purpose.
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
