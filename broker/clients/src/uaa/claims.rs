//! The claims of a token (`spec/contracts/platform-apis.md`, section 1.4).

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::ExposeSecret;
use serde::Deserialize;

use super::Token;

/// The claims of a token, unverified: its audience verifies them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claims {
    /// The issuer, such as `https://uaa.example.com/oauth/token`.
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
    /// The claims of the token; `None` for an opaque one.
    pub fn claims(&self) -> Option<Claims> {
        let payload = self.value().expose_secret().split('.').nth(1)?;
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        serde_json::from_slice(&payload).ok()
    }
}
