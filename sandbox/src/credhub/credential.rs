//! A credential with its versions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{generate::StringParameters, name::CredentialName, ssh, user_hash};

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

/// A certificate, with what belongs to it.
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

/// Where a certificate comes from.
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

    /// The certificate, if it is one.
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
