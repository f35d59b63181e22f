//! A broker's catalog, and what a Cloud Controller takes of it (`spec/contracts/osb-api.md`, "What CF checks in a
//! catalog"; `spec/contracts/platform-apis.md`, "Catalog rule").

mod schemas;
mod service;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Map, Value};

use super::{
    exchange::{RawResponse, Silence},
    failure::BrokerFailure,
};
use crate::cloud_controller::model::{Feature, MaintenanceInfo};
use service::{read_service, repeated};

pub(in crate::cloud_controller) use service::CatalogErrors;

/// A catalog in which everything is as it must be.
#[derive(Debug)]
pub(crate) struct Catalog {
    pub(crate) services: Vec<CatalogService>,
}

#[derive(Debug)]
pub(crate) struct CatalogService {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) features: BTreeSet<Feature>,
    pub(crate) tags: Vec<String>,
    pub(crate) requires: Vec<String>,
    pub(crate) metadata: Map<String, Value>,
    /// The id of the client that the broker's dashboard wants to have at the UAA.
    pub(crate) dashboard_client: Option<String>,
    pub(crate) plans: Vec<CatalogPlan>,
}

#[derive(Debug)]
pub(crate) struct CatalogPlan {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) free: bool,
    pub(crate) bindable: Option<bool>,
    pub(crate) updateable: Option<bool>,
    pub(crate) maximum_polling_duration: Option<Duration>,
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
    pub(crate) schemas: Value,
    pub(crate) metadata: Map<String, Value>,
}

/// A service that an earlier catalog of the same broker had and that is still there.
#[derive(Debug)]
pub(crate) struct RegisteredService {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Whether it has instances, so that it cannot go.
    pub(crate) in_use: bool,
    pub(crate) plans: Vec<(String, String)>,
}

/// Why there is no catalog.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogFailure {
    #[error(
        "The service broker rejected the request. Status Code: {status}. Please check that the URL points to a valid \
         service broker."
    )]
    Rejected { status: String },
    #[error(
        "The service broker returned an invalid response: expected valid JSON object in body. Please check that the \
         URL points to a valid service broker."
    )]
    Malformed,
    #[error(transparent)]
    Broker(#[from] BrokerFailure),
}

impl Catalog {
    /// The catalog that came, unread.
    pub(super) fn answered(
        raw: Result<RawResponse, Silence>,
    ) -> Result<Map<String, Value>, CatalogFailure> {
        let raw = raw.map_err(BrokerFailure::from)?;
        Err(match raw.status.as_u16() {
            200 => return raw.object().ok_or(CatalogFailure::Malformed),
            201 | 202 if raw.object().is_none() => CatalogFailure::Malformed,
            401 => BrokerFailure::unauthenticated(&raw).into(),
            408 => BrokerFailure::answered_timeout(&raw).into(),
            409 | 410 | 422 => BrokerFailure::bad_response(&raw).into(),
            400..=499 => CatalogFailure::Rejected {
                status: raw.status_line(),
            },
            _ => BrokerFailure::bad_response(&raw).into(),
        })
    }

    /// Reads all of it first, so that the operator gets every error at once.
    pub(crate) fn checked(
        object: &Map<String, Value>,
        broker_name: &str,
        registered: &[RegisteredService],
    ) -> Result<Self, CatalogErrors> {
        let mut below = CatalogErrors::default();
        let services: Vec<_> = objects(object, &mut below)
            .into_iter()
            .map(|service| read_service(service, &mut below))
            .collect();
        let mut errors = CatalogErrors::default();
        if services.is_empty() {
            errors.say("Service broker must provide at least one service");
        }
        if !repeated(services.iter().map(|service| &service.id)).is_empty() {
            errors.say("Service ids must be unique");
        }
        refuse_names(&services, registered, &mut errors);
        refuse_plan_ids(&services, broker_name, registered, &mut errors);
        let clients = services
            .iter()
            .filter_map(|service| service.dashboard_client.as_ref());
        if !repeated(clients).is_empty() {
            errors.say("Service dashboard_client id must be unique");
        }
        errors.append(below);
        if errors.are_none() {
            Ok(Self { services })
        } else {
            Err(errors)
        }
    }
}

fn objects<'a>(
    object: &'a Map<String, Value>,
    errors: &mut CatalogErrors,
) -> Vec<&'a Map<String, Value>> {
    let items = object.get("services").and_then(Value::as_array);
    let items = items.map_or(&[][..], Vec::as_slice);
    let found: Vec<_> = items.iter().filter_map(Value::as_object).collect();
    if found.len() < items.len() {
        errors.say("Service broker services must be an array of hashes");
    }
    found
}

/// A name that another service of this broker has cannot be taken as long as that service cannot go.
fn refuse_names(
    services: &[CatalogService],
    registered: &[RegisteredService],
    errors: &mut CatalogErrors,
) {
    if !repeated(services.iter().map(|service| &service.name)).is_empty() {
        errors.say("Service names must be unique within a broker");
    }
    let taken: Vec<String> = registered
        .iter()
        .filter(|there| {
            there.in_use
                && services
                    .iter()
                    .any(|service| service.name == there.name && service.id != there.id)
        })
        .map(|there| format!("\"{}\"", there.name))
        .collect();
    if !taken.is_empty() {
        errors.say(format!(
            "Service names must be unique within a broker. Services with names [{}] already exist",
            taken.join(", ")
        ));
    }
}

fn refuse_plan_ids(
    services: &[CatalogService],
    broker_name: &str,
    registered: &[RegisteredService],
    errors: &mut CatalogErrors,
) {
    let mut seen: BTreeMap<&str, (&CatalogService, &CatalogPlan)> = BTreeMap::new();
    let plans = services
        .iter()
        .flat_map(|service| service.plans.iter().map(move |plan| (service, plan)))
        .filter(|(_, plan)| !plan.id.is_empty());
    for (service, plan) in plans {
        let unable = unable_to_register(service, plan);
        if let Some((of, there)) = seen.insert(&plan.id, (service, plan)) {
            errors.say(format!(
                "{unable} because it uses the same id as another plan in the catalog (plan name '{}', service name \
                 '{}')",
                there.name, of.name
            ));
        }
    }
    for there in registered {
        for (id, name) in &there.plans {
            let Some((service, plan)) = seen.get(id.as_str()) else {
                continue;
            };
            if service.id != there.id {
                errors.say(format!(
                    "{} because it uses the same id as an existing plan (plan name '{name}', service name '{}', \
                     broker name '{broker_name}')",
                    unable_to_register(service, plan),
                    there.name
                ));
            }
        }
    }
}

fn unable_to_register(service: &CatalogService, plan: &CatalogPlan) -> String {
    format!(
        "Plan ids must be unique. Unable to register plan with id '{}' (plan name '{}', service name '{}')",
        plan.id, plan.name, service.name
    )
}

#[cfg(test)]
mod tests;
