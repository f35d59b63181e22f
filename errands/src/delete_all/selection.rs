//! The selection of service instances.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use clap::Args;
use futures_util::TryStreamExt;
use odb_api_types::ids::{InstanceId, InvalidId, OfferingId};
use odb_clients::{
    cloud_controller::{
        CfInstance, CfOperationKind, CfOperationState, CfPlan, CloudController, InstanceGuid,
        InstanceQuery, LocationNames, OrganizationGuid, PlanGuid,
    },
    http::Call,
};

use crate::report::{Outcome, Row};

/// How long listing a fleet may take, repetitions of its pages included.
const LISTING: Duration = Duration::from_mins(10);

/// Selects service instances of the offering; without criteria, all of them. Criteria of different kinds must all
/// match, of several values of one kind one.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Selection {
    /// Only instances of this plan, by its name or its id in the catalog.
    #[arg(long = "plan", value_name = "PLAN")]
    plans: Vec<String>,
    /// Only instances in this organization, by its name or guid.
    #[arg(long = "organization", alias = "org", value_name = "ORGANIZATION")]
    organizations: Vec<String>,
    /// Only instances in this space, by its name or guid.
    #[arg(long = "space", value_name = "SPACE")]
    spaces: Vec<String>,
    /// Only this instance, by its guid.
    #[arg(long = "instance", value_name = "GUID")]
    instances: Vec<String>,
    /// Only instances whose creation failed.
    #[arg(long = "create-failed")]
    create_failed: bool,
}

/// A selected service instance, with names for people.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) guid: InstanceGuid,
    pub(super) id: InstanceId,
    plan: String,
    space: String,
    organization: Option<String>,
}

/// The plans of an offering; those of the named broker, if one is named.
///
/// Fails where the broker is ambiguous: several brokers offer the plans and none is named, or the
/// named one does not offer them. Instances of other brokers are never touched.
pub(crate) async fn plans(
    controller: &CloudController,
    offering: &OfferingId,
    broker_name: Option<&str>,
) -> anyhow::Result<Vec<CfPlan>> {
    let call = Call::within(LISTING);
    let mut offered = controller
        .plans_of_offering(&call, offering.as_str())
        .await
        .context("could not list the plans of the service offering")?;
    let Some(name) = broker_name else {
        let offerings: BTreeSet<_> = offered.iter().map(|plan| &plan.offering).collect();
        ensure!(
            offerings.len() <= 1,
            "the service offering `{offering}` is offered by more than one broker; choose one with --broker-name"
        );
        return Ok(offered);
    };
    let broker = controller
        .broker_named(&call, name)
        .await
        .context("failed to retrieve list of brokers")?;
    if offered.is_empty() {
        return Ok(offered);
    }
    let Some(broker) = broker else {
        bail!(
            "no service broker found with name: {name}; the service offering `{offering}` belongs to a broker of another name, and nothing was changed. `cf service-brokers` lists the names"
        );
    };
    let own = controller
        .plans_of_broker(&call, &broker.guid)
        .await
        .context("could not list the plans of the broker")?;
    offered.retain(|plan| own.iter().any(|own| own.guid == plan.guid));
    ensure!(
        !offered.is_empty(),
        "the service broker `{name}` does not offer the service offering `{offering}`, but another one does; nothing was \
         changed"
    );
    Ok(offered)
}

impl Selection {
    /// The selected instances of these plans, by GUID.
    pub(crate) async fn of(
        &self,
        controller: &CloudController,
        plans: &[CfPlan],
    ) -> anyhow::Result<Vec<Chosen>> {
        let names: BTreeMap<&PlanGuid, &CfPlan> = self
            .plans(plans)?
            .into_iter()
            .map(|plan| (&plan.guid, plan))
            .collect();
        let query = InstanceQuery {
            names: LocationNames::Reported,
            ..InstanceQuery::of_plans(names.keys().map(|guid| (*guid).clone()).collect())
        };
        let call = Call::within(LISTING);
        let mut found = controller.list_instances(&call, query);
        let mut chosen = BTreeMap::new();
        while let Some(instance) = found
            .try_next()
            .await
            .context("could not list the service instances")?
        {
            if self.admits(&instance) {
                let plan = names.get(&instance.plan).map_or("", |plan| &plan.name);
                let guid = instance.guid.clone();
                let instance = Chosen::of(instance, plan)
                    .with_context(|| format!("service instance `{guid}`"))?;
                chosen.insert(guid, instance);
            }
        }
        Ok(chosen.into_values().collect())
    }

    /// Verifies that each named instance is one of these.
    pub(crate) fn must_be_among(&self, chosen: &[Chosen]) -> anyhow::Result<()> {
        let missing: Vec<_> = self
            .instances
            .iter()
            .filter(|named| !chosen.iter().any(|chosen| chosen.guid.as_str() == **named))
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            bail!(
                "these service instances are not in the selection: {}; nothing was deleted",
                missing.join(", ")
            );
        }
        Ok(())
    }

    fn plans<'p>(&self, plans: &'p [CfPlan]) -> anyhow::Result<Vec<&'p CfPlan>> {
        let is_named = |plan: &CfPlan, named: &String| {
            *named == plan.name || *named == plan.unique_id || named == plan.guid.as_str()
        };
        for named in &self.plans {
            if !plans.iter().any(|plan| is_named(plan, named)) {
                let mut names: Vec<_> = plans.iter().map(|plan| plan.name.as_str()).collect();
                names.sort_unstable();
                bail!(
                    "the service offering has no plan `{named}`; its plans are: {}",
                    names.join(", ")
                );
            }
        }
        let meant = plans.iter().filter(|plan| {
            self.plans.is_empty() || self.plans.iter().any(|named| is_named(plan, named))
        });
        Ok(meant.collect())
    }

    fn admits(&self, instance: &CfInstance) -> bool {
        let is_in = |given: &[String], names: [Option<&str>; 2]| {
            given.is_empty()
                || given
                    .iter()
                    .any(|given| names.contains(&Some(given.as_str())))
        };
        let organization = instance.organization.as_ref();
        let organizations = [
            organization.map(OrganizationGuid::as_str),
            instance.organization_name.as_deref(),
        ];
        let spaces = [
            Some(instance.space.as_str()),
            instance.space_name.as_deref(),
        ];
        (!self.create_failed || has_failed_to_be_created(instance))
            && is_in(&self.instances, [Some(instance.guid.as_str()), None])
            && is_in(&self.spaces, spaces)
            && is_in(&self.organizations, organizations)
    }
}

fn has_failed_to_be_created(instance: &CfInstance) -> bool {
    instance.last_operation.as_ref().is_some_and(|operation| {
        operation.kind == CfOperationKind::Create && operation.state == CfOperationState::Failed
    })
}

impl Chosen {
    fn of(instance: CfInstance, plan: &str) -> Result<Self, InvalidId> {
        Ok(Self {
            id: InstanceId::try_from(instance.guid.to_string())?,
            plan: plan.to_owned(),
            space: instance
                .space_name
                .unwrap_or_else(|| instance.space.to_string()),
            organization: instance
                .organization_name
                .or_else(|| Some(instance.organization?.to_string())),
            guid: instance.guid,
        })
    }

    pub(crate) fn row(&self, outcome: Outcome) -> Row {
        Row {
            plan: Some(self.plan.clone()).filter(|plan| !plan.is_empty()),
            organization: self.organization.clone(),
            space: Some(self.space.clone()),
            ..Row::of(self.id.clone(), outcome)
        }
    }
}
