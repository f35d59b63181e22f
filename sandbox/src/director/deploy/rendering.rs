//! Renders the jobs of instances, or says for all of them together why that cannot be done.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use serde_json::Value;
use uuid::Uuid;

use super::{
    interpolation::interpolated,
    links::Links,
    plan::{PlannedGroup, PlannedJob},
    target::TargetInstance,
};
use crate::{
    cpi::{Cpi, InstanceFacts, JobContext, RenderedJob, render},
    director::{
        DirectorSettings,
        deployments::Digest,
        ids::DeploymentName,
        tasks::{TaskFailure, chain},
        variables::{Reference, ResolutionError, Variables},
    },
};

pub(super) struct Renderer<'a> {
    pub(super) deployment: &'a DeploymentName,
    pub(super) settings: &'a DirectorSettings,
    pub(super) variables: &'a Variables,
    pub(super) cpi: &'a Cpi,
    pub(super) links: &'a Links,
    /// The variables that were looked up: absolute name ⇒ id of the value.
    pub(super) used: BTreeMap<String, Uuid>,
}

/// The jobs of one instance, with the digests that distinguish them from those of another deploy.
pub(super) struct RenderedInstance {
    pub(super) jobs: Vec<RenderedJob>,
    pub(super) jobs_digest: Digest,
    /// The digest of the inputs of its jobs, independent of their VM.
    pub(super) inputs: Digest,
}

impl Renderer<'_> {
    /// Renders every instance of these groups, in the same order.
    pub(super) fn render_all(
        &mut self,
        groups: &[(&PlannedGroup, &[TargetInstance])],
    ) -> Result<Vec<Vec<RenderedInstance>>, TaskFailure> {
        let mut rendered = Vec::new();
        let mut errors = Vec::new();
        for (group, instances) in groups {
            match self.render_group(group, instances) {
                Ok(instances) => rendered.push(instances),
                Err(jobs) => errors.push(format!(
                    "  - Unable to render jobs for instance group '{}'. Errors are:\n{}",
                    group.name,
                    jobs.join("\n")
                )),
            }
        }
        if errors.is_empty() {
            Ok(rendered)
        } else {
            Err(TaskFailure::Rendering(errors.join("\n")))
        }
    }

    pub(super) fn render_one(
        &mut self,
        group: &PlannedGroup,
        instance: &TargetInstance,
    ) -> Result<RenderedInstance, TaskFailure> {
        let mut rendered = self.render_all(&[(group, std::slice::from_ref(instance))])?;
        let only = rendered.pop().and_then(|mut instances| instances.pop());
        only.ok_or_else(|| TaskFailure::Rendering(String::new()))
    }

    fn render_group(
        &mut self,
        group: &PlannedGroup,
        instances: &[TargetInstance],
    ) -> Result<Vec<RenderedInstance>, Vec<String>> {
        let mut rendered = Vec::new();
        for instance in instances {
            // Every instance of a group fails for the same reasons, so the first says it all.
            rendered.push(self.render_instance(group, instance)?);
        }
        Ok(rendered)
    }

    fn render_instance(
        &mut self,
        group: &PlannedGroup,
        instance: &TargetInstance,
    ) -> Result<RenderedInstance, Vec<String>> {
        let mut jobs = Vec::new();
        let mut errors = Vec::new();
        let mut inputs = digest::Context::new(&digest::SHA256);
        inputs.update(group.packages().as_bytes());
        for job in &group.jobs {
            match self.render_job(group, job, instance, &mut inputs) {
                Ok(rendered) => jobs.push(rendered),
                Err(faults) => errors.push(format!(
                    "    - Unable to render templates for job '{}'. Errors are:\n{}",
                    job.name,
                    faults
                        .iter()
                        .map(|fault| format!("      {fault}"))
                        .collect::<Vec<_>>()
                        .join("\n")
                )),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(group.packages().as_bytes());
        for job in &jobs {
            job.digest(&mut hash);
        }
        Ok(RenderedInstance {
            jobs,
            jobs_digest: hash.finish().into(),
            inputs: inputs.finish().into(),
        })
    }

    fn render_job(
        &mut self,
        group: &PlannedGroup,
        job: &PlannedJob,
        instance: &TargetInstance,
        inputs: &mut digest::Context,
    ) -> Result<RenderedJob, Vec<String>> {
        let properties = self.interpolate(&job.properties);
        let links = self.interpolate(&self.links.of(&group.name, &job.name));
        let (properties, links) = match (properties, links) {
            (Ok(properties), Ok(links)) => (properties, links),
            (properties, links) => {
                let faults = [properties.err(), links.err()];
                return Err(faults.into_iter().flatten().flatten().collect());
            }
        };
        for reported in [&properties, &links] {
            inputs.update(reported.to_string().as_bytes());
        }
        let vm = &instance.vm;
        let data = self.cpi.data_folder(&vm.cid);
        let context = JobContext {
            properties,
            links,
            address: vm.address(),
            instance: InstanceFacts {
                group: group.name.to_string(),
                index: instance.index,
                id: instance.id.to_string(),
            },
            job: self.cpi.job_facts(&vm.cid, &job.name),
            data: data.display().to_string(),
            deployment: self.deployment.to_string(),
        };
        render(&job.job, &context).map_err(|error| vec![format!("- {}", chain(&error))])
    }

    /// Replaces references by values. Errors are returned as lines.
    fn interpolate(&mut self, value: &Value) -> Result<Value, Vec<String>> {
        let (director, deployment) = (&self.settings.name, self.deployment.as_ref());
        let (variables, used) = (self.variables, &mut self.used);
        let resolved = interpolated(value, &mut |text: &str| {
            let reference = Reference::parse(text, director, deployment)?;
            let in_use = used.get(&reference.name).copied();
            let (id, value) = variables.look_up(&reference, in_use)?;
            used.insert(reference.name, id);
            Ok(value)
        });
        resolved.map_err(|faults| error_lines(&faults))
    }
}

/// An error that the Director raises at once hides those that it collects.
fn error_lines(faults: &[ResolutionError]) -> Vec<String> {
    match faults.iter().find(|fault| !fault.is_collected()) {
        Some(fault) => vec![fault.to_string()],
        None => faults.iter().map(|fault| format!("- {fault}")).collect(),
    }
}
