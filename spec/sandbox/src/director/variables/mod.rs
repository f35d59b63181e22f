//! Variables: values that the Director has generated for deployments. They are kept here until
//! a config server takes them over; only [`Variables`] knows where they are.

mod certificate;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use rand::RngExt;
use serde_json::{Map, Value};
use uuid::Uuid;

use self::certificate::{CertificateRequest, Issuer};

const PASSWORD_LENGTH: usize = 30;

/// All variables, by absolute name. Holds secrets, hence no `Debug`.
#[derive(Default)]
pub(super) struct Variables {
    values: Mutex<BTreeMap<String, Variable>>,
}

/// A generated value.
#[derive(Clone)]
struct Variable {
    id: Uuid,
    value: Value,
    /// What it signs with, if it is a certificate authority.
    issuer: Option<Issuer>,
}

/// What a deployment wants to be generated.
pub(super) struct VariableRequest {
    /// The absolute name.
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) options: Map<String, Value>,
    pub(super) if_present: IfPresent,
}

/// What becomes of a value that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfPresent {
    /// It stays.
    Keep,
    /// A new one takes its place.
    Overwrite,
}

/// A part of a variable that does not exist, or a variable that does not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LookupFault {
    #[error(
        "Failed to find variable '{0}' from config server: HTTP Code '404', Error: 'The request could not be completed because the credential does not exist or you do not have sufficient authorization.'"
    )]
    NoSuchVariable(String),
    #[error(
        "Failed to fetch variable '{name}' from config server: Expected it to have key '{key}'"
    )]
    NoSuchKey { name: String, key: String },
}

/// Why no value could be generated.
#[derive(Debug, thiserror::Error)]
pub(super) enum GenerationFault {
    #[error("The type '{0}' is not supported.")]
    UnsupportedType(String),
    #[error("The certificate authority '{0}' was not found.")]
    NoSuchAuthority(String),
    #[error("The certificate parameters are not valid.")]
    Certificate(#[source] rcgen::Error),
    #[error("The certificate parameters are not valid.")]
    Parameters(#[source] serde_json::Error),
    #[error("The value could not be computed.")]
    Interrupted(#[source] tokio::task::JoinError),
}

impl Variables {
    /// Makes sure that a variable has a value, and tells the value's id.
    pub(super) async fn ensure(&self, request: &VariableRequest) -> Result<Uuid, GenerationFault> {
        let present = self.with(|values| values.get(&request.name).map(|variable| variable.id));
        if let (Some(id), IfPresent::Keep) = (present, request.if_present) {
            return Ok(id);
        }
        let variable = match request.kind.as_str() {
            "password" => password(&request.options),
            "certificate" => self.certificate(&request.options).await?,
            other => return Err(GenerationFault::UnsupportedType(other.to_owned())),
        };
        let id = variable.id;
        self.with(|values| values.insert(request.name.clone(), variable));
        Ok(id)
    }

    /// The value, or part of it, that a reference such as `name.part` means, with the id of the variable.
    pub(super) fn look_up(&self, name: &str, keys: &[&str]) -> Result<(Uuid, Value), LookupFault> {
        let variable = self
            .with(|values| values.get(name).cloned())
            .ok_or_else(|| LookupFault::NoSuchVariable(name.to_owned()))?;
        let part = keys.iter().try_fold(variable.value, |value, key| {
            value
                .get(*key)
                .cloned()
                .ok_or_else(|| LookupFault::NoSuchKey {
                    name: name.to_owned(),
                    key: (*key).to_owned(),
                })
        })?;
        Ok((variable.id, part))
    }

    /// Forgets all variables below this path.
    pub(super) fn forget_below(&self, path: &str) {
        self.with(|values| values.retain(|name, _| !name.starts_with(path)));
    }

    async fn certificate(&self, options: &Map<String, Value>) -> Result<Variable, GenerationFault> {
        let request: CertificateRequest = serde_json::from_value(Value::Object(options.clone()))
            .map_err(GenerationFault::Parameters)?;
        let issuer = match &request.ca {
            None => None,
            Some(name) => Some(
                self.with(|values| values.get(name.as_str()).and_then(|ca| ca.issuer.clone()))
                    .ok_or_else(|| GenerationFault::NoSuchAuthority(name.clone()))?,
            ),
        };
        // An RSA key takes long enough to hold up others.
        let made =
            tokio::task::spawn_blocking(move || certificate::make(&request, issuer.as_ref()));
        let made = made
            .await
            .map_err(GenerationFault::Interrupted)?
            .map_err(GenerationFault::Certificate)?;
        Ok(Variable {
            id: Uuid::new_v4(),
            value: made.value,
            issuer: made.issuer,
        })
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut BTreeMap<String, Variable>) -> T) -> T {
        use_them(&mut self.values.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn password(options: &Map<String, Value>) -> Variable {
    let length = options
        .get("length")
        .and_then(Value::as_u64)
        .and_then(|length| usize::try_from(length).ok())
        .map_or(PASSWORD_LENGTH, |length| length.clamp(4, 200));
    let password: String = rand::rng()
        .sample_iter(rand::distr::Alphanumeric)
        .take(length)
        .map(char::from)
        .collect();
    Variable {
        id: Uuid::new_v4(),
        value: Value::String(password),
        issuer: None,
    }
}

/// The absolute form of a variable's name: names without a leading slash belong to the deployment.
pub(super) fn absolute_name(name: &str, director: &str, deployment: &str) -> String {
    if name.starts_with('/') {
        name.to_owned()
    } else {
        format!("/{director}/{deployment}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(name: &str, kind: &str, options: &Value) -> VariableRequest {
        VariableRequest {
            name: name.to_owned(),
            kind: kind.to_owned(),
            options: options.as_object().cloned().unwrap_or_default(),
            if_present: IfPresent::Keep,
        }
    }

    #[tokio::test]
    async fn a_password_is_generated_once() {
        let variables = Variables::default();
        let wanted = request("/d/a/pw", "password", &json!({"length": 12}));
        let first = variables.ensure(&wanted).await.unwrap();
        let (id, value) = variables.look_up("/d/a/pw", &[]).unwrap();
        assert_eq!((first, value.as_str().unwrap().len()), (id, 12));
        assert_eq!(variables.ensure(&wanted).await.unwrap(), id);
        assert_eq!(variables.look_up("/d/a/pw", &[]).unwrap().1, value);
    }

    #[tokio::test]
    async fn a_certificate_is_signed_by_the_authority_that_it_names() {
        let variables = Variables::default();
        let authority = request(
            "/ca",
            "certificate",
            &json!({"is_ca": true, "common_name": "root"}),
        );
        let leaf = request(
            "/leaf",
            "certificate",
            &json!({"ca": "/ca", "common_name": "redis", "alternative_names": ["127.0.0.5", "redis.internal"]}),
        );
        variables.ensure(&authority).await.unwrap();
        variables.ensure(&leaf).await.unwrap();

        let ca = variables.look_up("/ca", &["certificate"]).unwrap().1;
        assert_eq!(variables.look_up("/ca", &["ca"]).unwrap().1, ca);
        assert_eq!(variables.look_up("/leaf", &["ca"]).unwrap().1, ca);
        let key = variables.look_up("/leaf", &["private_key"]).unwrap().1;
        assert!(key.as_str().unwrap().contains("PRIVATE KEY"));
        assert!(matches!(
            variables.look_up("/leaf", &["password"]),
            Err(LookupFault::NoSuchKey { .. })
        ));
    }

    #[tokio::test]
    async fn an_unknown_type_and_an_unknown_authority_are_refused() {
        let variables = Variables::default();
        let ssh = variables.ensure(&request("/k", "dragon", &json!({}))).await;
        assert!(matches!(ssh, Err(GenerationFault::UnsupportedType(_))));
        let orphan = request(
            "/c",
            "certificate",
            &json!({"ca": "/none", "common_name": "x"}),
        );
        assert!(matches!(
            variables.ensure(&orphan).await,
            Err(GenerationFault::NoSuchAuthority(_))
        ));
    }
}
