//! The task that runs an errand.

use std::{collections::BTreeMap, fmt::Write};

use aws_lc_rs::digest;
use odb_adapter_sdk::yaml;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{
    instances::{create_missing_vms, delete_vm, update_instances},
    links::Links,
    plan::{Plan, PlannedGroup},
    prepare::{TargetInstance, linked_as_deployed, planned, target},
    rendering::{RenderedInstance, Renderer},
    selection::{self, InstanceSelector},
    update::find_packages,
};
use crate::{
    cpi::{ErrandOutput, JobName, RenderedJob},
    director::{
        Director,
        deployments::{Deployment, Digest, Lifecycle},
        ids::{DeploymentName, GroupName, InstanceId},
        tasks::{OutputType, TaskFailure, TaskRun, chain},
    },
};

/// An errand that is to be run.
pub(in crate::director) struct ErrandOrder {
    pub(in crate::director) errand: String,
    pub(in crate::director) selectors: Vec<InstanceSelector>,
    /// The selectors as they were sent, for the error that nothing passes them.
    pub(in crate::director) selectors_as_sent: Value,
    pub(in crate::director) vms: AfterErrand,
    pub(in crate::director) when: RunWhen,
}

/// What becomes of the VMs of an errand group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum AfterErrand {
    DeleteVms,
    KeepVms,
}

/// When an errand is run at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::director) enum RunWhen {
    Always,
    /// Only if it would run differently from when it last succeeded.
    Changed,
}

/// A place where the errand runs, ready to do so.
struct Place<'a> {
    group: &'a PlannedGroup,
    job: JobName,
    target: TargetInstance,
    rendered: RenderedInstance,
}

/// What came of an errand on one instance, a line of the task's result.
#[derive(Serialize)]
struct ErrandResult<'a> {
    instance: ErrandInstance<'a>,
    errand_name: &'a str,
    exit_code: i32,
    stdout: String,
    stderr: String,
    logs: Logs,
}

#[derive(Serialize)]
struct ErrandInstance<'a> {
    group: &'a GroupName,
    id: InstanceId,
}

#[derive(Serialize)]
struct Logs {
    blobstore_id: Uuid,
    sha1: String,
}

/// How many instances the errand ended well on, badly, or was killed on.
#[derive(Default)]
struct Tally {
    succeeded: usize,
    errored: usize,
    cancelled: usize,
}

/// The errands of a deployment.
pub(in crate::director) fn errand_names(
    director: &Director,
    deployment: &DeploymentName,
) -> Result<Vec<String>, TaskFailure> {
    let row = director
        .inner
        .deployments
        .find(deployment.as_ref())
        .unwrap_or_default();
    match row.manifest {
        None => Ok(Vec::new()),
        Some(manifest) => Ok(selection::names(&stored_plan(
            director, deployment, &manifest,
        )?)),
    }
}

/// Runs an errand where it is to run. One that fails does not fail the task: its exit status is part of the result.
pub(in crate::director) async fn run_errand(
    run: &TaskRun,
    order: ErrandOrder,
) -> Result<String, TaskFailure> {
    let deployments = &run.director.inner.deployments;
    let row = deployments
        .find(run.deployment.as_ref())
        .unwrap_or_default();
    let stage = run.events.stage("Preparing deployment", 1);
    let step = stage.start("Preparing deployment", 1);
    let plan = match plan_with(&run.director, &run.deployment, &row, &order.errand) {
        Ok(plan) => plan,
        Err(failure) => return step.end(Err(failure)),
    };
    let places = step.end(places(run, &plan, &row, &order))?;

    let digest = digest_of(&places);
    if order.when == RunWhen::Changed && row.errand_successes.get(&order.errand) == Some(&digest) {
        return Ok("skipped - no changes detected".to_owned());
    }
    let outcome = run_at(run, &order.errand, &places).await;
    if order.vms == AfterErrand::DeleteVms {
        for place in places.iter().filter(|place| place.has_own_vm()) {
            delete_vm(run, &place.target).await?;
        }
    }
    let tally = outcome?;
    if tally.errored + tally.cancelled == 0 {
        deployments.update(&run.deployment, |row| {
            row.errand_successes.insert(order.errand, digest);
        });
    }
    Ok(tally.to_string())
}

fn stored_plan(
    director: &Director,
    deployment: &DeploymentName,
    manifest: &str,
) -> Result<Plan, TaskFailure> {
    let document: Value =
        yaml::from_str(manifest).map_err(|error| TaskFailure::Unexpected(error.to_string()))?;
    planned(director, deployment, &document)
}

fn plan_with(
    director: &Director,
    deployment: &DeploymentName,
    row: &Deployment,
    errand: &str,
) -> Result<Plan, TaskFailure> {
    match &row.manifest {
        Some(manifest) => stored_plan(director, deployment, manifest),
        None => Err(TaskFailure::NoSuchErrand(errand.to_owned())),
    }
}

/// Finds the instances to run on, and renders what they need.
fn places<'a>(
    run: &TaskRun,
    plan: &'a Plan,
    row: &Deployment,
    order: &ErrandOrder,
) -> Result<Vec<Place<'a>>, TaskFailure> {
    let director = &run.director.inner;
    let errand = selection::errand(&order.errand, plan)?;
    let selected = selection::instances(&errand, row, &order.selectors, &order.selectors_as_sent)?;
    if selected
        .iter()
        .any(|(group, ..)| group.lifecycle == Lifecycle::Errand)
    {
        find_packages(&run.events);
    }
    let links = Links::resolve(&run.deployment, plan, &linked_as_deployed(plan, row))?;
    let mut templates = Renderer {
        deployment: &run.deployment,
        settings: &director.settings,
        variables: &director.variables,
        cpi: &director.cpi,
        links: &links,
        used: BTreeMap::new(),
    };
    let mut places = Vec::new();
    for (group, job, instance) in selected {
        if group.lifecycle == Lifecycle::Service && instance.vm.is_none() {
            let text = format!("Instance '{}' doesn't reference a VM", instance.label());
            return Err(TaskFailure::Unexpected(text));
        }
        let target = target(run, &instance, group)?;
        let rendered = templates.render_one(group, &target)?;
        places.push(Place {
            group,
            job,
            target,
            rendered,
        });
    }
    Ok(places)
}

fn digest_of(places: &[Place<'_>]) -> Digest {
    let mut all = digest::Context::new(&digest::SHA256);
    for place in places {
        all.update(place.rendered.inputs.as_bytes());
    }
    all.finish().into()
}

async fn run_at(run: &TaskRun, errand: &str, places: &[Place<'_>]) -> Result<Tally, TaskFailure> {
    let own_vm: Vec<&Place<'_>> = places.iter().filter(|place| place.has_own_vm()).collect();
    let targets: Vec<&TargetInstance> = own_vm.iter().map(|place| &place.target).collect();
    create_missing_vms(run, &targets).await?;
    for place in own_vm {
        let instance = [(&place.target, &place.rendered)];
        update_instances(run, &place.group.name, place.group.update, &instance).await?;
    }
    let stage = run.events.stage("Running errand", places.len());
    let mut tally = Tally::default();
    for (index, place) in places.iter().enumerate() {
        run.checkpoint()?;
        let step = stage.start(&place.target.label, index + 1);
        let output = step.end(output(run, place).await)?;
        fetch_logs(run, place)?;
        tally.count(output.exit_code);
        write_result(run, errand, place, output);
    }
    Ok(tally)
}

async fn output(run: &TaskRun, place: &Place<'_>) -> Result<ErrandOutput, TaskFailure> {
    let job = place
        .rendered
        .jobs
        .iter()
        .find(|job| *job.name() == place.job);
    let job: &RenderedJob = job.ok_or_else(|| TaskFailure::NoSuchErrand(place.job.to_string()))?;
    let running = run.director.inner.cpi.run_errand(&place.target.vm, job);
    let output = run.unless_cancelled(running).await?;
    output.map_err(|error| TaskFailure::Errand(chain(&error)))
}

fn fetch_logs(run: &TaskRun, place: &Place<'_>) -> Result<(), TaskFailure> {
    let stage = run
        .events
        .stage(format!("Fetching logs for {}", place.target.label), 1);
    stage.start("Finding and packing log files", 1).end(Ok(()))
}

fn write_result(run: &TaskRun, errand: &str, place: &Place<'_>, output: ErrandOutput) {
    let sha1 = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, output.stdout.as_bytes());
    let result = ErrandResult {
        instance: ErrandInstance {
            group: &place.group.name,
            id: place.target.id,
        },
        errand_name: errand,
        exit_code: output.exit_code,
        stdout: output.stdout,
        stderr: output.stderr,
        logs: Logs {
            blobstore_id: Uuid::new_v4(),
            sha1: hex(sha1.as_ref()),
        },
    };
    let line = serde_json::to_string(&result).expect("results are texts and numbers");
    run.director
        .inner
        .tasks
        .write_line(run.task, OutputType::Result, &line);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Place<'_> {
    /// Whether the VM is there for the errand alone.
    fn has_own_vm(&self) -> bool {
        self.group.lifecycle == Lifecycle::Errand
    }
}

impl Tally {
    fn count(&mut self, exit_code: i32) {
        match exit_code {
            0 => self.succeeded += 1,
            129.. => self.cancelled += 1,
            _ => self.errored += 1,
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} succeeded, {} errored, {} canceled",
            self.succeeded, self.errored, self.cancelled
        )
    }
}
