//! The VMs of a deployment.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{DeploymentName, Director, DirectorError};
use crate::http::Call;

impl Director {
    /// The addresses of a deployment's VMs, by instance group and in the order of the instances'
    /// indexes. Safe to repeat.
    ///
    /// They come from the Director's database, so no task is needed and no agent has to answer.
    /// VMs that stand by to replace another are left out.
    #[tracing::instrument(name = "director.vms", skip_all, fields(deployment = %deployment))]
    pub async fn vms(
        &self,
        call: &Call,
        deployment: &DeploymentName,
    ) -> Result<BTreeMap<String, Vec<String>>, DirectorError> {
        let mut vms: Vec<Vm> = self
            .read(call, &["deployments", deployment.as_str(), "vms"], &[])
            .await?;
        vms.sort_by_key(|vm| vm.index);
        let mut groups = BTreeMap::<String, Vec<String>>::new();
        for vm in vms.into_iter().filter(|vm| vm.active != Some(false)) {
            if let Some(group) = vm.job {
                groups
                    .entry(group)
                    .or_default()
                    .extend(vm.ips.unwrap_or_default());
            }
        }
        Ok(groups)
    }
}

#[derive(Deserialize)]
struct Vm {
    job: Option<String>,
    index: Option<u64>,
    ips: Option<Vec<String>>,
    active: Option<bool>,
}
