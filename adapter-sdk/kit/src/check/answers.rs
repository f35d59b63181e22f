use odb_adapter_sdk::protocol::{
    BoshVms, ExitCode, GenerateManifest, ManifestText, PreviousConfigs, Secrets, Subcommand,
};
use odb_adapter_sdk::yaml;
use rand::RngExt as _;
use rand::distr::Alphanumeric;
use serde_json::{Map, Value};

use super::difference::kind;
use super::request::{AdapterRequest, PLATFORM, Shape, deployment_name};
use super::rules::{self, Rule};
use super::session::{CallId, Called, Manners, Session};
use crate::broker::{self, made_up_vms, secrets_folder};
use crate::process::ProcessCall;

pub(super) enum Outcome<A> {
    Answered(A),
    /// With an exit code other than 0.
    Refused(Refused),
    /// Neither, which has been held against the adapter.
    Broken,
}

/// A request without an answer.
pub(super) struct Refused {
    pub(super) id: CallId,
    pub(super) code: ExitCode,
    pub(super) for_user: String,
}

/// An answer to `generate-manifest`.
pub(super) struct Generated {
    pub(super) id: CallId,
    pub(super) text: String,
    pub(super) manifest: Value,
    pub(super) secrets: Map<String, Value>,
    pub(super) configs: Map<String, Value>,
}

/// A deployed instance: what the broker made of an answer.
pub(super) struct Deployed {
    /// With the paths of stored secrets in it.
    pub(super) text: ManifestText,
    pub(super) manifest: Value,
    /// Also without secure manifests, when the adapter does not get them.
    known: Secrets,
    pub(super) configs: PreviousConfigs,
    has_secure_manifests: bool,
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

impl Deployed {
    /// The deployed state after that answer, over the previous one.
    fn after(answer: &Generated, previous: Option<&Self>, has_secure_manifests: bool) -> Self {
        let nothing = Map::new();
        let answered = if has_secure_manifests {
            &answer.secrets
        } else {
            &nothing
        };
        let folder = secrets_folder(PLATFORM.service_id, &deployment_name());
        let known = |reference: &str| previous?.known.expose(reference).map(str::to_owned);
        let made_up = |reference: &str| known(reference).unwrap_or_else(generated);
        let (text, known) = broker::deployed(&answer.text, answered, &folder, made_up);
        let mut configs = previous
            .map(|previous| previous.configs.clone())
            .unwrap_or_default();
        configs.extend(answer.configs.iter().filter_map(|(kind, config)| {
            let config = config.as_str()?;
            Some((kind.clone(), config.to_owned()))
        }));
        Self {
            manifest: yaml::from_str(&text).unwrap_or_else(|_| answer.manifest.clone()),
            text: text.into(),
            known,
            configs,
            has_secure_manifests,
        }
    }

    /// The secrets by reference, as the broker passes them.
    pub(super) fn secrets(&self) -> Option<Secrets> {
        self.has_secure_manifests.then(|| self.known.clone())
    }

    pub(super) fn secret_values(&self) -> impl Iterator<Item = &str> {
        let references = self.known.references();
        references.filter_map(|reference| self.known.expose(reference))
    }

    pub(super) fn stored_value(&self, name: &str) -> Option<&str> {
        let folder = secrets_folder(PLATFORM.service_id, &deployment_name());
        self.known.expose(&format!("(({folder}/{name}))"))
    }

    pub(super) fn has_references(&self) -> bool {
        !self.known.is_empty()
    }

    pub(super) fn bosh_vms(&self) -> BoshVms {
        made_up_vms(&self.manifest)
    }
}

/// A value that occurs nowhere else.
pub(super) fn generated() -> String {
    let random = rand::rng()
        .sample_iter(Alphanumeric)
        .take(24)
        .map(char::from);
    format!("odbcheck{}", random.collect::<String>())
}

impl Session<'_> {
    pub(super) fn ask(
        &mut self,
        purpose: &str,
        request: &AdapterRequest,
    ) -> Outcome<(CallId, Value)> {
        let call = self.call_of(request);
        self.ask_as(purpose, request.subcommand(), call)
    }

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

    pub(super) fn generate(&mut self, purpose: &str, call: GenerateManifest) -> Outcome<Generated> {
        let request = AdapterRequest::generate(call);
        if self.on_stdin {
            self.generate_as(purpose, request.on_stdin(Shape::AllSections))
        } else {
            self.generate_in_arguments(purpose, &request)
        }
    }

    pub(super) fn generate_as(&mut self, purpose: &str, call: ProcessCall) -> Outcome<Generated> {
        let answer = self.ask_as(purpose, Subcommand::GenerateManifest, call);
        answer.and_then(|(id, value)| self.generated(id, value))
    }

    /// Asks for a manifest in arguments: the answer is bare YAML.
    pub(super) fn generate_in_arguments(
        &mut self,
        purpose: &str,
        request: &AdapterRequest,
    ) -> Outcome<Generated> {
        let called = self.attempt(purpose, request.subcommand(), request.in_arguments());
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

    /// The answer to a request that has to be answered; a rejection is a finding.
    pub(super) fn expect<A>(
        &mut self,
        outcome: Outcome<A>,
        rule: &'static Rule,
        about: &str,
    ) -> Option<A> {
        match outcome {
            Outcome::Answered(answer) => return Some(answer),
            Outcome::Refused(refused) => self.find_rejection(rule, about, &refused),
            Outcome::Broken => {}
        }
        None
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
            if let Some(member) = value.get(key)
                && !member.is_object()
                && !member.is_null()
            {
                let detail = format!("`{key}` is {}, not an object", kind(member));
                self.find(&rules::WRONG_SHAPE, format!("{name} {key}"), detail, id);
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
            self.find(&rules::WRONG_SHAPE, name, detail, id);
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
            Ok(other) => format!("it is {}, not a map", kind(&other)),
            Err(error) => format!("it cannot be read: {error}"),
        };
        self.find(&rules::NOT_A_MANIFEST, "", error, id);
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
            let detail = format!("`{name}` answered with {}, not an object", kind(&value));
            self.find(&rules::WRONG_SHAPE, name, detail, called.id);
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
        self.find(&rules::NOT_ONE_VALUE, name, detail, called.id);
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
