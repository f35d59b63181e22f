//! The identity that a caller claims.

use actix_web::{dev::RequestHead, http::header::AUTHORIZATION};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde::Deserialize;

/// The names in a request's credentials. They are not verified here; the server's answer shows whether they are valid.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Caller {
    #[serde(rename = "client_id")]
    pub(super) client: Option<String>,
    #[serde(rename = "user_name")]
    pub(super) user: Option<String>,
}

impl Caller {
    /// Empty without readable credentials.
    pub(super) fn of(request: &RequestHead) -> Self {
        Self::read(request).unwrap_or_default()
    }

    fn read(request: &RequestHead) -> Option<Self> {
        let header = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, credentials) = header.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") {
            let claims = credentials.trim().split('.').nth(1)?;
            let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?;
            return serde_json::from_slice(&claims).ok();
        }
        if scheme.eq_ignore_ascii_case("basic") {
            let pair = BASE64_STANDARD.decode(credentials.trim()).ok()?;
            let pair = String::from_utf8(pair).ok()?;
            let (client, _) = pair.split_once(':')?;
            return Some(Self {
                client: Some(client.to_owned()),
                user: None,
            });
        }
        None
    }
}
