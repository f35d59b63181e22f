//! `spec/openapi`: what the broker may answer, to platforms and to operators. The harness holds every answer of every
//! test against the document that its path belongs to.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex},
};

use jsonschema::Validator;
use odb_adapter_sdk::yaml;
use reqwest::Method;
use serde_json::Value;

use crate::Response;

static OSB: LazyLock<ApiDocument> = LazyLock::new(|| {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi/osb.yaml"));
    ApiDocument::parse("spec/openapi/osb.yaml", "/v2/", text)
});

static MANAGEMENT: LazyLock<ApiDocument> = LazyLock::new(|| {
    let text = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../openapi/management.yaml"
    ));
    ApiDocument::parse("spec/openapi/management.yaml", "/mgmt/", text)
});

/// The document of one of the broker's APIs.
#[derive(Debug)]
pub struct ApiDocument {
    name: &'static str,
    prefix: &'static str,
    document: Value,
    /// Schemas that were needed so far, by themselves.
    validators: Mutex<HashMap<String, Validator>>,
}

enum Route<'d> {
    Operation(&'d Value),
    WrongMethod,
    NoSuchPath,
}

impl ApiDocument {
    /// The document of the Open Service Broker API, read once.
    pub fn osb() -> &'static Self {
        &OSB
    }

    pub fn management() -> &'static Self {
        &MANAGEMENT
    }

    /// The document of the API that a path belongs to. Some paths belong to none.
    pub fn of(path: &str) -> Option<&'static Self> {
        let mut documents = [Self::osb(), Self::management()].into_iter();
        documents.find(|document| path.starts_with(document.prefix))
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn value(&self) -> &Value {
        &self.document
    }

    pub fn operations(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let paths = self.document["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, item)| {
            let members = item.as_object().into_iter().flatten();
            members
                .filter(|(_, operation)| operation.get("responses").is_some())
                .map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
        })
    }

    pub fn violations(&self, method: &Method, path: &str, answer: &Response) -> Vec<String> {
        let Some(response) = self.response(&self.route(method, path), answer.status) else {
            return vec![format!("the status {} is not foreseen", answer.status)];
        };
        let mut violations = self.headers(response, answer);
        if *method != Method::HEAD {
            violations.extend(self.body(response, answer));
        }
        violations
    }

    /// The target of a reference; any other value itself.
    pub fn resolve<'d>(&'d self, value: &'d Value) -> &'d Value {
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let target = self.document.pointer(reference.trim_start_matches('#'));
                target.unwrap_or_else(|| panic!("`{reference}` refers to nothing"))
            }
            None => value,
        }
    }

    fn parse(name: &'static str, prefix: &'static str, text: &str) -> Self {
        let document = yaml::from_str(text).expect("the document is YAML");
        Self {
            name,
            prefix,
            document,
            validators: Mutex::default(),
        }
    }

    fn route(&self, method: &Method, path: &str) -> Route<'_> {
        let paths = self.document["paths"].as_object().into_iter().flatten();
        // One that names a path to the letter goes before one that leaves something open.
        let item = paths
            .filter(|(template, _)| fits(template, path))
            .min_by_key(|(template, _)| template.matches('{').count())
            .map(|(_, item)| item);
        let Some(item) = item else {
            return Route::NoSuchPath;
        };
        match item.get(method.as_str().to_ascii_lowercase()) {
            Some(operation) => Route::Operation(&operation["responses"]),
            None => Route::WrongMethod,
        }
    }

    fn response<'d>(&'d self, route: &Route<'d>, status: u16) -> Option<&'d Value> {
        let shared = &self.document["components"]["responses"];
        let named = match (route, status) {
            (Route::Operation(responses), _) => {
                return responses
                    .get(status.to_string())
                    .map(|response| self.resolve(response));
            }
            (Route::NoSuchPath, 404) => "NoSuchPath",
            (Route::WrongMethod, 405) => "WrongMethod",
            (_, 401) => "Unauthorized",
            (_, 412) => "UnsupportedVersion",
            (_, 408) => "SlowClient",
            (_, 413) => "TooLarge",
            (_, 414) => "AddressTooLong",
            (_, 417) => "UnknownExpectation",
            (_, 429) => "TryLater",
            (_, 431) => "TooManyHeaders",
            (_, 503) => "Stopping",
            _ => return None,
        };
        shared.get(named)
    }

    fn headers(&self, response: &Value, answer: &Response) -> Vec<String> {
        let documented = response["headers"].as_object().into_iter().flatten();
        let mut violations = Vec::new();
        for (name, header) in documented {
            let header = self.resolve(header);
            let required = header["required"] == true;
            match answer.headers.get(name).map(|value| value.to_str()) {
                Some(Ok(value)) => {
                    let schema = self.resolve(&header["schema"]);
                    violations.extend(
                        self.schema_violations(schema, &value.into())
                            .into_iter()
                            .map(|violation| format!("header {name}: {violation}")),
                    );
                }
                Some(Err(_)) => violations.push(format!("header {name} is no text")),
                None if required => violations.push(format!("header {name} is missing")),
                None => {}
            }
        }
        violations
    }

    fn body(&self, response: &Value, answer: &Response) -> Vec<String> {
        let Some(schema) = response.pointer("/content/application~1json/schema") else {
            return if answer.text.is_empty() {
                Vec::new()
            } else {
                vec!["there should be no body".to_owned()]
            };
        };
        if answer.text.is_empty() && response["x-empty-body"] == true {
            return Vec::new();
        }
        let media = answer.header("content-type");
        if media != "application/json" {
            return vec![format!("the body is `{media}`")];
        }
        match serde_json::from_str(&answer.text) {
            Ok(body) => self.schema_violations(schema, &body),
            Err(error) => vec![format!("the body is no JSON: {error}")],
        }
    }

    fn schema_violations(&self, schema: &Value, instance: &Value) -> Vec<String> {
        let key = schema.to_string();
        let mut validators = self.validators.lock().expect("no test panics with it");
        let validator = validators
            .entry(key)
            .or_insert_with(|| self.validator(schema));
        validator
            .iter_errors(instance)
            .map(|error| format!("{} at `{}`", error, error.instance_path()))
            .collect()
    }

    /// References start at the root of the document, so its components come along.
    fn validator(&self, schema: &Value) -> Validator {
        let mut alone = schema.clone();
        alone["components"] = self.document["components"].clone();
        jsonschema::draft202012::new(&alone).expect("the document's schemas are schemas")
    }
}

/// A path of the document matches that of a request, whose ids are still encoded.
fn fits(template: &str, path: &str) -> bool {
    let (template, path) = (template.split('/'), path.split('/'));
    template.clone().count() == path.clone().count()
        && template
            .zip(path)
            .all(|(wanted, given)| wanted == given || wanted.starts_with('{') && !given.is_empty())
}
