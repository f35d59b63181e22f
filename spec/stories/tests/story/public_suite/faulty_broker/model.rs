//! The rules for every request.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    AUTHORIZATION,
    catalog::{LARGE, SERVICE, SMALL},
    http::{Incoming, Outgoing},
    instances::Instance,
};

/// The largest body that is taken.
const LARGEST_BODY: usize = 1024 * 1024;

/// Valid variations of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Peculiarity {
    /// Changes need a parameter and may have no other, and that is looked at before anything else.
    ChangesNeedParameters,
    /// It deletes only idle instances without bindings, after an outage for a while, and reports operations only with
    /// their token. (The outage breaks rules, but none that are checked meanwhile.)
    DeletesLate,
    /// It answers every deletion of an instance with this status.
    DeletesNothing(u16),
}

/// How often a broker was too unwell.
#[derive(Debug, Default)]
pub(super) struct Unwell {
    pub(super) deletes: usize,
    pub(super) unbinds: usize,
}

impl Peculiarity {
    /// The status of deletions, if all are rejected.
    pub(super) fn rejection_of_deletions(self) -> Option<u16> {
        match self {
            Self::DeletesNothing(status) => Some(status),
            Self::ChangesNeedParameters | Self::DeletesLate => None,
        }
    }
}

/// The broker's memory.
pub(super) struct Model {
    broken: BTreeSet<String>,
    pub(super) peculiarity: Option<Peculiarity>,
    /// How often it was too unwell to delete instances and bindings.
    pub(super) unwell: Unwell,
    pub(super) readings: usize,
    pub(super) operations: usize,
    pub(super) instances: BTreeMap<String, Instance>,
}

impl Model {
    pub(super) fn new(broken: &[&str]) -> Self {
        Self {
            broken: broken.iter().map(|&rule| rule.to_owned()).collect(),
            peculiarity: None,
            unwell: Unwell::default(),
            readings: 0,
            operations: 0,
            instances: BTreeMap::new(),
        }
    }

    pub(super) fn with(peculiarity: Peculiarity) -> Self {
        Self {
            peculiarity: Some(peculiarity),
            ..Self::new(&[])
        }
    }

    /// Whether it is like this.
    pub(super) fn is(&self, peculiarity: Peculiarity) -> bool {
        self.peculiarity == Some(peculiarity)
    }

    /// The instances that are there.
    pub(super) fn existing(&self) -> Vec<String> {
        let existing = self.instances.iter().filter(|(_, known)| !known.is_gone());
        existing.map(|(id, _)| id.clone()).collect()
    }

    /// Whether a rule is to be broken.
    pub(super) fn breaks(&self, rule: &str) -> bool {
        self.broken.contains(rule)
    }

    /// One thing where the rule is kept, another where it is broken.
    pub(super) fn kept<T>(&self, rule: &str, kept: T, broken: T) -> T {
        if self.breaks(rule) { broken } else { kept }
    }

    pub(super) fn answer(&mut self, request: &Incoming) -> Outgoing {
        let mut answer = self.attend(request);
        if let Some(identity) = request.headers.get("x-broker-api-request-identity")
            && !(self.breaks("G-08") && answer.status >= 400)
        {
            answer = answer.header("X-Broker-API-Request-Identity", identity);
        }
        if self.breaks("G-10") && answer.status >= 400 {
            answer = answer.header("Content-Type", "text/plain");
        }
        answer
    }

    fn attend(&mut self, request: &Incoming) -> Outgoing {
        let is_known = request
            .headers
            .get("authorization")
            .is_some_and(|given| given == AUTHORIZATION);
        let is_overlooked = self.breaks("G-06")
            && request
                .path
                .last()
                .is_some_and(|last| last == "last_operation");
        if !is_known && !is_overlooked {
            return rejection(401, "who are you?");
        }
        let version = request
            .headers
            .get("x-broker-api-version")
            .map(String::as_str);
        let lower_case = request
            .spelled
            .iter()
            .any(|name| name == "x-broker-api-version");
        if self.breaks("G-09") && !lower_case && version.is_some() {
            return rejection(412, "x-broker-api-version is missing");
        }
        match version.and_then(|version| version.split_once('.')) {
            None if version.is_none() && self.breaks("G-02") => {}
            Some(("2", minor)) if !(self.breaks("G-04") && minor == "99") => {}
            _ if self.breaks("G-03") && version.is_some() => {
                return rejection(400, "2.x is supported");
            }
            _ => return rejection(412, "2.x is supported"),
        }
        if self.breaks("G-07")
            && request.headers.get("x-broker-api-originating-identity")
                == Some(&"cloudfoundry".to_owned())
        {
            return rejection(400, "who is that?");
        }
        if request.body.len() > LARGEST_BODY && !self.breaks("G-17") {
            return rejection(413, "too large");
        }
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match path.as_slice() {
            ["v2", "catalog"] => self.read_catalog(request),
            ["v2", "service_instances", instance, rest @ ..] => {
                let Some(instance) = self.decoded(instance) else {
                    return rejection(400, "that is no id");
                };
                self.attend_instance(request, &instance, rest)
            }
            _ => rejection(404, "nothing is here"),
        }
    }

    fn read_catalog(&mut self, request: &Incoming) -> Outgoing {
        let known = request.headers.get("if-none-match").map(String::as_str);
        if known == Some("\"tag\"") && !self.breaks("C-04") {
            return Outgoing {
                body: None,
                ..Outgoing::new(304, Value::Null).header("ETag", "\"tag\"")
            };
        }
        Outgoing::new(200, self.catalog()).header("ETag", "\"tag\"")
    }

    /// An id as it is, where it can travel.
    fn decoded(&self, id: &str) -> Option<String> {
        if self.breaks("G-15") {
            return Some(id.to_owned());
        }
        let decoded = id.replace("%2D", "-");
        let travels = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        (decoded.len() <= 128 && decoded.bytes().all(travels)).then_some(decoded)
    }

    /// A body that is a JSON object of the right types and names what is in the catalog.
    pub(super) fn body(&self, request: &Incoming, rules: &Rules) -> Result<Value, Outgoing> {
        let malformed = |rule: &str, text: &str| rejection(self.kept(rule, 400, 422), text);
        let body: Value = serde_json::from_slice(&request.body)
            .ok()
            .filter(Value::is_object)
            .ok_or_else(|| malformed("G-11", "that is not a JSON object"))?;
        if body
            .get("parameters")
            .is_some_and(|parameters| !parameters.is_object())
        {
            return Err(malformed("G-11", "parameters are an object"));
        }
        if body
            .get("context")
            .is_some_and(|context| !context.is_object())
        {
            return Err(malformed("P-12", "a context is an object"));
        }
        if self.breaks("G-12") && body.get("odb_conformance").is_some() {
            return Err(rejection(400, "what is that?"));
        }
        for member in rules.required {
            let value = body[*member].as_str();
            if value == Some("") && self.breaks("G-14") {
                return Err(rejection(422, "it is empty"));
            }
            if value.is_none_or(str::is_empty) {
                return Err(malformed(rules.missing, "something is missing"));
            }
        }
        if body["service_id"] != SERVICE {
            return Err(malformed(rules.unknown_service, "that is not offered"));
        }
        let plan = body["plan_id"].as_str().unwrap_or(SMALL);
        // Where ids change between readings, each was right at its time.
        if ![SMALL, LARGE].contains(&plan) && !plan.starts_with(SMALL) {
            return Err(malformed(rules.unknown_plan, "that is not offered"));
        }
        Ok(body)
    }
}

/// Which rules a body is held against.
pub(super) struct Rules {
    pub(super) required: &'static [&'static str],
    pub(super) missing: &'static str,
    pub(super) unknown_service: &'static str,
    pub(super) unknown_plan: &'static str,
}

pub(super) fn rejection(status: u16, description: &str) -> Outgoing {
    Outgoing::new(status, json!({ "description": description }))
}

pub(super) fn named(error: &str) -> Outgoing {
    Outgoing::new(422, json!({ "error": error, "description": "not now" }))
}
