//! The broker itself: its version, and an examination of its upstreams.

use std::{fs, path::Path, time::Duration};

use actix_web::{
    HttpResponse,
    http::{StatusCode, header::ContentType},
};
use jiff::Timestamp;
use odb_api_types::{code::Code, management::BrokerVersion};
use odb_core::operations::Cut;
use tokio::{runtime::Handle, task::spawn_blocking};

use crate::{
    api::{
        error::ApiError,
        refused::{Audience, RequestKind},
        run::Run,
    },
    preflight::{
        check::Format,
        doctor::{self, Diagnosis, Timeouts},
    },
};

/// How long each step of an examination may take. All of them take five times as long at most, within the request
/// budget.
const STEP: Duration = Duration::from_secs(5);

/// `GET /mgmt/v1/broker`.
pub(super) async fn version() -> HttpResponse {
    HttpResponse::Ok().json(BrokerVersion {
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// `GET /mgmt/v1/doctor`: what `on-demand-broker doctor` reports.
pub(super) async fn doctor(run: Run) -> Result<HttpResponse, ApiError> {
    let report = examined(&run).await?;
    Ok(HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(report.report(Format::Json)))
}

/// Examines the upstreams. One at a time: an examination sends requests to every upstream and starts adapters.
pub(crate) async fn examined(run: &Run) -> Result<Diagnosis, ApiError> {
    let Ok(permit) = run.app.examinations.clone().try_acquire_owned() else {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            Code::Busy,
            "Another examination is in progress. Try again when it has ended.",
        ));
    };
    let context = run.error_context(Audience::Operator, RequestKind::Other);
    let file = run.app.file.clone();
    // On a thread of its own: probes hold values that must not change threads.
    let examined = run.app.lifecycle.finish(async move {
        let _permit = permit;
        let runtime = Handle::current();
        spawn_blocking(move || runtime.block_on(examine(&file))).await
    });
    let examined = examined.await.and_then(|ended| ended.map_err(Cut::Off));
    examined.map_err(|cut| context.cut(cut))
}

async fn examine(file: &Path) -> Diagnosis {
    match fs::read_to_string(file) {
        Ok(source) => {
            let timeouts = Timeouts::of(STEP);
            let environment = std::env::vars_os();
            let now = Timestamp::now();
            Box::pin(doctor::examine(file, &source, environment, timeouts, now)).await
        }
        Err(error) => Diagnosis::unreadable(file, &error),
    }
}
