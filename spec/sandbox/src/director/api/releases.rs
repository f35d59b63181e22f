//! What has been uploaded: releases and stemcells.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, http::StatusCode, web::Data};
use serde_json::{Value, json};

use super::{Refusal, answer, caller::Caller};
use crate::director::Director;

/// Releases with their versions, by name.
pub(super) async fn releases(
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Refusal> {
    caller.may_list()?;
    let in_use = director
        .inner
        .deployments
        .map(|_, row| Some(row.releases.clone()))
        .concat();
    let mut by_name: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for release in &director.inner.settings.releases {
        let deployed = in_use
            .iter()
            .any(|used| used.name == release.name && used.version == release.version);
        by_name.entry(&release.name).or_default().push(json!({
            "version": release.version,
            "commit_hash": "unknown",
            "uncommitted_changes": false,
            "currently_deployed": deployed,
            "job_names": release.jobs,
        }));
    }
    let shown: Vec<Value> = by_name
        .into_iter()
        .map(|(name, versions)| json!({"name": name, "release_versions": versions}))
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// Stemcells, each with the deployments that use it.
pub(super) async fn stemcells(
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Refusal> {
    caller.may_list()?;
    let shown: Vec<Value> = director
        .inner
        .settings
        .stemcells
        .iter()
        .map(|stemcell| {
            let users = director.inner.deployments.map(|name, row| {
                let uses = row
                    .stemcells
                    .iter()
                    .any(|used| used.name == stemcell.name && used.version == stemcell.version);
                uses.then(|| json!({"name": name}))
            });
            json!({
                "name": stemcell.name,
                "operating_system": stemcell.os,
                "version": stemcell.version,
                "cid": format!("{}/{}", stemcell.name, stemcell.version),
                "cpi": "",
                "deployments": users,
                "api_version": 3,
                "id": 1,
            })
        })
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}
