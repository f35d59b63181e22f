//! `/mgmt/v1/runs`: what an errand writes down of its way through all service instances, so that it can be continued.

use actix_web::{
    Error, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use odb_api_types::{
    code::Code,
    management::{BeginRun, EndRun, RunKind},
};
use serde::{Deserialize, de::DeserializeOwned, de::IntoDeserializer, de::value};

use crate::{
    api::{
        AppState,
        incoming::{self, Parameters, WithContext},
        refusal::Refusal,
    },
    bosh::RunFault,
    operations::Cut,
};

/// `POST /mgmt/v1/runs`.
pub(super) async fn begin(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, Refusal> {
    let BeginRun { kind } = read(body)?;
    let operations = app.operations.clone();
    let work = async move { operations.begin_run(request_context, kind).await };
    let run = finished(app.lifecycle.finish(work).await)?;
    Ok(HttpResponse::Created().json(run))
}

/// `GET /mgmt/v1/runs/latest`.
pub(super) async fn latest(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    query: Parameters,
) -> Result<HttpResponse, Refusal> {
    let text = query.required("kind")?;
    let kind = RunKind::deserialize(text.into_deserializer()).map_err(|_: value::Error| {
        Refusal::malformed("The kind of a run is `upgrade` or `recreate`.")
    })?;
    let operations = app.operations.clone();
    let work = async move { operations.latest_run(request_context, kind).await };
    match finished(app.lifecycle.finish(work).await)? {
        Some(run) => Ok(HttpResponse::Ok().json(run)),
        None => Err(Refusal::new(
            StatusCode::NOT_FOUND,
            Code::NotFound,
            "There has been no run of this kind.",
        )),
    }
}

/// `PATCH /mgmt/v1/runs/{id}`.
pub(super) async fn end(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
    body: Result<Bytes, Error>,
) -> Result<HttpResponse, Refusal> {
    let id = path
        .parse()
        .map_err(|error| Refusal::malformed(format!("The run cannot be found: {error}.")))?;
    let EndRun { outcome } = read(body)?;
    let operations = app.operations.clone();
    let work = async move { operations.end_run(request_context, id, outcome).await };
    let run = finished(app.lifecycle.finish(work).await)?;
    Ok(HttpResponse::Ok().json(run))
}

fn read<T: DeserializeOwned>(body: Result<Bytes, Error>) -> Result<T, Refusal> {
    Ok(incoming::body::<T>(body)?.value)
}

fn finished<T>(result: Result<Result<T, RunFault>, Cut>) -> Result<T, Refusal> {
    match result {
        Ok(told) => told.map_err(refuse),
        Err(error @ Cut::Stopping) => Err(Refusal::stopping(error)),
        Err(error @ Cut::Off(_)) => Err(Refusal::unattended().because(error)),
    }
}

fn refuse(fault: RunFault) -> Refusal {
    if fault.is_out_of_time() {
        return Refusal::out_of_time(fault);
    }
    let (status, code) = match &fault {
        RunFault::NotKept => (StatusCode::NOT_IMPLEMENTED, Code::NothingKept),
        RunFault::Unknown { .. } => (StatusCode::NOT_FOUND, Code::NotFound),
        RunFault::Superseded { .. } | RunFault::Succeeded { .. } | RunFault::Overtaken => {
            (StatusCode::CONFLICT, Code::RunOver)
        }
        RunFault::NotUnderstood { .. } => (StatusCode::INTERNAL_SERVER_ERROR, Code::Marker),
        RunFault::Director { .. } => (StatusCode::BAD_GATEWAY, Code::Director),
    };
    Refusal::new(status, code, sentence(&fault)).because(fault)
}

/// Who asks here is the operator.
fn sentence(fault: &RunFault) -> String {
    let text = fault.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
