//! A credential with its versions.
//!
//! Reads objects of JSON, in bodies and in them. Members that mean nothing are refused by their name.

use actix_web::{Error, FromRequest, HttpRequest, dev::Payload, web::Bytes};
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    generate::StringParameters, name::CredentialName, rejection::Rejection, ssh, user_hash,
};

/// One version of a credential. Holds secrets, hence no `Debug`; it is serialised for the state alone.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) credential: Uuid,
    pub(super) name: CredentialName,
    /// Orders all versions of all credentials by age.
    pub(super) sequence: u64,
    pub(super) created_at: Timestamp,
    pub(super) metadata: Option<Value>,
    pub(super) secret: Secret,
}

/// The secret value, by type.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Secret {
    Value {
        value: String,
    },
    Json {
        value: Value,
    },
    Password {
        password: String,
        /// The parameters of its generation; `None` when it was set.
        parameters: Option<StringParameters>,
    },
    User {
        username: Option<String>,
        password: String,
        /// Of the hash that is shown with it, so that it is the same each time.
        salt: String,
        parameters: Option<StringParameters>,
    },
    Certificate(CertificateSecret),
    Rsa(KeyPairSecret),
    Ssh(KeyPairSecret),
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct CertificateSecret {
    /// The certificate of the authority, PEM.
    pub(super) ca: Option<String>,
    /// PEM.
    pub(super) certificate: String,
    /// PEM.
    pub(super) private_key: Option<String>,
    pub(super) ca_name: Option<CredentialName>,
    pub(super) origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    Generated,
    Set,
}

/// A key pair, or half of one when it was set.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeyPairSecret {
    pub(super) public_key: Option<String>,
    pub(super) private_key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CredentialType {
    Value,
    Json,
    Password,
    User,
    Certificate,
    Ssh,
    Rsa,
}

impl CredentialType {
    const ALL: [Self; 7] = [
        Self::Value,
        Self::Json,
        Self::Password,
        Self::User,
        Self::Certificate,
        Self::Ssh,
        Self::Rsa,
    ];

    /// The type of this name, in whichever case.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| known.name().eq_ignore_ascii_case(name))
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Json => "json",
            Self::Password => "password",
            Self::User => "user",
            Self::Certificate => "certificate",
            Self::Ssh => "ssh",
            Self::Rsa => "rsa",
        }
    }
}

impl Secret {
    pub(super) const fn kind(&self) -> CredentialType {
        match self {
            Self::Value { .. } => CredentialType::Value,
            Self::Json { .. } => CredentialType::Json,
            Self::Password { .. } => CredentialType::Password,
            Self::User { .. } => CredentialType::User,
            Self::Certificate(_) => CredentialType::Certificate,
            Self::Ssh(_) => CredentialType::Ssh,
            Self::Rsa(_) => CredentialType::Rsa,
        }
    }

    pub(super) const fn as_certificate(&self) -> Option<&CertificateSecret> {
        match self {
            Self::Certificate(certificate) => Some(certificate),
            Self::Value { .. }
            | Self::Json { .. }
            | Self::Password { .. }
            | Self::User { .. }
            | Self::Ssh(_)
            | Self::Rsa(_) => None,
        }
    }

    /// The member `value` of answers. Only this function returns secrets.
    pub(super) fn shown(&self) -> Value {
        match self {
            Self::Value { value } => json!(value),
            Self::Json { value } => value.clone(),
            Self::Password { password, .. } => json!(password),
            Self::User {
                username,
                password,
                salt,
                ..
            } => json!({
                "username": username,
                "password": password,
                "password_hash": user_hash::hash(password, salt),
            }),
            Self::Certificate(certificate) => json!({
                "ca": certificate.ca,
                "certificate": certificate.certificate,
                "private_key": certificate.private_key,
            }),
            Self::Rsa(keys) => {
                json!({"public_key": keys.public_key, "private_key": keys.private_key})
            }
            Self::Ssh(keys) => json!({
                "public_key": keys.public_key,
                "private_key": keys.private_key,
                "public_key_fingerprint": keys.public_key.as_deref().and_then(ssh::fingerprint),
            }),
        }
    }
}

/// The members of an object that have not been asked for yet; as an argument of a handler, those of the body.
pub(super) struct Members(Map<String, Value>);

impl FromRequest for Members {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = Bytes::from_request(request, payload);
        Box::pin(async move {
            match serde_json::from_slice(&body.await?) {
                Ok(Value::Object(members)) => Ok(Self(members)),
                _ => Err(Rejection::Malformed.into()),
            }
        })
    }
}

impl Members {
    /// The members of a value, none of `null`.
    pub(super) fn of(value: Option<Value>) -> Result<Self, Rejection> {
        match value {
            None | Some(Value::Null) => Ok(Self(Map::new())),
            Some(Value::Object(members)) => Ok(Self(members)),
            Some(_) => Err(Rejection::Malformed),
        }
    }

    /// Takes a member out. `null` is none.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Rejection> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(Rejection::Malformed),
        }
    }

    /// Takes a text out; an empty one is none.
    pub(super) fn filled_text(&mut self, name: &str) -> Result<Option<String>, Rejection> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, Rejection> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(Value::String(text)) => match text.as_str() {
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(Rejection::Malformed),
            },
            Some(_) => Err(Rejection::Malformed),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, Rejection> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number.as_u64().unwrap_or_default())),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|_| Rejection::Malformed),
            Some(_) => Err(Rejection::Malformed),
        }
    }

    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>, Rejection> {
        let items = match self.take(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(Rejection::Malformed),
        };
        let text = |item| match item {
            Value::String(text) => Ok(text),
            _ => Err(Rejection::Malformed),
        };
        items.into_iter().map(text).collect()
    }

    /// Refuses a member that was not read. A real server has two errors for it, by the kind of request.
    pub(super) fn end(self, unknown: fn(String) -> Rejection) -> Result<(), Rejection> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(unknown(name.clone())),
        }
    }
}
