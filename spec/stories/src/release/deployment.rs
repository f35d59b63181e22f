//! Every job of this release in a BOSH manifest.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};

use super::{Jobs, Link, Rejection, Rendered, render_all};

/// The name of this project's release.
const RELEASE: &str = "on-demand-broker";

/// A BOSH manifest without variables, whose jobs are to be rendered.
#[derive(Clone, Debug)]
pub struct Deployment {
    manifest: Value,
    jobs: Jobs,
    elsewhere: BTreeMap<(String, String), Link>,
    addresses: BTreeMap<String, String>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum DeploymentRejection {
    /// The manifest names a job that the release does not have.
    #[error("release `on-demand-broker` has no job `{job}`, which instance group `{group}` has")]
    UnknownJob { group: String, job: String },
    /// A job consumes a link without a provider, or with more than one.
    #[error("could not resolve link `{link}` of job `{job}` in instance group `{group}`: {reason}")]
    Link {
        group: String,
        job: String,
        /// The link, as the job calls it.
        link: String,
        reason: String,
    },
    #[error(transparent)]
    Job(#[from] Rejection),
}

#[derive(Clone, Debug)]
pub struct RenderedDeployment {
    instances: Vec<RenderedInstance>,
}

/// The rendered jobs of one instance.
#[derive(Clone, Debug)]
pub struct RenderedInstance {
    group: String,
    index: u64,
    jobs: Vec<Rendered>,
}

struct Location<'a> {
    group: &'a Value,
    job: &'a Value,
}

struct Provider<'a> {
    location: Location<'a>,
    link: String,
    alias: String,
    kind: String,
}

impl Deployment {
    /// The deployment that a manifest describes, of the sources in `release/jobs`.
    pub fn of(manifest: &Value) -> Self {
        Self {
            manifest: manifest.clone(),
            jobs: Jobs::of_project(),
            elsewhere: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// With the jobs of another release, as unpacked from a tarball.
    #[must_use]
    pub fn with_jobs(mut self, jobs: Jobs) -> Self {
        self.jobs = jobs;
        self
    }

    /// With a link that another deployment shares under this name.
    #[must_use]
    pub fn with_link_of(mut self, deployment: &str, name: &str, link: Link) -> Self {
        let key = (deployment.to_owned(), name.to_owned());
        self.elsewhere.insert(key, link);
        self
    }

    /// With the address that instances of a group have. Without it they have made-up ones.
    #[must_use]
    pub fn with_address(mut self, group: &str, address: &str) -> Self {
        self.addresses.insert(group.to_owned(), address.to_owned());
        self
    }

    pub fn render(&self) -> Result<RenderedDeployment, DeploymentRejection> {
        let mut renderings = Vec::new();
        let mut owners = Vec::new();
        for location in self.locations() {
            let name = location.job_name();
            if !self.jobs.has(name) {
                return Err(DeploymentRejection::UnknownJob {
                    group: location.group_name().to_owned(),
                    job: name.to_owned(),
                });
            }
            let links = self.links_of(&location)?;
            for index in 0..location.instances() {
                let instance = self.instance(location.group, index);
                let rendering = self.jobs.rendering(name).properties(location.properties());
                let rendering = links
                    .iter()
                    .fold(rendering.on(&instance), |rendering, (name, link)| {
                        rendering.link(name, link)
                    });
                renderings.push(rendering);
                owners.push((location.group_name().to_owned(), index));
            }
        }
        let mut instances: Vec<RenderedInstance> = Vec::new();
        for ((group, index), outcome) in owners.into_iter().zip(render_all(renderings)) {
            let job = outcome?;
            let known = instances
                .iter_mut()
                .find(|instance| instance.group == group && instance.index == index);
            match known {
                Some(instance) => instance.jobs.push(job),
                None => instances.push(RenderedInstance {
                    group,
                    index,
                    jobs: vec![job],
                }),
            }
        }
        Ok(RenderedDeployment { instances })
    }

    /// The jobs of this release, in the order of the manifest.
    fn locations(&self) -> Vec<Location<'_>> {
        let groups = items(&self.manifest["instance_groups"]);
        let locations = groups.flat_map(|group| {
            let jobs = items(&group["jobs"]);
            jobs.map(move |job| Location { group, job })
        });
        locations
            .filter(|location| location.job["release"] == RELEASE)
            .collect()
    }

    fn providers(&self) -> Vec<Provider<'_>> {
        let locations = self
            .locations()
            .into_iter()
            .filter(|location| self.jobs.has(location.job_name()));
        let mut providers = Vec::new();
        for location in locations {
            let specification = self.jobs.specification(location.job_name());
            for provided in items(&specification["provides"]) {
                let link = text(&provided["name"]);
                let reported = &location.job["provides"][link];
                if is_refused(reported) {
                    continue;
                }
                providers.push(Provider {
                    location: Location { ..location },
                    link: link.to_owned(),
                    alias: reported["as"].as_str().unwrap_or(link).to_owned(),
                    kind: text(&provided["type"]).to_owned(),
                });
            }
        }
        providers
    }

    fn links_of(
        &self,
        location: &Location<'_>,
    ) -> Result<Vec<(String, Link)>, DeploymentRejection> {
        let specification = self.jobs.specification(location.job_name());
        let mut links = Vec::new();
        for consumed in items(&specification["consumes"]) {
            let name = text(&consumed["name"]);
            let found = self.link(&location.job["consumes"][name], consumed);
            let found = found.map_err(|reason| DeploymentRejection::Link {
                group: location.group_name().to_owned(),
                job: location.job_name().to_owned(),
                link: name.to_owned(),
                reason,
            })?;
            links.extend(found.map(|link| (name.to_owned(), link)));
        }
        Ok(links)
    }

    /// The link that a job asks for, given what the manifest says of it.
    fn link(&self, reported: &Value, consumed: &Value) -> Result<Option<Link>, String> {
        if is_refused(reported) {
            return Ok(None);
        }
        if reported.get("instances").is_some() {
            return Ok(Some(written_out(reported)));
        }
        let kind = text(&consumed["type"]);
        let from = reported["from"].as_str();
        if let Some(deployment) = reported["deployment"].as_str()
            && self.manifest["name"] != deployment
        {
            let name = from.unwrap_or(text(&consumed["name"]));
            let key = (deployment.to_owned(), name.to_owned());
            let link = self.elsewhere.get(&key).cloned();
            return link.map(Some).ok_or_else(|| {
                format!("deployment `{deployment}` shares no link `{name}` of type `{kind}`")
            });
        }
        let mut providers = self.providers();
        providers.retain(|provider| {
            provider.kind == kind && from.is_none_or(|from| provider.alias == from)
        });
        match providers.as_slice() {
            [] if from.is_none() && consumed["optional"] == true => Ok(None),
            [] => Err(format!("no job provides a link of type `{kind}`")),
            [provider] => Ok(Some(self.provided(provider))),
            _ => Err(format!(
                "more than one job provides a link of type `{kind}`"
            )),
        }
    }

    fn provided(&self, provider: &Provider<'_>) -> Link {
        let location = &provider.location;
        let link = Link::provided_by(
            &self.jobs,
            location.job_name(),
            &provider.link,
            &location.properties(),
        );
        (0..location.instances())
            .fold(link, |link, index| {
                let instance = self.instance(location.group, index);
                link.with_instance(location.group_name(), text(&instance["address"]))
            })
            .with_address(&self.dns_name("q-s0", location.group))
    }

    fn instance(&self, group: &Value, index: u64) -> Value {
        let name = text(&group["name"]);
        let network = text(&group["networks"][0]["name"]);
        let zones = items(&group["azs"]).map(text).collect::<Vec<_>>();
        let position = usize::try_from(index).expect("instances are few");
        let zone = zones
            .get(position.checked_rem(zones.len()).unwrap_or(0))
            .copied();
        let id = format!("id-of-{name}-{index}");
        let reported = self.addresses.get(name).cloned();
        let ip = reported
            .clone()
            .unwrap_or_else(|| format!("10.0.16.{}", 4 + index));
        let has_names = self.manifest["features"]["use_dns_addresses"] == true;
        let address = if has_names && reported.is_none() {
            self.dns_name(&id, group)
        } else {
            ip.clone()
        };
        json!({
            "deployment": self.manifest["name"],
            "name": name,
            "index": index,
            "id": id,
            "az": zone,
            "bootstrap": index == 0,
            "ip": ip,
            "address": address,
            "networks": { network: { "ip": ip } },
        })
    }

    fn dns_name(&self, host: &str, group: &Value) -> String {
        let parts = [
            text(&group["name"]),
            text(&group["networks"][0]["name"]),
            text(&self.manifest["name"]),
        ];
        let domain = parts.join(".").replace('_', "-").to_lowercase();
        format!("{host}.{domain}.bosh")
    }
}

impl RenderedDeployment {
    pub fn instances(&self) -> &[RenderedInstance] {
        &self.instances
    }

    /// A job, on the first instance that has it.
    pub fn job(&self, name: &str) -> &Rendered {
        let jobs = self.instances.iter().flat_map(|instance| &instance.jobs);
        let mut jobs = jobs.filter(|job| job.job() == name);
        jobs.next()
            .unwrap_or_else(|| panic!("no instance has job `{name}`"))
    }

    /// Puts every job into `ROOT/jobs`, as if all were on one VM whose `/var/vcap` is the folder ROOT.
    pub fn write_to(&self, root: &Path) {
        for job in self.instances.iter().flat_map(|instance| &instance.jobs) {
            let folder = root.join("jobs").join(job.job());
            job.clone().relocated(root).write_to(&folder);
        }
    }
}

impl RenderedInstance {
    pub fn group(&self) -> &str {
        &self.group
    }

    pub fn index(&self) -> u64 {
        self.index
    }

    /// The jobs of this release, in the order of the manifest.
    pub fn jobs(&self) -> &[Rendered] {
        &self.jobs
    }
}

impl Location<'_> {
    fn group_name(&self) -> &str {
        text(&self.group["name"])
    }

    fn job_name(&self) -> &str {
        text(&self.job["name"])
    }

    fn properties(&self) -> Value {
        match &self.job["properties"] {
            Value::Null => json!({}),
            properties => properties.clone(),
        }
    }

    fn instances(&self) -> u64 {
        self.group["instances"].as_u64().unwrap_or(1)
    }
}

fn written_out(reported: &Value) -> Link {
    let properties = match &reported["properties"] {
        Value::Null => json!({}),
        properties => properties.clone(),
    };
    let link = items(&reported["instances"])
        .fold(Link::with_properties(&properties), |link, instance| {
            link.with_instance("", text(&instance["address"]))
        });
    match reported["address"].as_str() {
        Some(address) => link.with_address(address),
        None => link,
    }
}

/// `nil`, which a manifest says in place of a link, is a text.
fn is_refused(reported: &Value) -> bool {
    reported == "nil"
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
