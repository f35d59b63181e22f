//! Calls as they travel: texts under the names of their members. Errors name each by its path in the input.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    BoshVms, CreateBinding, GenerateDashboardUrl, GenerateManifest, GeneratePlanSchemas,
    ManifestText, NotRequestParameters, Plan, RequestParameters, Secrets, ServiceDeployment,
    UaaClient, Violations,
};
use crate::json;

/// Errors in the input of a call. No message contains a value of the input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum InputError {
    #[error("the input is not a JSON object")]
    Document(#[source] json::Error),
    #[error("`{path}` must be an object")]
    NotAnObject { path: String },
    #[error("`{path}` must be a string")]
    NotAString { path: String },
    #[error("`{path}` is missing")]
    Missing { path: String },
    #[error("`{path}` cannot be read")]
    NotReadable {
        path: String,
        #[source]
        source: json::Error,
    },
    #[error("`{path}` is not valid")]
    NotValid {
        path: String,
        #[source]
        source: Violations,
    },
    #[error("`{path}` is not valid")]
    NotRequestParameters {
        path: String,
        #[source]
        source: NotRequestParameters,
    },
}

pub(super) trait Part: Sized {
    fn text(&self) -> String;

    /// Reads the text, if present.
    fn read(text: Option<&str>, path: String) -> Result<Self, InputError>;
}

type Rules = fn(&Value) -> Result<(), Violations>;

trait Document: Serialize + DeserializeOwned {
    /// Rules that it must keep before it is decoded.
    const RULES: Option<Rules> = None;

    /// The value of `null`, or of no text.
    fn absent() -> Option<Self> {
        None
    }
}

impl Document for Plan {
    const RULES: Option<Rules> = Some(Self::inspect);
}

impl Document for ServiceDeployment {
    const RULES: Option<Rules> = Some(Self::inspect);
}

impl Document for Secrets {}

impl Document for UaaClient {}

impl Document for BTreeMap<String, String> {
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl Document for BoshVms {
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Document> Part for T {
    fn text(&self) -> String {
        json_text(self)
    }

    fn read(text: Option<&str>, path: String) -> Result<Self, InputError> {
        match (text, T::absent()) {
            (None, None) => Err(InputError::Missing { path }),
            (None, Some(absent)) => Ok(absent),
            (Some(text), Some(absent)) if is_null(text) => Ok(absent),
            (Some(text), _) => decoded(text, path),
        }
    }
}

impl<T: Document> Part for Option<T> {
    fn text(&self) -> String {
        json_text(self)
    }

    fn read(text: Option<&str>, path: String) -> Result<Self, InputError> {
        match text {
            None | Some("") => Ok(None),
            Some(text) if is_null(text) => Ok(None),
            Some(text) => decoded(text, path).map(Some),
        }
    }
}

impl Part for RequestParameters {
    fn text(&self) -> String {
        self.as_json().to_owned()
    }

    fn read(text: Option<&str>, path: String) -> Result<Self, InputError> {
        text.map_or_else(|| Ok(Self::default()), Self::from_json)
            .map_err(|source| InputError::NotRequestParameters { path, source })
    }
}

impl Part for ManifestText {
    fn text(&self) -> String {
        self.as_str().to_owned()
    }

    fn read(text: Option<&str>, _: String) -> Result<Self, InputError> {
        Ok(text.unwrap_or_default().into())
    }
}

impl Part for Option<ManifestText> {
    fn text(&self) -> String {
        self.as_ref().map(Part::text).unwrap_or_default()
    }

    fn read(text: Option<&str>, _: String) -> Result<Self, InputError> {
        Ok(text.filter(|text| !text.is_empty()).map(ManifestText::from))
    }
}

impl Part for String {
    fn text(&self) -> String {
        self.clone()
    }

    fn read(text: Option<&str>, _: String) -> Result<Self, InputError> {
        Ok(text.unwrap_or_default().to_owned())
    }
}

fn json_text(part: &impl Serialize) -> String {
    serde_json::to_string(part).expect("the protocol's types have text keys and write to memory")
}

fn is_null(text: &str) -> bool {
    text.trim() == "null"
}

fn decoded<T: Document>(text: &str, path: String) -> Result<T, InputError> {
    let decoded = match T::RULES {
        None => json::from_str(text),
        Some(rules) => match json::from_str(text).map(|document| (rules(&document), document)) {
            Ok((Ok(()), document)) => serde_json::from_value(document).map_err(json::Error::from),
            Ok((Err(source), _)) => return Err(InputError::NotValid { path, source }),
            Err(error) => Err(error),
        },
    };
    decoded.map_err(|source| InputError::NotReadable { path, source })
}

/// A call as it travels: texts under the names of its members.
pub(super) trait Wire: Sized {
    /// All members, in the order of the document.
    const MEMBERS: &'static [&'static str];

    /// The members that old brokers pass as arguments, in their order.
    const ORDER: &'static [Argument];

    fn text(&self, member: &str) -> String;

    fn read(texts: &Texts<'_>) -> Result<Self, InputError>;
}

/// A member that is passed as an argument, and its name in errors.
pub(super) struct Argument {
    pub(super) member: &'static str,
    name: &'static str,
}

pub(super) enum Texts<'t> {
    /// From a section of the document, which may be absent.
    Section {
        name: String,
        members: Option<&'t Map<String, Value>>,
    },
    /// From arguments, at least as many as there are in the order.
    List {
        order: &'static [Argument],
        values: Vec<&'t str>,
    },
}

impl Texts<'_> {
    fn part<T: Part>(&self, member: &str) -> Result<T, InputError> {
        match self {
            Self::Section { name, members } => {
                let path = format!("{name}.{member}");
                match members.and_then(|members| members.get(member)) {
                    None | Some(Value::Null) => T::read(None, path),
                    Some(Value::String(text)) => {
                        T::read(Some(text.as_str()).filter(|text| !text.is_empty()), path)
                    }
                    Some(_) => Err(InputError::NotAString { path }),
                }
            }
            Self::List { order, values } => {
                let mut found = order.iter().zip(values);
                match found.find(|(argument, _)| argument.member == member) {
                    Some((argument, text)) => T::read(Some(text), argument.name.to_owned()),
                    None => T::read(None, member.to_owned()),
                }
            }
        }
    }
}

/// Members in the order of the document; for arguments, with their names in errors; and, if it differs, the order in
/// which the Go SDK finds their errors.
macro_rules! travels {
    ($call:ty { $($member:ident),+ } as [$($argument:ident: $name:literal),+]) => {
        travels!($call { $($member),+ } as [$($argument: $name),+] read { $($member),+ });
    };
    ($call:ty { $($member:ident),+ } as [$($argument:ident: $name:literal),+] read { $($next:ident),+ }) => {
        impl Wire for $call {
            const MEMBERS: &'static [&'static str] = &[$(stringify!($member)),+];
            const ORDER: &'static [Argument] =
                &[$(Argument { member: stringify!($argument), name: $name }),+];

            fn text(&self, member: &str) -> String {
                match member {
                    $(stringify!($member) => self.$member.text(),)+
                    _ => String::new(),
                }
            }

            fn read(texts: &Texts<'_>) -> Result<Self, InputError> {
                Ok(Self { $($next: texts.part(stringify!($next))?),+ })
            }
        }
    };
}

travels!(GenerateManifest {
    service_deployment, plan, previous_plan, previous_manifest, request_parameters, previous_secrets,
    previous_configs, uaa_client
} as [
    service_deployment: "service deployment", plan: "plan", request_parameters: "request parameters",
    previous_manifest: "previous manifest", previous_plan: "previous plan"
] read {
    service_deployment, plan, request_parameters, previous_manifest, previous_plan, previous_secrets,
    previous_configs, uaa_client
});

travels!(CreateBinding {
    binding_id, bosh_vms, manifest, request_parameters, secrets, dns_addresses
} as [
    binding_id: "binding id", bosh_vms: "BOSH VMs", manifest: "manifest",
    request_parameters: "request parameters"
]);

travels!(GenerateDashboardUrl { instance_id, plan, manifest } as [
    instance_id: "instance id", plan: "plan", manifest: "manifest"
]);

travels!(GeneratePlanSchemas { plan } as [plan: "--plan-json"]);
