//! The keys that sign the tokens of a UAA.

use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    rsa::KeyPair,
    signature::KeyPair as _,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use jsonwebtoken::{
    Algorithm, EncodingKey, Header, encode,
    jwk::{AlgorithmParameters, Jwk},
};
use rustls_pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::{Value, json};

use crate::rsa_keys::{self, RsaKeyError};

/// The id of a UAA's first key.
pub(in crate::uaa) const FIRST_KEY: &str = "key-1";

/// Signs tokens (RS256) and publishes the public key.
pub struct Signer {
    id: String,
    key: EncodingKey,
    private_pem: SecretString,
    public_pem: String,
    modulus: String,
    exponent: String,
    key_set_url: String,
}

/// A key could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum SignerError {
    #[error(transparent)]
    Key(RsaKeyError),
    #[error("could not use a new RSA key")]
    Generate,
    #[error("could not read the RSA key")]
    Read(#[source] jsonwebtoken::errors::Error),
    #[error("could not read the kept RSA key")]
    ReadKept,
    #[error("could not sign a token")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

impl Signer {
    /// A signer with a new 2048-bit key, for the UAA at this URL.
    pub fn generate(uaa_url: &str) -> Result<Self, SignerError> {
        let private = rsa_keys::private_key().map_err(SignerError::Key)?;
        let private = private.secret_pkcs8_der();
        let pair = KeyPair::from_pkcs8(private).map_err(|_| SignerError::Generate)?;
        let private_pem = pem("PRIVATE KEY", private).into();
        Self::new(uaa_url, FIRST_KEY.to_owned(), &pair, private_pem)
    }

    pub(in crate::uaa) fn kept(
        uaa_url: &str,
        id: String,
        private_pem: SecretString,
    ) -> Result<Self, SignerError> {
        let pem = private_pem.expose_secret().as_bytes();
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| SignerError::ReadKept)?;
        let pair =
            KeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| SignerError::ReadKept)?;
        Self::new(uaa_url, id, &pair, private_pem)
    }

    fn new(
        uaa_url: &str,
        id: String,
        pair: &KeyPair,
        private_pem: SecretString,
    ) -> Result<Self, SignerError> {
        let public: PublicKeyX509Der<'_> = pair
            .public_key()
            .as_der()
            .map_err(|_| SignerError::Generate)?;
        let key = EncodingKey::from_rsa_pem(private_pem.expose_secret().as_bytes())
            .map_err(SignerError::Read)?;
        let jwk = Jwk::from_encoding_key(&key, Algorithm::RS256).map_err(SignerError::Read)?;
        let AlgorithmParameters::RSA(parameters) = jwk.algorithm else {
            return Err(SignerError::Generate);
        };
        Ok(Self {
            id,
            key,
            private_pem,
            public_pem: pem("PUBLIC KEY", public.as_ref()),
            modulus: parameters.n,
            exponent: parameters.e,
            key_set_url: format!("{uaa_url}/token_keys"),
        })
    }

    pub fn sign(&self, claims: &impl Serialize) -> Result<String, SignerError> {
        let header = Header {
            jku: Some(self.key_set_url.clone()),
            kid: Some(self.id.clone()),
            ..Header::new(Algorithm::RS256)
        };
        encode(&header, claims, &self.key).map_err(SignerError::Sign)
    }

    /// The public key, PEM.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The private key, PEM.
    pub(in crate::uaa) fn private_pem(&self) -> &SecretString {
        &self.private_pem
    }

    /// The public key as a JWK with the member `value` that UAA adds.
    pub fn jwk(&self) -> Value {
        json!({
            "kty": "RSA", "e": self.exponent, "use": "sig", "kid": self.id, "alg": "RS256",
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
