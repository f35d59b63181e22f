//! `GET /v2/service_instances/{instance}`, where the catalog announces it.

use actix_web::{
    HttpResponse,
    web::{Data, Path},
};
use serde_json::{Map, json};

use super::not_offered::not_offered;
use crate::{
    api::{
        AppState,
        fault::{Asking, Audience},
        incoming::{self, WithContext},
        refusal::Refusal,
    },
    config::InstanceFetching,
    operations::FetchRequest,
};

/// Tells what is known of a service instance. Parameters are not kept, and so not told.
pub(super) async fn fetch(
    app: Data<AppState>,
    WithContext(request_context): WithContext,
    path: Path<String>,
) -> Result<HttpResponse, Refusal> {
    if app.instance_fetching == InstanceFetching::NotOffered {
        return Err(not_offered("GetInstance"));
    }
    let instance = incoming::instance_id(path.into_inner())?;
    let request = FetchRequest {
        instance: instance.clone(),
    };
    let work = {
        let (app, request_context) = (app.clone(), request_context.clone());
        async move { app.operations.fetch(request_context, request).await }
    };
    let asking = Asking {
        audience: Audience::User,
        app: &app,
        request_context: &request_context,
        instance: &instance,
        asked: None,
    };
    let fetched = match app.lifecycle.finish(work).await {
        Ok(fetched) => fetched.map_err(|fault| asking.fault(fault))?,
        Err(cut) => return Err(asking.cut(cut)),
    };
    let mut body = Map::new();
    body.insert("service_id".to_owned(), json!(app.operations.offering().id));
    if let Some(plan) = fetched.plan {
        body.insert("plan_id".to_owned(), json!(plan));
    }
    if let Some(url) = fetched.dashboard_url {
        body.insert("dashboard_url".to_owned(), url.into());
    }
    if !fetched.labels.is_empty() {
        body.insert("metadata".to_owned(), json!({ "labels": fetched.labels }));
    }
    Ok(HttpResponse::Ok().json(body))
}
