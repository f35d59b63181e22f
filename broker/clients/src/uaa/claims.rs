//! What a token says of itself (`spec/contracts/platform-apis.md`, section 1.4).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::ExposeSecret;
use serde::Deserialize;

use super::Token;

/// What a token says of itself, unverified: whoever it is for verifies it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claims {
    /// Who has issued it, such as `https://uaa.example.com/oauth/token`.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// When, in seconds since 1970 by the issuer's clock.
    #[serde(rename = "iat")]
    pub issued_at: i64,
    /// When it ends, by the same clock.
    #[serde(rename = "exp")]
    pub expires_at: i64,
}

impl Token {
    /// What the token says of itself; nothing where it is opaque.
    pub fn claims(&self) -> Option<Claims> {
        let payload = self.value().expose_secret().split('.').nth(1)?;
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        serde_json::from_slice(&payload).ok()
    }
}
