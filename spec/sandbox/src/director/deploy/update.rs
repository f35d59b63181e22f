//! The task that creates or updates a deployment.

use serde_json::Value;

use super::{
    instances::{Force, create_missing_vms, delete_instances, update_instances},
    plan::{Plan, PlannedGroup},
    prepare::{Prepared, TargetInstance, planned, prepare},
    rendering::{RenderedInstance, Renderer},
};
use crate::director::{
    deployments::NameVersion,
    ids::{ConfigId, TeamName},
    tasks::{EventLog, TaskFailure, TaskRun},
};

/// A manifest that is to be deployed.
pub(in crate::director) struct DeployOrder {
    /// As it was sent.
    pub(in crate::director) text: String,
    /// What the text says.
    pub(in crate::director) document: Value,
    /// Who owns the deployment, should it have been deleted while this task waited.
    pub(in crate::director) teams: Vec<TeamName>,
}

/// Makes a deployment what its manifest says. The stored manifest changes only when all of it succeeds.
pub(in crate::director) async fn deploy(
    run: &TaskRun,
    order: DeployOrder,
) -> Result<String, TaskFailure> {
    let director = &run.director.inner;
    let cloud_configs = director.cloud_config_ids(&order.teams);
    director
        .deployments
        .ensure(&run.deployment, &order.teams, &cloud_configs);
    let plan = planned(&run.director, &run.deployment, &order.document)?;

    let preparing = run.events.stage("Preparing deployment", 1);
    let step = preparing.start("Preparing deployment", 1);
    let (stemcells, prepared) = step.end(prepared(run, &plan).await)?;
    director.deployments.update(&run.deployment, |row| {
        row.releases.clone_from(&plan.releases);
        row.stemcells.clone_from(&stemcells);
    });
    let step = preparing.start("Rendering templates", 2);
    let rendered = step.end(render(run, &plan, &prepared))?;
    find_packages(&run.events);

    change_instances(run, &plan, &prepared, &rendered).await?;
    commit(run, order.text, cloud_configs);
    Ok(format!("/deployments/{}", run.deployment))
}

/// Packages come compiled, so this stage has nothing to do; clients see it all the same.
pub(super) fn find_packages(events: &EventLog) {
    let stage = events.stage("Preparing package compilation", 1);
    let step = stage.start("Finding packages to compile", 1);
    // Nothing that could fail was tried.
    let _ = step.end(Ok(()));
}

async fn prepared(run: &TaskRun, plan: &Plan) -> Result<(Vec<NameVersion>, Prepared), TaskFailure> {
    let stemcells = plan.stemcells_in_use(&run.director.inner.settings)?;
    Ok((stemcells, prepare(run, plan).await?))
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
) -> Result<(), TaskFailure> {
    let stage = run
        .events
        .stage("Deleting unneeded instances", prepared.obsolete.len());
    delete_instances(run, stage, &prepared.obsolete, Force::No).await?;
    let targets: Vec<&TargetInstance> = prepared
        .groups
        .iter()
        .flat_map(|group| &group.targets)
        .collect();
    create_missing_vms(run, &targets).await?;
    for ((group, prepared), rendered) in plan.groups.iter().zip(&prepared.groups).zip(rendered) {
        let stage = run.events.tagged_stage(
            "Deleting unneeded instances",
            Some(group.name.as_ref()),
            prepared.surplus.len(),
        );
        delete_instances(run, stage, &prepared.surplus, Force::No).await?;
        let instances: Vec<_> = prepared.targets.iter().zip(rendered).collect();
        update_instances(run, &group.name, group.update, &instances).await?;
    }
    Ok(())
}

fn commit(run: &TaskRun, manifest: String, cloud_configs: Vec<ConfigId>) {
    run.director
        .inner
        .deployments
        .update(&run.deployment, |row| {
            row.manifest = Some(manifest);
            row.cloud_configs = cloud_configs;
        });
}
