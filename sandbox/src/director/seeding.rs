//! Access to configs for seeding a fleet.

use super::{Director, configs::NewConfig};
use crate::cpi::VmCid;

/// A config as a client would post it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededConfig {
    pub kind: String,
    pub name: String,
    pub content: String,
    pub team: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedVm {
    /// The instance: `group/id`.
    pub instance: String,
    pub vm: VmCid,
}

impl Director {
    /// Adds a config, or a version of one.
    pub fn seed_config(&self, seeded: SeededConfig) {
        let new = NewConfig {
            kind: seeded.kind,
            name: seeded.name,
            content: seeded.content,
            team: seeded.team.map(Into::into),
            expected_latest: None,
        };
        // Nothing was expected, so it cannot be stale.
        let _ = self.inner.configs.post(new);
    }

    /// The latest versions of all configs of a type: name and content.
    pub fn configs_of_type(&self, kind: &str) -> Vec<(String, String)> {
        let configs = self.inner.configs.latest_of(kind).into_iter();
        configs
            .map(|config| (config.name, config.content))
            .collect()
    }

    /// The manifest of a deployment, if it has one.
    pub fn manifest(&self, deployment: &str) -> Option<String> {
        self.inner.deployments.find(deployment)?.manifest.clone()
    }

    /// The VMs of a deployment, or nothing when there is no such deployment.
    pub fn deployed_vms(&self, deployment: &str) -> Option<Vec<DeployedVm>> {
        let found = self.inner.deployments.find(deployment)?;
        let instances = found.instances.iter();
        Some(
            instances
                .filter_map(|instance| {
                    Some(DeployedVm {
                        instance: instance.name(),
                        vm: instance.vm.as_ref()?.cid.clone(),
                    })
                })
                .collect(),
        )
    }
}
