use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use odb_adapter_sdk::yaml;
use serde_json::{Map, Value};

use super::adapter_request::{AdapterRequest, Shape};
use super::deployed::Deployed;
use super::rules::{manifest, streams};
use super::session::{CallId, Called, Manners, Session};
use crate::process::ProcessCall;

/// The outcome of a request.
pub(super) enum Outcome<A> {
    /// With an answer that can be used.
    Answered(A),
    /// With an exit code other than 0.
    Refused(Refused),
    /// With neither, which has been held against the adapter.
    Broken,
}

/// A request without an answer.
#[derive(Clone)]
pub(super) struct Refused {
    pub(super) id: CallId,
    pub(super) code: ExitCode,
    pub(super) for_user: String,
}

/// An answer to `generate-manifest`.
#[derive(Clone)]
pub(super) struct Generated {
    pub(super) id: CallId,
    pub(super) text: String,
    pub(super) manifest: Value,
    pub(super) secrets: Map<String, Value>,
    pub(super) configs: Map<String, Value>,
}

impl<A> Outcome<A> {
    pub(super) fn answer(self) -> Option<A> {
        match self {
            Self::Answered(answer) => Some(answer),
            Self::Refused(_) | Self::Broken => None,
        }
    }

    pub(super) fn refused(self) -> Option<Refused> {
        match self {
            Self::Refused(refused) => Some(refused),
            Self::Answered(_) | Self::Broken => None,
        }
    }

    fn and_then<B>(self, read: impl FnOnce(A) -> Option<B>) -> Outcome<B> {
        match self {
            Self::Answered(answer) => read(answer).map_or(Outcome::Broken, Outcome::Answered),
            Self::Refused(refused) => Outcome::Refused(refused),
            Self::Broken => Outcome::Broken,
        }
    }
}

impl Session<'_> {
    /// Sends a request in the default form.
    pub(super) fn ask(
        &mut self,
        purpose: &str,
        adapter_request: &AdapterRequest,
    ) -> Outcome<(CallId, Value)> {
        let call = self.call_of(adapter_request);
        self.ask_as(purpose, adapter_request.subcommand(), call)
    }

    /// Asks with a call of the caller's making for one JSON value.
    pub(super) fn ask_as(
        &mut self,
        purpose: &str,
        subcommand: Subcommand,
        call: ProcessCall,
    ) -> Outcome<(CallId, Value)> {
        self.attempt(purpose, subcommand, call).and_then(|called| {
            let value = self.one_value(subcommand, &called)?;
            Some((called.id, value))
        })
    }

    /// Calls the adapter and checks only the exit code.
    pub(super) fn attempt(
        &mut self,
        purpose: &str,
        subcommand: Subcommand,
        call: ProcessCall,
    ) -> Outcome<Called> {
        match self.call(Some(subcommand), purpose, call, Manners::Good) {
            None => Outcome::Broken,
            Some(called) if called.code == ExitCode::Success => Outcome::Answered(called),
            Some(called) => Outcome::Refused(Refused {
                id: called.id,
                code: called.code,
                for_user: String::from_utf8_lossy(&called.stdout).into_owned(),
            }),
        }
    }

    /// Asks for a manifest.
    pub(super) fn generate(
        &mut self,
        purpose: &str,
        adapter_request: &AdapterRequest,
    ) -> Outcome<Generated> {
        if self.asks_on_stdin() {
            self.generate_as(purpose, adapter_request.on_stdin(Shape::AllSections))
        } else {
            self.generate_in_arguments(purpose, adapter_request)
        }
    }

    /// Asks for a manifest with a document of the caller's making.
    pub(super) fn generate_as(&mut self, purpose: &str, call: ProcessCall) -> Outcome<Generated> {
        let answer = self.ask_as(purpose, Subcommand::GenerateManifest, call);
        answer.and_then(|(id, value)| self.generated(id, value))
    }

    /// Asks for a manifest in arguments: the answer is bare YAML.
    pub(super) fn generate_in_arguments(
        &mut self,
        purpose: &str,
        adapter_request: &AdapterRequest,
    ) -> Outcome<Generated> {
        let called = self.attempt(
            purpose,
            adapter_request.subcommand(),
            adapter_request.in_arguments(),
        );
        called.and_then(|called| {
            let text = String::from_utf8_lossy(&called.stdout).into_owned();
            let manifest = self.manifest(called.id, &text)?;
            Some(Generated {
                id: called.id,
                text,
                manifest,
                secrets: Map::new(),
                configs: Map::new(),
            })
        })
    }

    /// The deployed state after an answer.
    pub(super) fn deploy(&mut self, answer: &Generated, previous: Option<&Deployed>) -> Deployed {
        let deployed = Deployed::after(answer, previous, self.inputs.secure_manifests);
        for value in deployed.secret_values() {
            self.learn_secret(&value.into());
        }
        deployed
    }

    fn generated(&mut self, id: CallId, mut value: Value) -> Option<Generated> {
        let name = Subcommand::GenerateManifest.name();
        for key in ["secrets", "configs", "labels"] {
            let is_fit = value
                .get(key)
                .is_none_or(|value| value.is_object() || value.is_null());
            if !is_fit {
                let detail = format!(
                    "`{key}` is {}, not an object",
                    super::difference::kind(&value[key])
                );
                self.find(
                    &streams::WRONG_SHAPE,
                    format!("{name} {key}"),
                    detail,
                    Some(id),
                );
            }
        }
        let mut member = |key: &str| match value.get_mut(key).map(Value::take) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let (secrets, configs) = (member("secrets"), member("configs"));
        for secret in secrets.values() {
            self.learn_secret(secret);
        }
        let Some(text) = value.get("manifest").and_then(Value::as_str) else {
            let detail = "`manifest` is missing or not a text of YAML";
            self.find(&streams::WRONG_SHAPE, name, detail, Some(id));
            return None;
        };
        let manifest = self.manifest(id, text)?;
        Some(Generated {
            id,
            text: text.to_owned(),
            manifest,
            secrets,
            configs,
        })
    }

    fn manifest(&mut self, id: CallId, text: &str) -> Option<Value> {
        let error = match yaml::from_str::<Value>(text) {
            Ok(manifest) if manifest.is_object() => return Some(manifest),
            Ok(other) => format!("it is {}, not a map", super::difference::kind(&other)),
            Err(error) => format!("it cannot be read: {error}"),
        };
        self.find(&manifest::NOT_A_MANIFEST, "", error, Some(id));
        None
    }

    /// The one JSON value on stdout. Further output is a finding, but the check still extracts the value to find other
    /// errors.
    fn one_value(&mut self, subcommand: Subcommand, called: &Called) -> Option<Value> {
        let name = subcommand.name();
        let text = String::from_utf8_lossy(&called.stdout);
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            if value.is_object() {
                return Some(value);
            }
            let detail = format!(
                "`{name}` answered with {}, not an object",
                super::difference::kind(&value)
            );
            self.find(&streams::WRONG_SHAPE, name, detail, Some(called.id));
            return None;
        }
        let within = object_within(&text);
        let what = match (text.trim().is_empty(), &within) {
            (true, _) => "stdout is empty",
            (false, Some((0, _))) => "something follows the answer on stdout",
            (false, Some(_)) => "stdout has text before the answer",
            (false, None) => "stdout is not JSON",
        };
        let detail = format!("`{name}` ended with 0, and {what}");
        self.find(&streams::NOT_ONE_VALUE, name, detail, Some(called.id));
        within.map(|(_, value)| value)
    }
}

/// The first line that begins a JSON object, and that object.
fn object_within(text: &str) -> Option<(usize, Value)> {
    let starts = text.split_inclusive('\n').scan(0, |start, line| {
        let here = *start;
        *start += line.len();
        Some(here)
    });
    starts
        .filter(|start| text[*start..].trim_start().starts_with('{'))
        .find_map(|start| {
            let mut values =
                serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
            Some((start, values.next()?.ok()?))
        })
}
