//! Digests that identify a foundation, an executable and the current target of each plan: what the broker deploys today
//! (`docs/contributing/architecture.md`, "What is deployed today").
//!
//! A target is a digest of everything that decides the manifest of an instance without user parameters: comparing two
//! shows only whether an upgrade would change something. It is written to operation records and to the management API,
//! while plan properties may hold secrets. It has no salt, because successive brokers have to compute the same one. A
//! short secret could be confirmed only by a reader who knows all other inputs, including the adapter's executable, and
//! readers of operation records may read the manifests themselves.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::Path,
};

use aws_lc_rs::digest::{Context, Digest, SHA256, digest};
use odb_adapter_sdk::protocol::Plan as AdapterPlan;
use odb_api_types::{ids::PlanId, management::Target};
use odb_config::{Offering, ServiceSoftware};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::adapter::plan_for_adapter;

const CHUNK: usize = 64 * 1024;

/// How many bytes of the digest distinguish foundations.
const LENGTH: usize = 8;

pub(crate) fn sha256(content: impl AsRef<[u8]>) -> Digest {
    digest(&SHA256, content.as_ref())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Identifies a foundation: a short digest of its Cloud Controller's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Foundation(String);

impl Foundation {
    /// The foundation whose Cloud Controller has this address, in any spelling.
    pub(crate) fn of(cloud_controller: &str) -> Self {
        let address = cloud_controller.trim_end_matches('/').to_lowercase();
        Self(hex(&sha256(address).as_ref()[..LENGTH]))
    }
}

/// A digest of the executable file of an adapter. Files that it loads or starts do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutableDigest(String);

impl ExecutableDigest {
    /// Reads the executable to its end. Blocks.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut context = Context::new(&SHA256);
        let mut chunk = vec![0; CHUNK];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(Self(hex(context.finish().as_ref()))),
                Ok(read) => context.update(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Of this content.
    pub fn of(content: &[u8]) -> Self {
        Self(hex(sha256(content).as_ref()))
    }

    /// The digest in one word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes of a digest that are kept: enough that two deployments do not look the same by chance.
const KEPT: usize = 8;

/// The current target of each plan, and of all together.
#[derive(Clone, Debug)]
pub struct Targets {
    of_plans: BTreeMap<PlanId, Target>,
    of_all: Target,
}

impl Targets {
    /// The targets of the configuration and this adapter.
    pub fn new(
        offering: &Offering,
        software: &ServiceSoftware,
        adapter: &ExecutableDigest,
    ) -> Self {
        let of_plans = offering.plans.iter().map(|plan| {
            let seen = plan_for_adapter(offering, plan);
            (plan.id.clone(), target(&seen, software, adapter))
        });
        let of_plans: BTreeMap<_, _> = of_plans.collect();
        Self {
            of_all: target_of(json!(of_plans)),
            of_plans,
        }
    }

    /// The current target of a plan; `None` for a plan outside of the catalog.
    pub fn of(&self, plan: &PlanId) -> Option<&Target> {
        self.of_plans.get(plan)
    }

    /// The current target of all plans together.
    pub fn of_all(&self) -> &Target {
        &self.of_all
    }
}

fn target(plan: &AdapterPlan, software: &ServiceSoftware, adapter: &ExecutableDigest) -> Target {
    target_of(json!({
        "plan": plan,
        "releases": software.releases,
        "stemcells": software.stemcells,
        "adapter": adapter.as_str(),
    }))
}

/// The order of keys does not count. Numbers do as they are written: an adapter may write them as they are, too.
fn target_of(mut of: Value) -> Target {
    of.sort_all_objects();
    Target::from(hex(&sha256(of.to_string()).as_ref()[..KEPT]))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use odb_config::Config;

    use super::*;

    #[test]
    fn addresses_report_foundations_apart_however_they_are_spelled() {
        let one = Foundation::of("https://api.one.example");
        assert_eq!(one, Foundation::of("https://API.one.example/"));
        assert_ne!(one, Foundation::of("https://api.two.example"));
    }

    #[test]
    fn a_file_is_read_to_its_end_and_one_byte_makes_another_digest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("adapter");
        let mut content = vec![7; 3 * CHUNK + 5];
        fs::write(&path, &content).unwrap();
        let digest = ExecutableDigest::read(&path).unwrap();
        assert_eq!(digest, ExecutableDigest::of(&content));
        *content.last_mut().unwrap() = 8;
        fs::write(&path, &content).unwrap();
        assert_ne!(digest, ExecutableDigest::read(&path).unwrap());
    }

    const PLAIN: &str = "
broker: {port: 8080, username: broker, password: hunter2-broker}
bosh:
  url: https://director.example
  authentication: {uaa: {client_credentials: {client_id: odb, client_secret: hunter2-bosh}}}
cf:
  url: https://api.example
  uaa:
    url: https://uaa.example
    authentication: {client_credentials: {client_id: odb, client_secret: hunter2-cf}}
service_adapter: {path: ADAPTER}
service_deployment:
  releases: [{name: redis, version: 1.2.3, jobs: [redis]}]
  stemcells: [{os: ubuntu-jammy, version: '1.44'}]
service_catalog:
  id: offering-1
  service_name: redis
  service_description: A store
  bindable: true
  plan_updatable: true
  global_properties: {shared: all}
  plans:
  - plan_id: small-id
    name: small
    description: A small one
    quotas: {service_instance_limit: 5}
    properties: {own: 1, other: {a: 1, b: 2}, password: pass-0001}
    instance_groups:
    - {name: redis, vm_type: small, instances: 1, networks: [private], azs: [z1]}
    update: {canaries: 1, max_in_flight: 1, canary_watch_time: 1000-2000, update_watch_time: 1000-2000}
    lifecycle_errands:
      post_deploy: [{name: health-check}]
      pre_delete: [{name: cleanup-data}]
  - plan_id: large-id
    name: large
    description: Another one
    properties: {big: true}
    instance_groups:
    - {name: redis, vm_type: huge, instances: 3, networks: [other], azs: [z1]}
";

    fn targets_with(adapter: &str, changes: &[(&str, &str)]) -> Targets {
        let executable = std::env::current_exe().unwrap();
        let mut text = PLAIN.replace("ADAPTER", &executable.display().to_string());
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        let config = Config::parse(Path::new("broker.yml"), &text)
            .unwrap()
            .config;
        let adapter = ExecutableDigest::of(adapter.as_bytes());
        Targets::new(&config.offering, &config.software, &adapter)
    }

    fn small(targets: &Targets) -> Target {
        targets.of(&"small-id".to_owned().into()).unwrap().clone()
    }

    #[test]
    fn whatever_decides_on_a_manifest_makes_another_target() {
        let changes = [
            ("own: 1", "own: 2"),
            ("own: 1", "own: 1.0"),
            ("shared: all", "shared: none"),
            ("password: pass-0001", "password: pass-0002"),
            ("instances: 1", "instances: 2"),
            ("vm_type: small", "vm_type: large"),
            ("networks: [private]", "networks: [public]"),
            ("canaries: 1", "canaries: 2"),
            ("name: health-check", "name: smoke-test"),
            ("name: cleanup-data", "name: keep-data"),
            ("version: 1.2.3", "version: 1.2.4"),
            ("jobs: [redis]", "jobs: [redis, exporter]"),
            ("version: '1.44'", "version: '1.45'"),
            ("os: ubuntu-jammy", "os: ubuntu-noble"),
        ];
        let mut seen = BTreeSet::new();
        seen.insert(small(&targets_with("adapter", &[])).to_string());
        seen.insert(small(&targets_with("another adapter", &[])).to_string());
        for change in changes {
            seen.insert(small(&targets_with("adapter", &[change])).to_string());
        }
        assert_eq!(seen.len(), changes.len() + 2);
    }

    #[test]
    fn what_does_not_decide_on_it_makes_no_other() {
        let plain = targets_with("adapter", &[]);
        for change in [
            (
                "{own: 1, other: {a: 1, b: 2},",
                "{other: {b: 2, a: 1}, own: 1,",
            ),
            ("description: A small one", "description: The small one"),
            ("service_instance_limit: 5", "service_instance_limit: 6"),
            (
                "service_description: A store",
                "service_description: The store",
            ),
            ("port: 8080", "port: 8081"),
        ] {
            let changed = targets_with("adapter", &[change]);
            assert_eq!(small(&changed), small(&plain), "{change:?}");
            assert_eq!(changed.of_all(), plain.of_all());
        }
    }

    #[test]
    fn the_target_of_all_plans_changes_with_that_of_any_plan() {
        let plain = targets_with("adapter", &[]);
        let other = targets_with("adapter", &[("big: true", "big: false")]);
        assert_eq!(small(&plain), small(&other));
        assert_ne!(plain.of_all(), other.of_all());
        assert_eq!(plain.of(&"gone".to_owned().into()), None);
    }

    #[test]
    fn nothing_can_be_read_in_a_target() {
        let plain = small(&targets_with("adapter", &[]));
        let text = plain.as_str();
        assert_eq!(text.len(), 2 * KEPT);
        assert!(text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
