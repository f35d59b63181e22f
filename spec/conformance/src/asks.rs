//! The requests that checks put together, complete unless a check takes something away.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Session, client::Ask, offer::Offer};

pub(super) const ACCEPTS_INCOMPLETE: (&str, &str) = ("accepts_incomplete", "true");

pub(super) fn new_id() -> String {
    Uuid::new_v4().to_string()
}

impl Ask {
    pub(super) fn catalog() -> Self {
        Self::new(Method::GET, "/v2/catalog")
    }

    pub(super) fn provision(instance: &str, body: &Value) -> Self {
        patient(Self::impatient_provision(instance, body))
    }

    /// An order by a platform that does not say that it waits.
    pub(super) fn impatient_provision(instance: &str, body: &Value) -> Self {
        Self::new(Method::PUT, instance_path(instance)).json(body)
    }

    pub(super) fn update(instance: &str, body: &Value) -> Self {
        patient(Self::impatient_update(instance, body))
    }

    pub(super) fn impatient_update(instance: &str, body: &Value) -> Self {
        Self::new(Method::PATCH, instance_path(instance)).json(body)
    }

    pub(super) fn deprovision(instance: &str, service: &str, plan: &str) -> Self {
        patient(Self::impatient_deprovision(instance, service, plan))
    }

    pub(super) fn impatient_deprovision(instance: &str, service: &str, plan: &str) -> Self {
        Self::new(Method::DELETE, instance_path(instance))
            .query("service_id", service)
            .query("plan_id", plan)
    }

    pub(super) fn fetch(instance: &str) -> Self {
        Self::new(Method::GET, instance_path(instance))
    }

    pub(super) fn last_operation(instance: &str, operation: Option<&str>) -> Self {
        let path = format!("{}/last_operation", instance_path(instance));
        polled(Self::new(Method::GET, path), operation)
    }

    pub(super) fn bind(instance: &str, binding: &str, body: &Value) -> Self {
        Self::new(Method::PUT, binding_path(instance, binding)).json(body)
    }

    pub(super) fn unbind(instance: &str, binding: &str, service: &str, plan: &str) -> Self {
        Self::new(Method::DELETE, binding_path(instance, binding))
            .query("service_id", service)
            .query("plan_id", plan)
    }

    pub(super) fn fetch_binding(instance: &str, binding: &str) -> Self {
        Self::new(Method::GET, binding_path(instance, binding))
    }

    pub(super) fn binding_operation(
        instance: &str,
        binding: &str,
        operation: Option<&str>,
    ) -> Self {
        let path = format!("{}/last_operation", binding_path(instance, binding));
        polled(Self::new(Method::GET, path), operation)
    }
}

impl Session {
    /// The body of an order, as Cloud Foundry sends it.
    pub(super) fn order(&self, offer: &Offer) -> Value {
        let mut body = json!({
            "service_id": offer.service.id,
            "plan_id": offer.plan.id,
            "organization_guid": self.settings.organization,
            "space_guid": self.settings.space,
            "context": self.context(),
        });
        if let Some(parameters) = &self.settings.parameters {
            body["parameters"] = parameters.clone();
        }
        if let Some(info) = &offer.plan.maintenance_info {
            body["maintenance_info"] = json!(info);
        }
        body
    }

    /// The body of a change that changes nothing yet: the offering and where the instance is.
    pub(super) fn change_of_nothing(&self, offer: &Offer) -> Value {
        json!({ "service_id": offer.service.id, "context": self.context() })
    }

    /// The body of a change, with the platform's record of the instance.
    pub(super) fn change_from(&self, offer: &Offer, plan: &str) -> Value {
        let mut body = self.change_of_nothing(offer);
        body["previous_values"] = json!({
            "service_id": offer.service.id,
            "plan_id": plan,
            "organization_id": self.settings.organization,
            "space_id": self.settings.space,
        });
        body
    }

    /// The body of a request for credentials, as Cloud Foundry sends it for this app.
    pub(super) fn binding_order(&self, offer: &Offer, app: &str) -> Value {
        let mut body = json!({
            "service_id": offer.service.id,
            "plan_id": self.current_plan(offer),
            "app_guid": app,
            "bind_resource": { "app_guid": app, "space_guid": self.settings.space },
            "context": {
                "platform": "cloudfoundry",
                "organization_guid": self.settings.organization,
                "space_guid": self.settings.space,
            },
        });
        if let Some(parameters) = &self.settings.bind_parameters {
            body["parameters"] = parameters.clone();
        }
        body
    }

    fn context(&self) -> Value {
        json!({
            "platform": "cloudfoundry",
            "organization_guid": self.settings.organization,
            "organization_name": "odb-conformance",
            "space_guid": self.settings.space,
            "space_name": "odb-conformance",
            "instance_name": "odb-conformance",
        })
    }
}

/// The same body without a member.
pub(super) fn without(body: &Value, member: &str) -> Value {
    let mut body = body.clone();
    if let Some(members) = body.as_object_mut() {
        members.remove(member);
    }
    body
}

/// The same body with another value of a member.
pub(super) fn with(body: &Value, member: &str, value: impl Into<Value>) -> Value {
    let mut body = body.clone();
    body[member] = value.into();
    body
}

pub(super) fn patient(ask: Ask) -> Ask {
    ask.query(ACCEPTS_INCOMPLETE.0, ACCEPTS_INCOMPLETE.1)
}

pub(super) fn instance_path(instance: &str) -> String {
    format!("/v2/service_instances/{instance}")
}

pub(super) fn binding_path(instance: &str, binding: &str) -> String {
    format!("{}/service_bindings/{binding}", instance_path(instance))
}

fn polled(ask: Ask, operation: Option<&str>) -> Ask {
    match operation {
        Some(operation) => ask.query("operation", operation),
        None => ask,
    }
}
