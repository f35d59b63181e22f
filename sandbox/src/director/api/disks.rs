//! `GET /disks`: persistent disks that belong to no instance any more.

use actix_web::{HttpResponse, web::Data};
use serde_json::{Value, json};

use super::{Rejection, answer, caller::Caller};
use crate::director::Director;

/// All orphaned disks. The route names no scope, so the default counts: an administrator's (cloudfoundry/bosh,
/// `api/controllers/disks_controller.rb`, `api/extensions/scoping.rb`).
pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    caller.may_administer()?;
    let orphans = director.inner.cpi.orphaned_disks();
    let shown: Vec<Value> = orphans
        .iter()
        .map(|disk| {
            json!({
                "disk_cid": disk.disk_cid,
                "size": disk.size,
                "az": disk.az,
                "deployment_name": disk.deployment_name,
                "instance_name": disk.instance_name,
                "cloud_properties": {},
                "orphaned_at": disk.orphaned_at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            })
        })
        .collect();
    Ok(answer::json(&shown))
}
