//! Checks tokens as the servers behind a UAA do.

use std::{collections::BTreeSet, sync::Arc};

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, errors::ErrorKind};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{key::Key, revocations::Revocations};

/// Checks the signature and the life of tokens of one UAA (`spec/contracts/platform-apis.md`, "JWT").
#[derive(Clone)]
pub struct TokenVerifier {
    key: Verifying,
    revocations: Option<Arc<Revocations>>,
}

#[derive(Clone)]
enum Verifying {
    /// The key of a configuration.
    Configured(Arc<VerifyingKey>),
    /// The key of a UAA.
    Of(Arc<Key>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The user's name, or the client's id when the token was given to a client.
    pub subject: String,
    /// The user's id, or the client's id when the token was given to a client.
    pub subject_id: String,
    pub scopes: BTreeSet<String>,
    pub audience: BTreeSet<String>,
    /// The client that the token was given to, for itself or for a user.
    pub client_id: Option<String>,
    /// The user, when the token was given to a client for one.
    pub user_id: Option<String>,
    /// How the client got it, such as `client_credentials`.
    pub grant_type: Option<String>,
    /// The issuer: the URL of the UAA's token endpoint.
    pub issuer: Option<String>,
    /// Since when it is valid, in seconds since 1970.
    pub issued_at: Option<i64>,
    /// Until when it is valid, in seconds since 1970.
    pub expires_at: i64,
}

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token is malformed")]
    Malformed,
    #[error("the token's signature is wrong")]
    BadSignature,
    /// Past its `exp`.
    #[error("the token has expired")]
    Expired,
    #[error("the token is a refresh token")]
    RefreshToken,
    #[error("the token was revoked")]
    Revoked,
}

#[derive(Debug, thiserror::Error)]
#[error("not a public RSA key in PEM form")]
pub struct InvalidKey(#[source] jsonwebtoken::errors::Error);

impl TokenVerifier {
    /// A verifier for tokens that the owner of this key signs (RS256).
    pub fn from_rsa_public_pem(pem: &str) -> Result<Self, InvalidKey> {
        let key = VerifyingKey::from_rsa_public_pem(pem)?;
        Ok(Self {
            key: Verifying::Configured(Arc::new(key)),
            revocations: None,
        })
    }

    pub(in crate::uaa) fn of(key: Arc<Key>, revocations: Arc<Revocations>) -> Self {
        Self {
            key: Verifying::Of(key),
            revocations: Some(revocations),
        }
    }

    pub fn verify(&self, token: &str) -> Result<VerifiedToken, TokenError> {
        let claims: Claims = self.claims(token)?;
        if claims.jti.ends_with("-r") {
            return Err(TokenError::RefreshToken);
        }
        if self.is_withdrawn(&claims) {
            return Err(TokenError::Revoked);
        }
        Ok(VerifiedToken {
            subject: claims
                .user_name
                .or_else(|| claims.client_id.clone())
                .ok_or(TokenError::Malformed)?,
            subject_id: claims
                .user_id
                .clone()
                .or_else(|| claims.client_id.clone())
                .ok_or(TokenError::Malformed)?,
            scopes: claims.scope,
            audience: claims.aud,
            client_id: claims.client_id,
            user_id: claims.user_id,
            grant_type: claims.grant_type,
            issuer: claims.iss,
            issued_at: claims.iat,
            expires_at: claims.exp,
        })
    }

    /// Checks the signature of any token and reads its claims. Whether it still lives is for the caller to say.
    pub fn signed_claims<C: DeserializeOwned>(&self, token: &str) -> Result<C, TokenError> {
        let all: Value = self.read(token, Life::Any)?;
        let read = |error: serde_json::Error| {
            tracing::debug!(%error, "a token without the claims that every token has");
            TokenError::Malformed
        };
        let claims = Claims::deserialize(&all).map_err(read)?;
        if self.is_withdrawn(&claims) {
            return Err(TokenError::Revoked);
        }
        C::deserialize(all).map_err(read)
    }

    /// Checks signature and life, and reads the claims, of any token.
    pub(in crate::uaa) fn claims<C: DeserializeOwned + Clone>(
        &self,
        token: &str,
    ) -> Result<C, TokenError> {
        self.read(token, Life::Checked)
    }

    fn read<C: DeserializeOwned + Clone>(&self, token: &str, life: Life) -> Result<C, TokenError> {
        match &self.key {
            Verifying::Configured(key) => key.claims(token, life),
            Verifying::Of(key) => key.verifying().claims(token, life),
        }
    }

    fn is_withdrawn(&self, claims: &Claims) -> bool {
        let client = claims.client_id.as_deref().unwrap_or_default();
        let issued = claims.iat.unwrap_or(i64::MAX);
        self.revocations
            .as_ref()
            .is_some_and(|revocations| revocations.concern(&claims.jti, client, issued))
    }
}

/// Whether a token must be alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Checked,
    Any,
}

pub(in crate::uaa) struct VerifyingKey {
    key: DecodingKey,
    alive: Validation,
    signed: Validation,
}

impl VerifyingKey {
    pub(super) fn from_rsa_public_pem(pem: &str) -> Result<Self, InvalidKey> {
        let key = DecodingKey::from_rsa_pem(pem.as_bytes()).map_err(InvalidKey)?;
        let mut alive = Validation::new(Algorithm::RS256);
        alive.leeway = 0;
        alive.validate_aud = false;
        alive.set_required_spec_claims(&["exp"]);
        let mut signed = alive.clone();
        signed.validate_exp = false;
        Ok(Self { key, alive, signed })
    }

    fn claims<C: DeserializeOwned + Clone>(
        &self,
        token: &str,
        life: Life,
    ) -> Result<C, TokenError> {
        let validation = match life {
            Life::Checked => &self.alive,
            Life::Any => &self.signed,
        };
        decode::<C>(token, &self.key, validation)
            .map(|token| token.claims)
            .map_err(|error| match error.kind() {
                ErrorKind::ExpiredSignature => TokenError::Expired,
                ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => {
                    TokenError::BadSignature
                }
                _ => TokenError::Malformed,
            })
    }
}

#[derive(Clone, Deserialize)]
struct Claims {
    jti: String,
    exp: i64,
    #[serde(default)]
    scope: BTreeSet<String>,
    #[serde(default)]
    aud: BTreeSet<String>,
    client_id: Option<String>,
    user_name: Option<String>,
    user_id: Option<String>,
    grant_type: Option<String>,
    iss: Option<String>,
    iat: Option<i64>,
}
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::uaa::Signer;

    #[test]
    fn a_token_is_accepted_only_alive_untouched_and_for_access() {
        let signer = Signer::generate("https://127.80.3.2:8443").unwrap();
        let unauthenticated_client = Signer::generate("https://127.80.3.2:8443").unwrap();
        let verifier = TokenVerifier::from_rsa_public_pem(signer.public_pem()).unwrap();
        let token = |jti: &str, exp: u64| json!({"jti": jti, "exp": exp, "client_id": "odb", "scope": ["bosh.admin"]});
        let later = jsonwebtoken::get_current_timestamp() + 60;

        let good = verifier
            .verify(&signer.sign(&token("1", later)).unwrap())
            .unwrap();
        assert_eq!(
            (good.subject.as_str(), good.scopes.contains("bosh.admin")),
            ("odb", true)
        );

        let errors = [
            (
                signer.sign(&token("1", later - 120)).unwrap(),
                TokenError::Expired,
            ),
            (
                signer.sign(&token("1-r", later)).unwrap(),
                TokenError::RefreshToken,
            ),
            (
                unauthenticated_client.sign(&token("1", later)).unwrap(),
                TokenError::BadSignature,
            ),
            ("abc".to_owned(), TokenError::Malformed),
        ];
        for (token, error) in errors {
            assert_eq!(verifier.verify(&token), Err(error));
        }
    }

    #[test]
    fn the_claims_of_a_token_can_be_read_after_its_end_but_not_with_a_wrong_signature() {
        let signer = Signer::generate("https://127.80.3.2:8443").unwrap();
        let unauthenticated_client = Signer::generate("https://127.80.3.2:8443").unwrap();
        let verifier = TokenVerifier::from_rsa_public_pem(signer.public_pem()).unwrap();
        let claims = json!({"jti": "1", "exp": 1000, "client_id": "odb"});

        let read: Value = verifier
            .signed_claims(&signer.sign(&claims).unwrap())
            .unwrap();
        let forged =
            verifier.signed_claims::<Value>(&unauthenticated_client.sign(&claims).unwrap());

        assert_eq!(read, claims);
        assert_eq!(forged, Err(TokenError::BadSignature));
    }
}
