//! The uploaded releases and stemcells.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Data, Path},
};
use aws_lc_rs::digest;
use serde_json::{Value, json};

use super::{Rejection, answer, caller::Caller};
use crate::{
    cpi::JobName,
    director::{Director, UploadedRelease},
};

/// Releases with their versions, by name.
pub(super) async fn releases(
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let in_use = director
        .inner
        .deployments
        .map(|_, row| Some(row.releases.clone()))
        .concat();
    let mut by_name: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let uploads = director.uploads();
    for release in &uploads.releases {
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

/// One release: the jobs of all its versions, and the versions.
pub(super) async fn release(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let name = name.into_inner();
    let uploads = director.uploads();
    let versions: Vec<&UploadedRelease> = uploads
        .releases
        .iter()
        .filter(|release| release.name == name)
        .collect();
    if versions.is_empty() {
        return Err(Rejection::NoSuchRelease(name));
    }
    let jobs: BTreeSet<&JobName> = versions.iter().flat_map(|version| &version.jobs).collect();
    let jobs: Vec<Value> = jobs.into_iter().map(job).collect();
    let versions: Vec<&String> = versions.iter().map(|release| &release.version).collect();
    Ok(answer::json(
        &json!({"packages": [], "jobs": jobs, "versions": versions}),
    ))
}

/// A job without packages. It has no archive here, so its digests are those of its name.
fn job(name: &JobName) -> Value {
    let fingerprint = hex(digest::digest(&digest::SHA256, name.as_ref().as_bytes()).as_ref());
    json!({
        "name": name,
        "sha1": format!("sha256:{fingerprint}"),
        "version": fingerprint,
        "packages": [],
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Stemcells, each with the deployments that use it.
pub(super) async fn stemcells(
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let shown: Vec<Value> = director
        .uploads()
        .stemcells
        .iter()
        .enumerate()
        .map(|(location, stemcell)| {
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
                "api_version": null,
                "id": location + 1,
            })
        })
        .collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}
