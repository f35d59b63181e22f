//! From a handler to the operations and back: every request is a separate task, and ends in one error type.

use std::future::{Future, Ready, ready};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload, web::Data};
use odb_api_types::ids::InstanceId;
use odb_core::operations::{Operations, Refused, RequestContext};

use super::{
    AppState,
    error::ApiError,
    refused::{Audience, ErrorContext, RequestKind},
};

pub(crate) struct Run {
    pub(crate) app: Data<AppState>,
    request_context: RequestContext,
}

impl FromRequest for Run {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let app = request.app_data::<Data<AppState>>().cloned();
        let request_context = request.extensions().get::<RequestContext>().cloned();
        let run = app.zip(request_context);
        ready(
            run.map(|(app, request_context)| Self {
                app,
                request_context,
            })
            .ok_or_else(ApiError::unattended),
        )
    }
}

impl Run {
    pub(super) async fn user<T, Work>(
        &self,
        instance: &InstanceId,
        kind: RequestKind,
        work: impl FnOnce(Operations, RequestContext) -> Work,
    ) -> Result<T, ApiError>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, Refused>> + Send + 'static,
    {
        let context = self.error_context(Audience::User(instance.clone()), kind);
        self.finish(&context, work).await
    }

    pub(crate) async fn operator<T, Work>(
        &self,
        kind: RequestKind,
        work: impl FnOnce(Operations, RequestContext) -> Work,
    ) -> Result<T, ApiError>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, Refused>> + Send + 'static,
    {
        let context = self.error_context(Audience::Operator, kind);
        self.finish(&context, work).await
    }

    pub(super) fn error_context(&self, audience: Audience, kind: RequestKind) -> ErrorContext {
        ErrorContext {
            service: self.app.operations.offering().name.clone(),
            error_detail: self.app.broker.error_detail,
            request: self.request_context.request.clone(),
            audience,
            kind,
        }
    }

    /// On the main runtime: connections to upstreams must not die with an HTTP worker.
    pub(super) async fn finish<T, Work>(
        &self,
        context: &ErrorContext,
        work: impl FnOnce(Operations, RequestContext) -> Work,
    ) -> Result<T, ApiError>
    where
        T: Send + 'static,
        Work: Future<Output = Result<T, Refused>> + Send + 'static,
    {
        let work = work(self.app.operations.clone(), self.request_context.clone());
        match self.app.lifecycle.finish(work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(refused)) => Err(context.refuse(refused)),
            Err(cut) => Err(context.cut(cut)),
        }
    }
}
