//! `GET /deployment_configs`: which configs deployments were deployed with.

use actix_web::{HttpRequest, HttpResponse, http::StatusCode, web::Data};
use serde_json::{Value, json};

use super::{
    Rejection,
    answer::{self, parameters},
    caller::Caller,
};
use crate::director::{Director, deployments::Deployment, ids::DeploymentName};

/// The configs of the deployments that are named, as far as the caller may see them.
pub(super) async fn list(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let wanted = parameters(&request).all("deployment[]");
    let mut number = 0;
    let shown = director.inner.deployments.map(|name, row| {
        // Numbers of deployments mean nothing outside of a real Director's database.
        number += 1;
        let is_shown =
            wanted.iter().any(|wanted| wanted == name.as_ref()) && caller.reads_of(&row.teams);
        is_shown.then(|| configs(&director, number, name, row))
    });
    Ok(answer::json_as_html(StatusCode::OK, &shown.concat()))
}

fn configs(
    director: &Director,
    number: u64,
    name: &DeploymentName,
    row: &Deployment,
) -> Vec<Value> {
    let ids = row.cloud_configs.iter().chain(&row.runtime_configs);
    let configs = ids.filter_map(|id| director.inner.configs.find(*id));
    configs
        .map(|(config, _)| {
            json!({
                "id": number,
                "deployment": name,
                "config": {"id": config.id, "type": config.kind, "name": config.name},
            })
        })
        .collect()
}
