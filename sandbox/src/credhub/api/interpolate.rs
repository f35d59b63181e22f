//! `POST /api/v1/interpolate`.

use actix_web::{HttpResponse, web::Bytes};
use serde_json::Value;

use super::view;
use crate::credhub::{Rejection, Session};

pub(super) async fn interpolate(session: Session, body: Bytes) -> Result<HttpResponse, Rejection> {
    let mut services: Value = serde_json::from_slice(&body).map_err(|_| Rejection::Malformed)?;
    session.interpolate(&mut services)?;
    Ok(view::ok(&services))
}
