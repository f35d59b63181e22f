//! The key that signs the tokens of one UAA.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der},
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use jsonwebtoken::{
    Algorithm, EncodingKey, Header, encode,
    jwk::{AlgorithmParameters, Jwk},
};
use serde::Serialize;
use serde_json::{Value, json};

const KEY_ID: &str = "key-1";

/// Signs tokens (RS256) and shows the public key to whoever wants to check them.
pub struct Signer {
    key: EncodingKey,
    public_pem: String,
    modulus: String,
    exponent: String,
    key_set_url: String,
}

/// A key could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SignerError {
    /// No RSA key could be generated or written.
    #[error("could not generate an RSA key")]
    Generate,
    /// The generated key is not understood by the library that signs.
    #[error("could not read the RSA key")]
    Read(#[source] jsonwebtoken::errors::Error),
    /// Signing failed.
    #[error("could not sign a token")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

impl Signer {
    /// A signer with a new 2048-bit key, for the UAA at this URL.
    pub fn generate(uaa_url: &str) -> Result<Self, SignerError> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| SignerError::Generate)?;
        let private: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| SignerError::Generate)?;
        let public: PublicKeyX509Der<'_> = pair
            .public_key()
            .as_der()
            .map_err(|_| SignerError::Generate)?;
        let key = EncodingKey::from_rsa_pem(pem("PRIVATE KEY", private.as_ref()).as_bytes())
            .map_err(SignerError::Read)?;
        let jwk = Jwk::from_encoding_key(&key, Algorithm::RS256).map_err(SignerError::Read)?;
        let AlgorithmParameters::RSA(parameters) = jwk.algorithm else {
            return Err(SignerError::Generate);
        };
        Ok(Self {
            key,
            public_pem: pem("PUBLIC KEY", public.as_ref()),
            modulus: parameters.n,
            exponent: parameters.e,
            key_set_url: format!("{uaa_url}/token_keys"),
        })
    }

    /// Signs a set of claims.
    pub fn sign(&self, claims: &impl Serialize) -> Result<String, SignerError> {
        let header = Header {
            jku: Some(self.key_set_url.clone()),
            kid: Some(KEY_ID.to_owned()),
            ..Header::new(Algorithm::RS256)
        };
        encode(&header, claims, &self.key).map_err(SignerError::Sign)
    }

    /// The public key, PEM.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The public key as a JWK with the member `value` that UAA adds.
    pub fn jwk(&self) -> Value {
        json!({
            "kty": "RSA", "e": self.exponent, "use": "sig", "kid": KEY_ID, "alg": "RS256",
            "value": self.public_pem, "n": self.modulus,
        })
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy);
    let body: String = lines
        .flat_map(|line| [line.into_owned(), "\n".to_owned()])
        .collect();
    format!("-----BEGIN {label}-----\n{body}-----END {label}-----\n")
}
