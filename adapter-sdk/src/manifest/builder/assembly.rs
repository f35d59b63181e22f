use serde_json::Value;

use super::{ManifestBuilder, ManifestBuilderError, Presence, StemcellChoice, WantedGroup};
use crate::manifest::{InstanceGroup, JobProperty, Manifest, Release, Stemcell, Update};
use crate::protocol::{
    GenerateManifest, LifecycleErrand, LifecycleErrands, MaxInFlight, Plan, PlanUpdate,
};

const DEFAULT_STEMCELL_ALIAS: &str = "default";

pub(super) fn manifest(builder: ManifestBuilder<'_>) -> Result<Manifest, ManifestBuilderError> {
    let call = builder.call;
    let deployment = &call.service_deployment;
    groups_are_asked_for_once(&builder.groups)?;
    needed_groups_are_there(&builder.groups, &call.plan)?;
    let wanted: Vec<_> = builder
        .groups
        .iter()
        .map(|group| group.name.clone())
        .collect();

    let stemcells = manifest_stemcells(call, builder.stemcells)?;
    let alias = stemcells.first().map(|stemcell| stemcell.alias.as_str());
    let mut instance_groups = instance_groups(
        call,
        builder.groups,
        builder.colocates_errands,
        alias.unwrap_or_default(),
    )?;
    let is_left_out = |name: &str| wanted.iter().any(|wanted| wanted == name);
    for (property, value) in builder.properties {
        let property = property.as_ref();
        match find(&mut instance_groups, property.group) {
            Some(group) => set(group, property, value)?,
            None if is_left_out(property.group) => {}
            None => return Err(property_of_no_job(property)),
        }
    }
    for (name, change) in builder.group_changes {
        match find(&mut instance_groups, &name) {
            Some(group) => change(group),
            None if is_left_out(&name) => {}
            None => return Err(ManifestBuilderError::ChangeOfNoGroup { group: name }),
        }
    }
    let mut update = update(call.plan.update.as_ref(), builder.default_update);
    if let Some(change) = builder.update_change {
        change(&mut update);
    }
    let manifest = Manifest {
        name: deployment.deployment_name.clone(),
        releases: deployment.releases.iter().map(Release::from).collect(),
        stemcells,
        instance_groups,
        update: Some(update),
        addons: some_unless_empty(builder.addons),
        variables: some_unless_empty(builder.variables),
        tags: Some(builder.tags).filter(|tags| !tags.is_empty()),
        features: builder.features,
        ..Manifest::default()
    };
    manifest_is_deployable(&manifest)?;
    errands_are_there(
        &manifest,
        &call.plan.lifecycle_errands,
        &builder.errands_elsewhere,
    )?;
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
    colocates_errands: bool,
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
        if colocates_errands {
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
        .ok_or_else(|| property_of_no_job(property))?;
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

fn groups_are_asked_for_once(groups: &[WantedGroup]) -> Result<(), ManifestBuilderError> {
    let mut repeated = groups.iter().enumerate().filter(|(nth, group)| {
        let mut earlier = groups[..*nth].iter();
        earlier.any(|earlier| earlier.name == group.name)
    });
    match repeated.next() {
        None => Ok(()),
        Some((_, group)) => Err(ManifestBuilderError::RepeatedInstanceGroup {
            group: group.name.clone(),
        }),
    }
}

fn needed_groups_are_there(
    groups: &[WantedGroup],
    plan: &Plan,
) -> Result<(), ManifestBuilderError> {
    let missing: Vec<_> = groups
        .iter()
        .filter(|group| {
            group.presence == Presence::Needed && plan.instance_group(&group.name).is_none()
        })
        .map(|group| group.name.clone())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let existing = &plan.instance_groups;
    Err(ManifestBuilderError::MissingInstanceGroups {
        missing,
        existing: existing.iter().map(|group| group.name.clone()).collect(),
    })
}

fn property_of_no_job(property: JobProperty<'_>) -> ManifestBuilderError {
    ManifestBuilderError::PropertyOfNoJob {
        property: property.to_string(),
    }
}

fn manifest_is_deployable(manifest: &Manifest) -> Result<(), ManifestBuilderError> {
    for release in &manifest.releases {
        version_is_exact(|| format!("release `{}`", release.name), &release.version)?;
    }
    for stemcell in &manifest.stemcells {
        version_is_exact(
            || format!("stemcell `{}`", stemcell.alias),
            &stemcell.version,
        )?;
    }
    for group in &manifest.instance_groups {
        group_is_deployable(manifest, group)?;
    }
    manifest
        .update
        .as_ref()
        .map_or(Ok(()), update_is_deployable)
}

/// The broker rejects every version that ends in this word (`spec/contracts/adapter-protocol.md`, "What the broker
/// checks in a generated manifest").
fn version_is_exact(
    what: impl FnOnce() -> String,
    version: &str,
) -> Result<(), ManifestBuilderError> {
    if version.is_empty() || version.ends_with("latest") {
        return Err(ManifestBuilderError::InexactVersion {
            what: what(),
            version: version.to_owned(),
        });
    }
    Ok(())
}

fn group_is_deployable(
    manifest: &Manifest,
    group: &InstanceGroup,
) -> Result<(), ManifestBuilderError> {
    let name = || group.name.clone();
    if group.networks.is_empty() {
        return Err(ManifestBuilderError::NoNetwork { group: name() });
    }
    if let Some(lifecycle) = &group.lifecycle
        && !["service", "errand"].contains(&lifecycle.as_str())
    {
        return Err(ManifestBuilderError::UnknownLifecycle {
            group: name(),
            lifecycle: lifecycle.clone(),
        });
    }
    let known = &manifest.stemcells;
    if !known
        .iter()
        .any(|stemcell| stemcell.alias == group.stemcell)
    {
        return Err(ManifestBuilderError::UnknownStemcellAlias {
            group: name(),
            alias: group.stemcell.clone(),
        });
    }
    Ok(())
}

fn update_is_deployable(update: &Update) -> Result<(), ManifestBuilderError> {
    let needed = [
        ("canaries", update.canaries.is_some()),
        ("canary_watch_time", update.canary_watch_time.is_some()),
        ("update_watch_time", update.update_watch_time.is_some()),
        ("max_in_flight", update.max_in_flight.is_some()),
    ];
    if let Some((key, _)) = needed.iter().find(|(_, is_there)| !is_there) {
        return Err(ManifestBuilderError::IncompleteUpdate { key });
    }
    match &update.max_in_flight {
        Some(MaxInFlight::Percentage(percentage)) if !percentage.is_plain() => {
            Err(ManifestBuilderError::InvalidMaxInFlight {
                found: percentage.as_str().to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// A colocated errand must be a job of each group that it runs on. Any other errand must be a job in some group, or an
/// errand group of that name (`spec/contracts/adapter-protocol.md`, "What an author must do", 6).
fn errands_are_there(
    manifest: &Manifest,
    errands: &LifecycleErrands,
    elsewhere: &[String],
) -> Result<(), ManifestBuilderError> {
    let here = errands
        .all()
        .filter(|errand| !elsewhere.contains(&errand.name));
    for errand in here {
        let missing = |group: Option<&str>| ManifestBuilderError::MissingErrand {
            errand: errand.name.clone(),
            group: group.map(str::to_owned),
        };
        for group in errand.instance_groups() {
            let hosts = manifest.instance_group(group);
            if hosts.is_none_or(|hosts| hosts.job(&errand.name).is_none()) {
                return Err(missing(Some(group)));
            }
        }
        if errand.instances.is_empty() && !is_somewhere(manifest, errand) {
            return Err(missing(None));
        }
    }
    Ok(())
}

fn is_somewhere(manifest: &Manifest, errand: &LifecycleErrand) -> bool {
    let name = &errand.name;
    let in_a_group = manifest.instance_groups.iter().any(|group| {
        let is_errand_group = group.lifecycle.as_deref() == Some("errand");
        group.job(name).is_some() || (is_errand_group && group.name == *name)
    });
    let mut addons = manifest.addons.iter().flatten();
    in_a_group || addons.any(|addon| addon.jobs.iter().any(|job| job.name == *name))
}
