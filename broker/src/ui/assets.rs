//! The stylesheet and the script. Their names change with their contents, so that browsers keep them.

use std::{fmt::Write, sync::LazyLock};

use actix_web::{
    HttpResponse,
    http::header::{self, HeaderValue},
    web::Path,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::answer::PageError;
use crate::api::ApiError;

const STYLESHEET: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The names of the assets.
#[derive(Debug, Serialize)]
pub(super) struct AssetNames {
    stylesheet: String,
    script: String,
}

pub(super) static ASSETS: LazyLock<AssetNames> = LazyLock::new(|| AssetNames {
    stylesheet: format!("page-{}.css", digest(STYLESHEET)),
    script: format!("page-{}.js", digest(SCRIPT)),
});

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().take(8).fold(String::new(), |mut name, byte| {
        // Writing to a text cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
}

/// `GET /ui/assets/{name}`. During an update, a page of another version may be answered by this process: its names get
/// the present contents, which browsers do not keep.
pub(super) async fn asset(name: Path<String>) -> Result<HttpResponse, PageError> {
    let is = |end| name.starts_with("page-") && name.ends_with(end);
    let (exact, content_type, text) = if is(".css") {
        (&ASSETS.stylesheet, "text/css; charset=utf-8", STYLESHEET)
    } else if is(".js") {
        (&ASSETS.script, "text/javascript; charset=utf-8", SCRIPT)
    } else {
        return Err(ApiError::not_found("This file does not exist.").into());
    };
    let cache = if *name == *exact {
        "private, max-age=31536000, immutable"
    } else {
        "no-store"
    };
    Ok(HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((header::CACHE_CONTROL, HeaderValue::from_static(cache)))
        .body(text))
}
