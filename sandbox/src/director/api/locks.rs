//! `GET /locks`: the locks that tasks hold.

use actix_web::{HttpResponse, web::Data};

use super::{Rejection, answer, caller::Caller};
use crate::director::Director;

/// All locks. Not for teams.
pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    caller.may_read_all()?;
    Ok(answer::json(&director.inner.locks.view()))
}
