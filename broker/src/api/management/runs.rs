//! `/mgmt/v1/runs`: an errand's record of its run over all service instances, with which it can be continued.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Path},
};
use jiff::Timestamp;
use odb_api_types::{
    code::Code,
    management::{BeginRun, EndRun, LeaseRun, RunId, RunKind},
};
use serde::{Deserialize, de::IntoDeserializer, de::value};

use crate::api::{
    error::ApiError,
    incoming::{self, Parameters},
    refused::RequestKind,
    run::Run,
};

/// `POST /mgmt/v1/runs`: starts a run, which replaces the previous one unless a process carries that out.
pub(super) async fn begin(run: Run, body: Result<Bytes, Error>) -> Result<HttpResponse, ApiError> {
    let wanted: BeginRun = incoming::body(body)?.value;
    let begun = run.operator(RequestKind::Other, |operations, context| async move {
        Ok(operations
            .engine()
            .journal()
            .begin(&context.call(), wanted, Timestamp::now())
            .await?)
    });
    Ok(HttpResponse::Created().json(begun.await?))
}

/// `GET /mgmt/v1/runs/latest`.
pub(super) async fn latest(run: Run, query: Parameters) -> Result<HttpResponse, ApiError> {
    let text = query.required("kind")?;
    let kind = RunKind::deserialize(text.into_deserializer()).map_err(|_: value::Error| {
        ApiError::malformed("The kind of a run is `upgrade` or `recreate`.")
    })?;
    let latest = run.operator(RequestKind::Other, |operations, context| async move {
        Ok(operations
            .engine()
            .journal()
            .latest(&context.call(), kind, Timestamp::now())
            .await?)
    });
    match latest.await? {
        Some(run) => Ok(HttpResponse::Ok().json(run)),
        None => Err(ApiError::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "There has been no run of this kind.",
        )),
    }
}

/// `PATCH /mgmt/v1/runs/{id}`: records how a run has ended.
pub(super) async fn end(
    run: Run,
    path: Path<String>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
    let id = run_id(&path)?;
    let end: EndRun = incoming::body(body)?.value;
    let ended = run.operator(RequestKind::Other, |operations, context| async move {
        Ok(operations
            .engine()
            .journal()
            .end(&context.call(), id, end, Timestamp::now())
            .await?)
    });
    Ok(HttpResponse::Ok().json(ended.await?))
}

/// `POST /mgmt/v1/runs/{id}/lease`: takes or renews the right to carry out a run.
pub(super) async fn lease(
    run: Run,
    path: Path<String>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, ApiError> {
    let id = run_id(&path)?;
    let wanted: LeaseRun = incoming::body(body)?.value;
    let leased = run.operator(RequestKind::Other, |operations, context| async move {
        Ok(operations
            .engine()
            .journal()
            .lease(&context.call(), id, wanted, Timestamp::now())
            .await?)
    });
    Ok(HttpResponse::Ok().json(leased.await?))
}

/// `POST /mgmt/v1/runs/{id}/stop`: requests the process that carries out a run to stop.
pub(super) async fn stop(run: Run, path: Path<String>) -> Result<HttpResponse, ApiError> {
    let id = run_id(&path)?;
    let stopping = run.operator(RequestKind::Other, |operations, context| async move {
        Ok(operations
            .engine()
            .journal()
            .request_stop(&context.call(), id, Timestamp::now())
            .await?)
    });
    Ok(HttpResponse::Accepted().json(stopping.await?))
}

fn run_id(path: &str) -> Result<RunId, ApiError> {
    path.parse()
        .map_err(|error| ApiError::malformed(format!("The run cannot be found: {error}.")))
}
