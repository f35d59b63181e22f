use serde_json::Value;

use super::{
    Colocation, ManifestBuilder, ManifestBuilderError, Presence, StemcellChoice, WantedGroup,
    checks,
};
use crate::manifest::{InstanceGroup, JobProperty, Manifest, Release, Stemcell, Update};
use crate::protocol::{GenerateManifest, PlanUpdate};

const DEFAULT_STEMCELL_ALIAS: &str = "default";

pub(super) fn manifest(builder: ManifestBuilder<'_>) -> Result<Manifest, ManifestBuilderError> {
    let ManifestBuilder {
        call,
        groups,
        group_changes,
        stemcells,
        properties,
        colocation,
        errands_elsewhere,
        default_update,
        update_change,
        variables,
        tags,
        features,
        addons,
    } = builder;
    let deployment = &call.service_deployment;
    checks::groups_are_asked_for_once(&groups)?;
    checks::needed_groups_are_there(&groups, &call.plan)?;
    let wanted: Vec<_> = groups.iter().map(|group| group.name.clone()).collect();

    let stemcells = manifest_stemcells(call, stemcells)?;
    let alias = stemcells.first().map(|stemcell| stemcell.alias.as_str());
    let mut instance_groups = instance_groups(call, groups, colocation, alias.unwrap_or_default())?;
    let is_left_out = |name: &str| wanted.iter().any(|wanted| wanted == name);
    for (property, value) in properties {
        let property = property.as_ref();
        match find(&mut instance_groups, property.group) {
            Some(group) => set(group, property, value)?,
            None if is_left_out(property.group) => {}
            None => return Err(checks::property_of_no_job(property)),
        }
    }
    for (name, change) in group_changes {
        match find(&mut instance_groups, &name) {
            Some(group) => change(group),
            None if is_left_out(&name) => {}
            None => return Err(ManifestBuilderError::ChangeOfNoGroup { group: name }),
        }
    }
    let mut update = update(call.plan.update.as_ref(), default_update);
    if let Some(change) = update_change {
        change(&mut update);
    }
    let manifest = Manifest {
        name: deployment.deployment_name.clone(),
        releases: deployment.releases.iter().map(Release::from).collect(),
        stemcells,
        instance_groups,
        update: Some(update),
        addons: some_unless_empty(addons),
        variables: some_unless_empty(variables),
        tags: Some(tags).filter(|tags| !tags.is_empty()),
        features,
        ..Manifest::default()
    };
    checks::manifest_is_deployable(&manifest)?;
    checks::errands_are_there(&manifest, &call.plan.lifecycle_errands, &errands_elsewhere)?;
    Ok(manifest)
}

fn manifest_stemcells(
    call: &GenerateManifest,
    mut wanted: Vec<(String, StemcellChoice)>,
) -> Result<Vec<Stemcell>, ManifestBuilderError> {
    if wanted.is_empty() {
        wanted.push((DEFAULT_STEMCELL_ALIAS.to_owned(), StemcellChoice::First));
    }
    wanted
        .iter()
        .map(|(alias, choice)| choice.under(alias, &call.service_deployment.stemcells))
        .collect()
}

/// The requested groups, in the plan's order.
fn instance_groups(
    call: &GenerateManifest,
    mut wanted: Vec<WantedGroup>,
    colocation: Colocation,
    stemcell_alias: &str,
) -> Result<Vec<InstanceGroup>, ManifestBuilderError> {
    let releases = &call.service_deployment.releases;
    let mut made = Vec::new();
    for planned in &call.plan.instance_groups {
        let Some(at) = wanted.iter().position(|group| group.name == planned.name) else {
            continue;
        };
        let WantedGroup { presence, jobs, .. } = wanted.remove(at);
        let mut group = InstanceGroup::from(planned);
        stemcell_alias.clone_into(&mut group.stemcell);
        if presence == Presence::Errand {
            group.lifecycle = Some("errand".to_owned());
        }
        for job in jobs {
            group.jobs.push(job.into_job(releases)?);
        }
        if colocation == Colocation::AsThePlanSays {
            colocate_errands(call, &mut group)?;
        }
        made.push(group);
    }
    Ok(made)
}

fn find<'g>(groups: &'g mut [InstanceGroup], name: &str) -> Option<&'g mut InstanceGroup> {
    groups.iter_mut().find(|group| group.name == name)
}

fn set(
    group: &mut InstanceGroup,
    property: JobProperty<'_>,
    value: Value,
) -> Result<(), ManifestBuilderError> {
    let job = group
        .job_mut(property.job)
        .ok_or_else(|| checks::property_of_no_job(property))?;
    job.set_property(property.pointer, value)
        .map_err(|source| ManifestBuilderError::JobProperty {
            job: property.job.to_owned(),
            source,
        })
}

fn colocate_errands(
    call: &GenerateManifest,
    group: &mut InstanceGroup,
) -> Result<(), ManifestBuilderError> {
    for errand in call.plan.lifecycle_errands.all() {
        let is_here = errand.instance_groups().any(|name| name == group.name);
        if is_here && group.job(&errand.name).is_none() {
            let job = super::JobBuilder::new(&errand.name);
            group
                .jobs
                .push(job.into_job(&call.service_deployment.releases)?);
        }
    }
    Ok(())
}

/// The plan's block; the default replaces missing members, or the complete block.
fn update(plan: Option<&PlanUpdate>, default: Update) -> Update {
    let Some(plan) = plan else {
        return default;
    };
    let plan = Update::from(plan);
    Update {
        canary_watch_time: plan.canary_watch_time.or(default.canary_watch_time),
        update_watch_time: plan.update_watch_time.or(default.update_watch_time),
        ..plan
    }
}

fn some_unless_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}
