//! The task that runs an errand.

use std::fmt::Write;

use aws_lc_rs::digest;
use futures_util::{FutureExt, StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    agents::AgentClient,
    links::Links,
    plan::{Plan, PlannedGroup, Stemcells},
    planning::plan_as_deployed,
    prepare::linked_as_deployed,
    rendering::{RenderedInstance, Renderer},
    selection::{self, Errand, InstanceSelector, Matched, Selected},
    spec::{DeployOptions, SkipDrain},
    target::{TargetInstance, target},
    update::find_packages,
    updating::{Ready, create_missing_vms, update_group},
    vms,
};
use crate::{
    cpi::{ErrandOutput, JobName, RenderedJob},
    director::{
        Director,
        audit::Deed,
        deployments::{Deployment, Digest, Lifecycle},
        ids::{GroupName, InstanceId},
        tasks::{OutputType, TaskFailure, TaskRun},
    },
};

/// So many instances run an errand at a time.
const AT_ONCE: usize = 32;

#[derive(Serialize, Deserialize)]
pub(in crate::director) struct ErrandOrder {
    pub(in crate::director) errand: String,
    pub(in crate::director) selectors: Vec<InstanceSelector>,
    pub(in crate::director) vms: AfterErrand,
    pub(in crate::director) when: RunWhen,
}

/// What happens to the VMs of an errand group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum AfterErrand {
    DeleteVms,
    KeepVms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::director) enum RunWhen {
    Always,
    /// Only if it would run differently from when it last succeeded.
    Changed,
}

/// An instance on which the errand runs, ready to do so.
struct Location<'a> {
    group: &'a PlannedGroup,
    job: JobName,
    target: TargetInstance,
    rendered: RenderedInstance,
}

/// The result of an errand on one instance, a line of the task's result.
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

pub(in crate::director) fn errand_names(
    director: &Director,
    row: &Deployment,
) -> Result<Vec<String>, TaskFailure> {
    let plan = plan_as_deployed(director, row)?.ok_or(TaskFailure::NeverDeployed)?;
    Ok(selection::names(&plan))
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
    let matched = Matched::new(&row, &order.selectors);
    matched.must_not_be_stopped(&row)?;
    let stage = run.events.stage("Preparing deployment", 1);
    let step = stage.begin("Preparing deployment", 1).await?;
    let plan = match plan_as_deployed(&run.director, &row) {
        Ok(Some(plan)) => plan,
        Ok(None) => return step.end(Err(TaskFailure::NeverDeployed)),
        Err(failure) => return step.end(Err(failure)),
    };
    let locations = step.end(locations(run, &plan, &row, &order, &matched).await)?;

    let digest = digest_of(&locations);
    if order.when == RunWhen::Changed && row.errand_successes.get(&order.errand) == Some(&digest) {
        return Ok("skipped - no changes detected".to_owned());
    }
    let outcome = run_at(run, &order.errand, &locations).await;
    if order.vms == AfterErrand::DeleteVms {
        for location in locations.iter().filter(|location| location.has_own_vm()) {
            vms::delete(run, &location.target, &location.target.vm).await?;
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

/// Finds the instances to run on, and renders their files. A selector that matches nothing fails only after the
/// packages of errand groups are prepared (cloudfoundry/bosh, `errand/errand_provider.rb`).
async fn locations<'a>(
    run: &TaskRun,
    plan: &'a Plan,
    row: &Deployment,
    order: &ErrandOrder,
    matched: &Matched,
) -> Result<Vec<Location<'a>>, TaskFailure> {
    let director = &run.director.inner;
    let errand = selection::errand(&order.errand, plan)?;
    if let Errand::Job {
        is_group_too: true, ..
    } = errand
    {
        run.events.warning(&format!(
            "Ambiguous request: the requested errand name '{0}' matches both a job name and an errand instance group name. Executing errand on all relevant instances with job '{0}'.",
            order.errand
        ));
    }
    let selected = selection::selected(errand, &run.deployment, row, &order.selectors, matched)?;
    let stemcells = plan.stemcells(&director.uploads.current())?;
    let links = Links::resolve(run, plan, &linked_as_deployed(plan, row))?;
    let mut templates = Renderer {
        deployment: &run.deployment,
        settings: &director.settings,
        variables: &director.variables,
        cpi: &director.cpi,
        links: &links,
        used: row.variables.clone(),
    };
    let mut locations = Vec::new();
    for selected in selected {
        for target in targets(run, plan, &selected, &stemcells).await? {
            let rendered = templates.render_one(selected.group, &target)?;
            locations.push(Location {
                group: selected.group,
                job: selected.job.clone(),
                target,
                rendered,
            });
        }
        if selected.group.lifecycle == Lifecycle::Errand {
            find_packages(&run.events).await?;
        }
    }
    if matched.unmatched.is_empty() {
        Ok(locations)
    } else {
        let unmatched = Value::Array(matched.unmatched.clone());
        Err(TaskFailure::NoInstanceSelected(unmatched))
    }
}

/// Instances of a service group that have no VM are passed over.
async fn targets(
    run: &TaskRun,
    plan: &Plan,
    selected: &Selected<'_>,
    stemcells: &Stemcells,
) -> Result<Vec<TargetInstance>, TaskFailure> {
    let group = selected.group;
    if selected.is_parallel {
        run.events.warning(
            "Executing errand on multiple instances in parallel. Use the `--instance` flag to run the errand on a single instance.",
        );
    }
    let options = DeployOptions::default();
    let mut targets = Vec::new();
    for (location, instance) in selected.instances.iter().enumerate() {
        if group.lifecycle == Lifecycle::Service && instance.vm.is_none() {
            run.events.warning(&format!(
                "Skipping instance: {} no matching VM reference was found",
                instance.label()
            ));
            continue;
        }
        let spec = plan.machine(group, instance.az.as_deref(), stemcells);
        targets.push(target(run, instance, location, group, spec, &options).await?);
    }
    Ok(targets)
}

fn digest_of(locations: &[Location<'_>]) -> Digest {
    let mut all = digest::Context::new(&digest::SHA256);
    for location in locations {
        all.update(location.target.name().as_bytes());
        all.update(location.rendered.inputs.as_bytes());
    }
    all.finish().into()
}

async fn run_at(
    run: &TaskRun,
    errand: &str,
    locations: &[Location<'_>],
) -> Result<Tally, TaskFailure> {
    let own_vm: Vec<&Location<'_>> = locations
        .iter()
        .filter(|location| location.has_own_vm())
        .collect();
    let targets: Vec<&TargetInstance> = own_vm.iter().map(|location| &location.target).collect();
    create_missing_vms(run, &targets).await?;
    for location in own_vm {
        let instance: [Ready<'_>; 1] = [(&location.target, &location.rendered)];
        update_group(run, location.group, &instance, &SkipDrain::None).await?;
    }
    let mut runs = Vec::new();
    for location in locations {
        runs.push(run_on(run, errand, location).boxed());
    }
    let exit_codes: Vec<_> = stream::iter(runs).buffered(AT_ONCE).collect().await;
    let mut tally = Tally::default();
    for exit_code in exit_codes {
        tally.count(exit_code?);
    }
    Ok(tally)
}

/// Runs the errand on one instance, and returns its exit code. The audit records its start and end (cloudfoundry/bosh,
/// `errand/runner.rb`).
async fn run_on(run: &TaskRun, errand: &str, location: &Location<'_>) -> Result<i32, TaskFailure> {
    run.checkpoint()?;
    let deed = || {
        Deed::new("run", "errand")
            .named(errand)
            .on(location.target.name())
    };
    let begun = run.record(deed());
    let outcome = run_recorded(run, errand, location).await;
    let context = match &outcome {
        Ok(exit_code) => json!({ "exit_code": exit_code }),
        Err(_) => json!({}),
    };
    run.record(deed().after(begun).ended(&outcome).with(context));
    outcome
}

async fn run_recorded(
    run: &TaskRun,
    errand: &str,
    location: &Location<'_>,
) -> Result<i32, TaskFailure> {
    let stage = run.events.stage("Running errand", 1);
    let step = stage.begin(&location.target.label, 1).await?;
    let output = step.end(output(run, location).await)?;
    fetch_logs(run, location).await?;
    let exit_code = output.exit_code;
    write_result(run, errand, location, output);
    Ok(exit_code)
}

async fn output(run: &TaskRun, location: &Location<'_>) -> Result<ErrandOutput, TaskFailure> {
    let mut jobs = location.rendered.jobs.iter();
    let job: &RenderedJob = jobs
        .find(|job| *job.name() == location.job)
        .ok_or_else(|| TaskFailure::NoSuchErrand(location.job.to_string()))?;
    AgentClient::new(run, &location.target.vm, location.target.name())
        .run_errand(job)
        .await
}

async fn fetch_logs(run: &TaskRun, location: &Location<'_>) -> Result<(), TaskFailure> {
    let stage = run
        .events
        .stage(format!("Fetching logs for {}", location.target.label), 1);
    let step = stage.begin("Finding and packing log files", 1).await?;
    step.end(Ok(()))
}

fn write_result(run: &TaskRun, errand: &str, location: &Location<'_>, output: ErrandOutput) {
    let sha1 = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, output.stdout.as_bytes());
    let result = ErrandResult {
        instance: ErrandInstance {
            group: &location.group.name,
            id: location.target.id,
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

impl Location<'_> {
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
