//! The sender of a request to v2: the same callers, with errors in the form of v2.

use std::{
    future::{Ready, ready},
    ops::Deref,
};

use actix_web::{FromRequest, HttpRequest, dev::Payload};

use super::rejection::V2Rejection;
use crate::cloud_controller::api::Caller;

/// A caller with a valid token.
#[derive(Debug)]
pub(super) struct V2Caller(Caller);

impl Deref for V2Caller {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.0
    }
}

impl V2Caller {
    pub(super) fn must_be_admin(&self) -> Result<(), V2Rejection> {
        Ok(self.0.must_be_admin()?)
    }
}

impl FromRequest for V2Caller {
    type Error = V2Rejection;
    type Future = Ready<Result<Self, V2Rejection>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let caller = Caller::from_request(request, payload).into_inner();
        ready(caller.map(Self).map_err(V2Rejection::from))
    }
}
