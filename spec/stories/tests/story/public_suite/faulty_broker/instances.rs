//! Instances and bindings, which are entries in its memory.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    HANDED_OUT,
    catalog::{LARGE, SERVICE, SMALL, VERSION},
    http::{Incoming, Outgoing},
    model::{Model, Peculiarity, Rules, named, rejection},
};

/// How often a broker that deletes late is too unwell for it.
const UNWELL_FOR_DELETES: usize = 16;
const UNWELL_FOR_UNBINDS: usize = 6;

/// How often an operation is asked about before it has ended.
const POLLS: usize = 3;

const DASHBOARD: &str = "https://example.com/dashboard";

/// The identity of an order.
const IDENTITY: [&str; 5] = [
    "service_id",
    "plan_id",
    "organization_guid",
    "space_guid",
    "parameters",
];

/// The identity of a binding.
const BINDING_IDENTITY: [&str; 3] = ["app_guid", "bind_resource", "parameters"];

/// An instance, as long as it can be polled.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    order: Value,
    plan: String,
    operation: Operation,
    bindings: BTreeMap<String, Binding>,
    /// How often its end was reported.
    end_reported: usize,
}

#[derive(Clone, Debug)]
struct Binding {
    order: Value,
    polls_left: usize,
    is_going: bool,
}

#[derive(Clone, Debug)]
struct Operation {
    kind: Kind,
    token: String,
    polls_left: usize,
    change: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Create,
    Update,
    Delete,
}

impl Instance {
    fn is_busy(&self) -> bool {
        self.operation.polls_left > 0
    }

    pub(super) fn is_gone(&self) -> bool {
        self.operation.kind == Kind::Delete && !self.is_busy()
    }
}

impl Model {
    pub(super) fn attend_instance(
        &mut self,
        request: &Incoming,
        instance: &str,
        rest: &[&str],
    ) -> Outgoing {
        if instance.is_empty() {
            return rejection(404, "nothing is here");
        }
        let answer = match (request.method.as_str(), rest) {
            ("PUT", []) => self.provision(request, instance),
            ("GET", []) => Ok(self.fetch(instance)),
            ("PATCH", []) => self.update(request, instance),
            ("DELETE", []) => Ok(self.deprovision(request, instance)),
            ("GET", ["last_operation"]) => Ok(self.last_operation(request, instance)),
            ("PUT", ["service_bindings", binding]) => self.bind(request, instance, binding),
            ("GET", ["service_bindings", binding]) => Ok(self.fetch_binding(instance, binding)),
            ("GET", ["service_bindings", binding, "last_operation"]) => {
                Ok(self.binding_operation(request, instance, binding))
            }
            ("DELETE", ["service_bindings", binding]) => {
                Ok(self.unbind(request, instance, binding))
            }
            _ => Ok(rejection(405, "not like this")),
        };
        answer.unwrap_or_else(|rejection| rejection)
    }

    fn provision(&mut self, request: &Incoming, id: &str) -> Result<Outgoing, Outgoing> {
        let rules = Rules {
            required: &["service_id", "plan_id", "organization_guid", "space_guid"],
            missing: "P-01",
            unknown_service: "P-02",
            unknown_plan: "P-02",
        };
        let body = match self.body(request, &rules) {
            Err(refused) if self.breaks("G-21") => {
                self.instances.insert(id.to_owned(), residue());
                return Err(refused);
            }
            body => body?,
        };
        self.timeout(request)?;
        self.version("P-07", "P-08", &body, &body["plan_id"])?;
        if let Some(known) = self.instances.get(id).filter(|known| !known.is_gone()) {
            return Ok(self.order_again(&known.clone(), &body));
        }
        self.parameters("P-03", &body)?;
        let token = if self.breaks("A-06") {
            "x".repeat(10_001)
        } else {
            self.token()
        };
        let instance = Instance {
            order: identity(&body, &IDENTITY),
            plan: text(&body, "plan_id"),
            operation: Operation {
                kind: Kind::Create,
                token: token.clone(),
                polls_left: POLLS,
                change: Value::Null,
            },
            bindings: BTreeMap::new(),
            end_reported: 0,
        };
        self.instances.insert(id.to_owned(), instance);
        let mut answer = json!({
            "operation": token,
            "dashboard_url": DASHBOARD,
            "metadata": { "labels": self.kept("P-11", json!({}), json!([])) },
        });
        if self.breaks("P-09") {
            answer["dashboard_url"] = Value::Null;
        }
        if self.breaks("A-07") {
            answer["operation"] = Value::Null;
        }
        Ok(Outgoing::new(self.kept("A-03", 202, 200), answer))
    }

    fn order_again(&mut self, known: &Instance, body: &Value) -> Outgoing {
        if known.order != identity(body, &IDENTITY) {
            return rejection(self.kept("P-06", 409, 200), "the id is taken");
        }
        let is_kept = !self.breaks("P-04") && !self.breaks("A-04");
        if known.is_busy() {
            let token = if is_kept {
                known.operation.token.clone()
            } else {
                self.token()
            };
            return Outgoing::new(202, json!({ "operation": token }));
        }
        Outgoing::new(
            self.kept("P-05", 200, 409),
            json!({ "dashboard_url": DASHBOARD }),
        )
    }

    fn update(&mut self, request: &Incoming, id: &str) -> Result<Outgoing, Outgoing> {
        let rules = Rules {
            required: &["service_id"],
            missing: "U-01",
            unknown_service: "U-01",
            unknown_plan: "U-03",
        };
        let body = self.body(request, &rules)?;
        if let Some(parameters) = body.get("parameters")
            && self.is(Peculiarity::ChangesNeedParameters)
        {
            self.parameters("U-09", &body)?;
            if parameters.get("size").is_none() {
                return Err(rejection(400, "which size?"));
            }
        }
        self.timeout(request)?;
        let known = self
            .instances
            .get(id)
            .filter(|known| !known.is_gone())
            .cloned();
        let Some(mut instance) = known else {
            return Err(rejection(
                self.kept("U-04", 404, 400),
                "there is no such instance",
            ));
        };
        if body.get("plan_id").is_none() && self.breaks("U-02") {
            return Err(rejection(400, "which plan?"));
        }
        let plan = body["plan_id"]
            .as_str()
            .unwrap_or(&instance.plan)
            .to_owned();
        self.version("U-07", "U-07", &body, &plan.as_str().into())?;
        let change = json!([plan, body["parameters"]]);
        if instance.is_busy() {
            if instance.operation.change == change {
                let is_kept = !self.breaks("U-08");
                let token = if is_kept {
                    instance.operation.token
                } else {
                    self.token()
                };
                return Ok(Outgoing::new(202, json!({ "operation": token })));
            }
            let rule = match instance.operation.kind {
                Kind::Create => "A-05",
                Kind::Update => "U-09",
                Kind::Delete => "D-04",
            };
            return Err(if self.breaks(rule) {
                rejection(500, "busy")
            } else {
                named("ConcurrencyError")
            });
        }
        if plan == instance.plan && body.get("parameters").is_none() && self.breaks("U-12") {
            return Err(rejection(422, "there is nothing to change"));
        }
        if plan == instance.plan && !self.breaks("U-13") {
            return Ok(Outgoing::new(200, json!({})));
        }
        let token = self.token();
        instance.operation = Operation {
            kind: Kind::Update,
            token: token.clone(),
            polls_left: POLLS,
            change,
        };
        instance.plan = plan;
        self.instances.insert(id.to_owned(), instance);
        Ok(Outgoing::new(202, json!({ "operation": token })))
    }

    fn deprovision(&mut self, request: &Incoming, id: &str) -> Outgoing {
        if let Err(refused) = self.ids("D-01", request) {
            return refused;
        }
        let Some(mut instance) = self.instances.get(id).cloned() else {
            return Outgoing::new(self.kept("D-02", 410, 404), json!({}));
        };
        if let Err(refused) = self.timeout(request) {
            return refused;
        }
        if instance.is_gone() {
            return Outgoing::new(self.kept("O-03", 410, 404), json!({}));
        }
        if instance.operation.kind == Kind::Delete {
            let is_kept = !self.breaks("D-03");
            let token = if is_kept {
                instance.operation.token
            } else {
                self.token()
            };
            return Outgoing::new(202, json!({ "operation": token }));
        }
        let refused = self
            .peculiarity
            .and_then(Peculiarity::rejection_of_deletions);
        if let Some(status) = refused {
            self.unwell.deletes += 1;
            return rejection(status, "it stays");
        }
        if self.is(Peculiarity::DeletesLate) {
            if instance.is_busy() {
                return named("ConcurrencyError");
            }
            if !instance.bindings.is_empty() {
                return rejection(400, "it has bindings");
            }
            if self.unwell.deletes < UNWELL_FOR_DELETES {
                self.unwell.deletes += 1;
                return rejection(503, "come back later");
            }
        }
        let token = self.token();
        instance.operation = Operation {
            kind: Kind::Delete,
            token: token.clone(),
            polls_left: POLLS,
            change: if instance.is_busy() {
                "while it was made".into()
            } else {
                Value::Null
            },
        };
        instance.end_reported = 0;
        self.instances.insert(id.to_owned(), instance);
        Outgoing::new(202, json!({ "operation": token }))
    }

    fn fetch(&self, id: &str) -> Outgoing {
        match self.instances.get(id) {
            Some(known) if known.is_busy() && known.operation.kind == Kind::Update => {
                named("ConcurrencyError")
            }
            Some(known) if !known.is_busy() && !known.is_gone() => {
                let mut body = json!({ "service_id": SERVICE, "plan_id": known.plan });
                if self.breaks("F-02") {
                    body["dashboard_url"] = Value::Null;
                }
                Outgoing::new(200, body)
            }
            _ => Outgoing::new(self.kept("F-01", 404, 200), json!({})),
        }
    }

    fn last_operation(&mut self, request: &Incoming, id: &str) -> Outgoing {
        let token = request.query.get("operation").cloned();
        let Some(mut instance) = self.instances.get(id).cloned() else {
            return self.unknown_operation(token.as_deref());
        };
        let is_its_token = token.as_ref() == Some(&instance.operation.token);
        if self.is(Peculiarity::DeletesLate) && !is_its_token {
            return rejection(400, "which operation?");
        }
        if token.is_none() && self.breaks("L-03") {
            return rejection(400, "which operation?");
        }
        let handed_out = |token: &String| token.starts_with("operation-") || token.len() > 1000;
        if token.is_some_and(|token| !handed_out(&token)) && self.breaks("L-04") {
            return rejection(400, "it is unknown");
        }
        let was_over = !instance.is_busy();
        instance.operation.polls_left = instance.operation.polls_left.saturating_sub(1);
        if was_over {
            instance.end_reported += 1;
        }
        let (operation, reported) = (instance.operation.clone(), instance.end_reported);
        let has_bindings = !instance.bindings.is_empty();
        self.instances.insert(id.to_owned(), instance);
        let retry_after = self.kept("L-07", "0", "soon");
        if operation.polls_left > 0 {
            let state = self.kept("L-01", "in progress", "working");
            return Outgoing::new(200, json!({ "state": state }))
                .header("Retry-After", retry_after);
        }
        let state = |is_kept: bool| {
            Outgoing::new(
                200,
                json!({ "state": if is_kept { "succeeded" } else { "failed" } }),
            )
        };
        match operation.kind {
            Kind::Delete if operation.change.is_string() => state(!self.breaks("D-05")),
            Kind::Delete if was_over && self.breaks("L-09") => state(false),
            Kind::Delete if has_bindings && self.breaks("D-06") => state(false),
            Kind::Delete if was_over => Outgoing::new(410, json!({})),
            Kind::Create if reported > 1 && self.breaks("L-06") => {
                rejection(404, "it is forgotten")
            }
            Kind::Create | Kind::Update | Kind::Delete => state(true),
        }
    }

    fn unknown_operation(&self, token: Option<&str>) -> Outgoing {
        if token.is_some() && self.breaks("L-05") || token.is_none() && self.breaks("L-02") {
            return Outgoing::new(200, json!({ "state": "succeeded" }));
        }
        let text = self.kept(
            "G-23",
            "there is no such instance",
            "panic: goroutine 1 [running]",
        );
        rejection(self.kept("G-20", 404, 418), text)
    }

    fn bind(&mut self, request: &Incoming, id: &str, binding: &str) -> Result<Outgoing, Outgoing> {
        let rules = Rules {
            required: &["service_id", "plan_id"],
            missing: "B-01",
            unknown_service: "B-02",
            unknown_plan: "B-02",
        };
        let body = self.body(request, &rules)?;
        let known = self
            .instances
            .get(id)
            .filter(|known| !known.is_gone())
            .cloned();
        let Some(mut instance) = known else {
            return Err(rejection(
                self.kept("B-03", 404, 410),
                "there is no such instance",
            ));
        };
        if instance.is_busy() {
            return Err(if self.breaks("B-08") {
                rejection(500, "busy")
            } else {
                named("ConcurrencyError")
            });
        }
        let has_app = body.get("app_guid").is_some();
        if !has_app && (self.breaks("B-04") || self.breaks("B-07")) {
            return Err(rejection(422, "which app?"));
        }
        self.parameters("B-12", &body)?;
        let order = identity(&body, &BINDING_IDENTITY);
        if let Some(existing) = instance.bindings.get(binding) {
            return Ok(if existing.order == order {
                self.kept(
                    "B-05",
                    Outgoing::new(200, self.credentials()),
                    rejection(409, "it is there"),
                )
            } else {
                self.kept(
                    "B-06",
                    rejection(409, "it is there"),
                    Outgoing::new(200, self.credentials()),
                )
            });
        }
        let same_app = instance.bindings.values().any(|other| other.order == order);
        if same_app && self.breaks("B-11") {
            return Err(rejection(409, "the app has one"));
        }
        let waits = request
            .query
            .get("accepts_incomplete")
            .is_some_and(|value| value == "true");
        let polls_left = if waits { POLLS } else { 0 };
        instance.bindings.insert(
            binding.to_owned(),
            Binding {
                order,
                polls_left,
                is_going: false,
            },
        );
        self.instances.insert(id.to_owned(), instance);
        if !waits {
            return Ok(Outgoing::new(201, self.credentials()));
        }
        let mut answer = json!({ "operation": self.token() });
        if self.breaks("B-09") {
            answer["credentials"] = json!({ "password": HANDED_OUT });
        }
        Ok(Outgoing::new(202, answer))
    }

    fn credentials(&self) -> Value {
        let ports = self.kept("B-10", json!(["6379"]), json!([6379]));
        json!({
            "credentials": { "password": HANDED_OUT },
            "endpoints": [{ "host": "10.0.0.1", "ports": ports }],
        })
    }

    fn fetch_binding(&self, id: &str, binding: &str) -> Outgoing {
        let known = self
            .instances
            .get(id)
            .and_then(|known| known.bindings.get(binding));
        match known {
            Some(known) if known.polls_left == 0 => Outgoing::new(200, self.credentials()),
            _ => Outgoing::new(self.kept("FB-01", 404, 200), json!({})),
        }
    }

    fn binding_operation(&mut self, request: &Incoming, id: &str, binding: &str) -> Outgoing {
        if self.is(Peculiarity::DeletesLate) && !request.query.contains_key("operation") {
            return rejection(400, "which operation?");
        }
        let flags = self.breaks("LB-01");
        let instance = self.instances.get_mut(id);
        let Some(known) = instance.and_then(|known| known.bindings.get_mut(binding)) else {
            return rejection(404, "there is no such binding");
        };
        known.polls_left = known.polls_left.saturating_sub(1);
        if known.is_going && known.polls_left == 0 {
            self.forget_binding(id, binding);
            return Outgoing::new(410, json!({}));
        }
        let state = if known.polls_left == 0 {
            "succeeded"
        } else {
            "in progress"
        };
        let mut body = json!({ "state": state });
        if flags {
            body["instance_usable"] = true.into();
        }
        Outgoing::new(200, body).header("Retry-After", "0")
    }

    fn unbind(&mut self, request: &Incoming, id: &str, binding: &str) -> Outgoing {
        if let Err(refused) = self.ids("UB-01", request) {
            return refused;
        }
        let (unknown, instance_gone) = (self.kept("UB-03", 410, 200), self.kept("UB-04", 410, 404));
        let given_back = self.kept("UB-02", 200, 204);
        if self.is(Peculiarity::DeletesLate) {
            return self.unbind_late(request, id, binding);
        }
        let Some(instance) = self.instances.get_mut(id) else {
            return Outgoing::new(instance_gone, json!({}));
        };
        match instance.bindings.remove(binding) {
            Some(_) => Outgoing::new(given_back, json!({})),
            None => Outgoing::new(unknown, json!({})),
        }
    }

    fn unbind_late(&mut self, request: &Incoming, id: &str, binding: &str) -> Outgoing {
        if let Err(refused) = self.timeout(request) {
            return refused;
        }
        let token = self.token();
        let instance = self.instances.get_mut(id);
        let Some(known) = instance.and_then(|known| known.bindings.get_mut(binding)) else {
            return Outgoing::new(410, json!({}));
        };
        if self.unwell.unbinds < UNWELL_FOR_UNBINDS {
            self.unwell.unbinds += 1;
            return rejection(500, "come back later");
        }
        (known.is_going, known.polls_left) = (true, POLLS);
        Outgoing::new(202, json!({ "operation": token }))
    }

    fn forget_binding(&mut self, id: &str, binding: &str) {
        if let Some(instance) = self.instances.get_mut(id) {
            instance.bindings.remove(binding);
        }
    }

    fn token(&mut self) -> String {
        self.operations += 1;
        format!("operation-{}", self.operations)
    }

    fn timeout(&self, request: &Incoming) -> Result<(), Outgoing> {
        let waits = request
            .query
            .get("accepts_incomplete")
            .is_some_and(|value| value == "true");
        if waits || self.breaks("A-01") {
            Ok(())
        } else if self.breaks("A-02") {
            Err(rejection(422, "it takes a while"))
        } else {
            Err(named("AsyncRequired"))
        }
    }

    fn version(
        &self,
        differs: &str,
        none: &str,
        body: &Value,
        plan: &Value,
    ) -> Result<(), Outgoing> {
        let Some(asked) = body["maintenance_info"]["version"].as_str() else {
            return Ok(());
        };
        let (fits, rule) = if *plan == LARGE {
            (false, none)
        } else {
            (asked == VERSION, differs)
        };
        match fits {
            true => Ok(()),
            false if self.breaks(rule) => Err(rejection(422, "it has changed")),
            false => Err(named("MaintenanceInfoConflict")),
        }
    }

    fn parameters(&self, rule: &str, body: &Value) -> Result<(), Outgoing> {
        let unknown = body["parameters"].as_object().is_some_and(|parameters| {
            parameters
                .iter()
                .any(|(name, value)| name != "size" || !value.is_i64())
        });
        if unknown {
            Err(rejection(self.kept(rule, 400, 422), "what is that?"))
        } else {
            Ok(())
        }
    }

    fn ids(&self, rule: &str, request: &Incoming) -> Result<(), Outgoing> {
        let is_there = |name: &str| {
            request
                .query
                .get(name)
                .is_some_and(|value| !value.is_empty())
        };
        if is_there("service_id") && is_there("plan_id") {
            Ok(())
        } else {
            Err(rejection(self.kept(rule, 400, 410), "which one?"))
        }
    }
}

/// An instance that should not be there.
fn residue() -> Instance {
    Instance {
        order: Value::Null,
        plan: SMALL.to_owned(),
        operation: Operation {
            kind: Kind::Create,
            token: "operation-0".to_owned(),
            polls_left: 0,
            change: Value::Null,
        },
        bindings: BTreeMap::new(),
        end_reported: 0,
    }
}

fn identity(body: &Value, members: &[&str]) -> Value {
    members.iter().map(|member| body[*member].clone()).collect()
}

fn text(body: &Value, member: &str) -> String {
    body[member].as_str().unwrap_or_default().to_owned()
}
