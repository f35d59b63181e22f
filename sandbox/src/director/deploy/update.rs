//! The task that creates or updates a deployment.

use futures_util::{FutureExt, future::join_all};
use odb_adapter_sdk::yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    deleting::{Force, delete_instances},
    error::ManifestError,
    plan::{Plan, PlannedGroup, Stemcells},
    planning::planned,
    prepare::{Prepared, PreparedGroup, prepare},
    rendering::{RenderedInstance, Renderer},
    spec::{DeployOptions, Extent},
    target::TargetInstance,
    update_spec::GroupOrder,
    updating::{Ready, create_missing_vms, update_group},
};
use crate::director::{
    audit::Deed,
    deployments::{Deployment, NameVersion},
    ids::TeamName,
    tasks::{EventLog, TaskFailure, TaskRun},
};

/// So many instances of former groups are deleted at a time.
const AT_ONCE: usize = 32;

#[derive(Serialize, Deserialize)]
pub(in crate::director) struct DeployOrder {
    /// As it was sent; none for a change of states of a deployment that never had one.
    pub(in crate::director) text: Option<String>,
    /// The owners of the deployment, in case it is deleted while this task waits.
    pub(in crate::director) teams: Vec<TeamName>,
    pub(in crate::director) options: DeployOptions,
}

/// A group with its instances and what they are to run.
struct ReadyGroup<'a> {
    plan: &'a PlannedGroup,
    prepared: &'a PreparedGroup,
    rendered: &'a [RenderedInstance],
}

/// Makes a deployment what its manifest says. The stored manifest changes only when all of it succeeds.
pub(in crate::director) async fn deploy(
    run: &TaskRun,
    order: DeployOrder,
) -> Result<String, TaskFailure> {
    let deployments = &run.director.inner.deployments;
    let previous = deployments
        .find(run.deployment.as_ref())
        .unwrap_or_default();
    let action = if previous.manifest.is_some() {
        "update"
    } else {
        "create"
    };
    let deed = || Deed::new(action, "deployment").named(&run.deployment);
    let extent = order.options.extent;
    let end = deploy_recorded(run, order).await;
    match &end {
        Err(_) => {
            run.record(deed().ended(&end));
        }
        // As in a real Director's audit, the start is recorded at the end, and a dry run is not recorded.
        Ok(_) if extent == Extent::Whole => {
            let row = deployments
                .find(run.deployment.as_ref())
                .unwrap_or_default();
            let begun = run.record(deed());
            let context =
                json!({"before": uploads_in_use(&previous), "after": uploads_in_use(&row)});
            run.record(deed().after(begun).with(context));
        }
        Ok(_) => {}
    }
    end
}

async fn deploy_recorded(run: &TaskRun, order: DeployOrder) -> Result<String, TaskFailure> {
    let director = &run.director.inner;
    let options = &order.options;
    director
        .deployments
        .ensure(&run.deployment, &order.teams, &options.cloud_configs);
    let text = order.text.ok_or(ManifestError::NoManifest)?;
    let document: Value =
        yaml::from_str(&text).map_err(|error| TaskFailure::Unexpected(error.to_string()))?;
    let plan = planned(&run.director, &document, options)?;

    let preparing = run.events.stage("Preparing deployment", 1);
    let step = preparing.begin("Preparing deployment", 1).await?;
    let (stemcells, prepared) = step.end(prepared(run, &plan, options).await)?;
    let step = preparing.begin("Rendering templates", 2).await?;
    let rendered = step.end(render(run, &plan, &prepared))?;
    if options.extent == Extent::Whole {
        find_packages(&run.events).await?;
        change_instances(run, &plan, &prepared, &rendered, options).await?;
        director.deployments.update(&run.deployment, |row| {
            row.manifest = Some(text);
            row.cloud_configs.clone_from(&options.cloud_configs);
            row.runtime_configs.clone_from(&options.runtime_configs);
            row.releases = sorted(plan.releases);
            row.stemcells = stemcells.into_values().collect();
        });
        if let Some(settled) = &prepared.settled {
            director.links.remove_unsettled(&run.deployment, settled);
        }
    }
    Ok(format!("/deployments/{}", run.deployment))
}

/// Packages are uploaded compiled, so this stage has nothing to do; clients still see it.
pub(super) async fn find_packages(events: &EventLog) -> Result<(), TaskFailure> {
    let stage = events.stage("Preparing package compilation", 1);
    let step = stage.begin("Finding packages to compile", 1).await?;
    step.end(Ok(()))
}

/// Releases and stemcells are in use as soon as they are found. Former ones are so until the deploy has succeeded.
async fn prepared(
    run: &TaskRun,
    plan: &Plan,
    options: &DeployOptions,
) -> Result<(Stemcells, Prepared), TaskFailure> {
    let director = &run.director.inner;
    let in_use = |change: &dyn Fn(&mut Deployment)| {
        director.deployments.update(&run.deployment, change);
    };
    in_use(&|row| {
        add_missing(&mut row.releases, &plan.releases);
        row.releases.sort();
    });
    let stemcells = plan.stemcells(&director.uploads.current())?;
    let found: Vec<NameVersion> = stemcells.values().cloned().collect();
    in_use(&|row| add_missing(&mut row.stemcells, &found));
    let prepared = prepare(run, plan, &stemcells, options).await?;
    Ok((stemcells, prepared))
}

/// The releases and stemcells of a deployment, for the audit; nothing of one that was never deployed.
fn uploads_in_use(row: &Deployment) -> Value {
    if row.manifest.is_none() {
        return json!({});
    }
    let joined = |all: &[NameVersion]| all.iter().map(NameVersion::joined).collect::<Vec<_>>();
    json!({"releases": joined(&row.releases), "stemcells": joined(&row.stemcells)})
}

fn add_missing(present: &mut Vec<NameVersion>, found: &[NameVersion]) {
    for item in found {
        if !present.contains(item) {
            present.push(item.clone());
        }
    }
}

fn sorted(mut releases: Vec<NameVersion>) -> Vec<NameVersion> {
    releases.sort();
    releases
}

fn render(
    run: &TaskRun,
    plan: &Plan,
    prepared: &Prepared,
) -> Result<Vec<Vec<RenderedInstance>>, TaskFailure> {
    let director = &run.director.inner;
    let mut templates = Renderer {
        deployment: &run.deployment,
        settings: &director.settings,
        variables: &director.variables,
        cpi: &director.cpi,
        links: &prepared.links,
        used: prepared.variables.clone(),
    };
    let groups: Vec<(&PlannedGroup, &[TargetInstance])> = plan
        .groups
        .iter()
        .zip(&prepared.groups)
        .map(|(group, prepared)| (group, prepared.targets.as_slice()))
        .collect();
    let rendered = templates.render_all(&groups)?;
    director
        .deployments
        .update(&run.deployment, |row| row.variables = templates.used);
    Ok(rendered)
}

async fn change_instances(
    run: &TaskRun,
    plan: &Plan,
    prepared: &Prepared,
    rendered: &[Vec<RenderedInstance>],
    options: &DeployOptions,
) -> Result<(), TaskFailure> {
    let stage = run
        .events
        .stage("Deleting unneeded instances", prepared.obsolete.len());
    delete_instances(run, stage, &prepared.obsolete, Force::No, AT_ONCE).await?;
    let targets: Vec<&TargetInstance> = prepared
        .groups
        .iter()
        .flat_map(|group| &group.targets)
        .collect();
    create_missing_vms(run, &targets).await?;

    let groups = plan.groups.iter().zip(&prepared.groups).zip(rendered);
    let groups: Vec<ReadyGroup<'_>> = groups
        .map(|((plan, prepared), rendered)| ReadyGroup {
            plan,
            prepared,
            rendered,
        })
        .collect();
    for together in groups.chunk_by(|one, next| {
        one.plan.update.order == GroupOrder::Parallel
            && next.plan.update.order == GroupOrder::Parallel
    }) {
        run.checkpoint()?;
        let mut changes = Vec::new();
        for group in together {
            changes.push(change_group(run, group, options).boxed());
        }
        let outcomes = join_all(changes).await;
        outcomes.into_iter().collect::<Result<(), _>>()?;
    }
    Ok(())
}

async fn change_group(
    run: &TaskRun,
    group: &ReadyGroup<'_>,
    options: &DeployOptions,
) -> Result<(), TaskFailure> {
    let surplus = &group.prepared.surplus;
    let stage = run.events.tagged_stage(
        "Deleting unneeded instances",
        Some(group.plan.name.as_ref()),
        surplus.len(),
    );
    if !surplus.is_empty() {
        let at_once = group.plan.update.max_in_flight(surplus.len())?;
        delete_instances(run, stage, surplus, Force::No, at_once).await?;
    }
    let instances: Vec<Ready<'_>> = group.prepared.targets.iter().zip(group.rendered).collect();
    update_group(run, group.plan, &instances, &options.skip_drain).await
}
