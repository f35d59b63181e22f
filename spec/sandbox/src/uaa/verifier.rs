//! Checks tokens as the servers behind a UAA do.

use std::{collections::BTreeSet, sync::Arc};

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, errors::ErrorKind};
use serde::Deserialize;

/// Checks the signature and the life of tokens of one UAA (`spec/contracts/platform-apis.md`, "JWT").
#[derive(Clone)]
pub struct TokenVerifier {
    key: Arc<DecodingKey>,
    validation: Arc<Validation>,
}

/// What a valid token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The user's name, or the client's id when the token was given to a client.
    pub subject: String,
    /// The user's id, or the client's id when the token was given to a client.
    pub subject_id: String,
    /// What the bearer may do.
    pub scopes: BTreeSet<String>,
    /// The servers that the token is meant for.
    pub audience: BTreeSet<String>,
}

/// Why a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Not a JWT, or one without the claims that every token has.
    #[error("the token is malformed")]
    Malformed,
    /// Signed by another key or with another algorithm.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// Past its `exp`.
    #[error("the token has expired")]
    Expired,
    /// A refresh token, which gives access to nothing but the token endpoint.
    #[error("the token is a refresh token")]
    RefreshToken,
}

/// The text is not a public RSA key.
#[derive(Debug, thiserror::Error)]
#[error("not a public RSA key in PEM form")]
pub struct InvalidKey(#[source] jsonwebtoken::errors::Error);

impl TokenVerifier {
    /// A verifier for tokens that the owner of this key signs (RS256).
    pub fn from_rsa_public_pem(pem: &str) -> Result<Self, InvalidKey> {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.leeway = 0;
        validation.validate_aud = false;
        validation.set_required_spec_claims(&["exp"]);
        Ok(Self {
            key: Arc::new(DecodingKey::from_rsa_pem(pem.as_bytes()).map_err(InvalidKey)?),
            validation: Arc::new(validation),
        })
    }

    /// Checks an access token.
    pub fn verify(&self, token: &str) -> Result<VerifiedToken, TokenFault> {
        let claims: Claims = self.claims(token)?;
        if claims.jti.ends_with("-r") {
            return Err(TokenFault::RefreshToken);
        }
        Ok(VerifiedToken {
            subject: claims
                .user_name
                .or_else(|| claims.client_id.clone())
                .ok_or(TokenFault::Malformed)?,
            subject_id: claims
                .user_id
                .or(claims.client_id)
                .ok_or(TokenFault::Malformed)?,
            scopes: claims.scope,
            audience: claims.aud,
        })
    }

    /// Checks signature and life, and reads the claims, of any token.
    pub(super) fn claims<C: for<'de> Deserialize<'de> + Clone>(
        &self,
        token: &str,
    ) -> Result<C, TokenFault> {
        decode::<C>(token, &self.key, &self.validation)
            .map(|token| token.claims)
            .map_err(|error| match error.kind() {
                ErrorKind::ExpiredSignature => TokenFault::Expired,
                ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => {
                    TokenFault::BadSignature
                }
                _ => TokenFault::Malformed,
            })
    }
}

#[derive(Clone, Deserialize)]
struct Claims {
    jti: String,
    #[serde(default)]
    scope: BTreeSet<String>,
    #[serde(default)]
    aud: BTreeSet<String>,
    client_id: Option<String>,
    user_name: Option<String>,
    user_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::uaa::Signer;

    #[test]
    fn a_token_is_accepted_only_alive_untouched_and_for_access() {
        let signer = Signer::generate("https://127.80.3.2:8443").unwrap();
        let stranger = Signer::generate("https://127.80.3.2:8443").unwrap();
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

        let faults = [
            (
                signer.sign(&token("1", later - 120)).unwrap(),
                TokenFault::Expired,
            ),
            (
                signer.sign(&token("1-r", later)).unwrap(),
                TokenFault::RefreshToken,
            ),
            (
                stranger.sign(&token("1", later)).unwrap(),
                TokenFault::BadSignature,
            ),
            ("abc".to_owned(), TokenFault::Malformed),
        ];
        for (token, fault) in faults {
            assert_eq!(verifier.verify(&token), Err(fault));
        }
    }
}
