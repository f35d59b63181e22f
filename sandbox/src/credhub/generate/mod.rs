//! Makes secrets (`spec/contracts/platform-apis.md`, "Credentials").
//!
//! | module | what it makes |
//! | --- | --- |
//! | [`password`] | passwords, and users with one |
//! | [`keys`] | RSA key pairs, for `rsa` and `ssh` and under certificates |
//! | [`request`] | reads what is asked for |
//!
//! Certificates are made in [`super::certificate`].

mod keys;
mod password;
mod request;

use serde::{Deserialize, Serialize};

pub(super) use self::{
    keys::{KeyLength, RsaPair, rsa_key_bits},
    password::StringParameters,
    request::recipe,
};
use super::{
    certificate::{self, CertificateParameters, Signer},
    credential::{CredentialType, KeyPairSecret, Secret},
    rejection::{CertificateRejection, Rejection},
    ssh, user_hash,
};

#[derive(Clone)]
pub(super) enum Recipe {
    Password(StringParameters),
    User(StringParameters),
    Rsa(KeyLength),
    Ssh(SshParameters),
    Certificate(Box<CertificateParameters>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SshParameters {
    pub(super) key_length: KeyLength,
    /// The comment after the public key.
    pub(super) comment: String,
}

/// How generation treats an existing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    NoOverwrite,
    Overwrite,
    /// It stays unless the parameters or the signing authority have changed.
    Converge,
}

impl Recipe {
    pub(super) const fn kind(&self) -> CredentialType {
        match self {
            Self::Password(_) => CredentialType::Password,
            Self::User(_) => CredentialType::User,
            Self::Rsa(_) => CredentialType::Rsa,
            Self::Ssh(_) => CredentialType::Ssh,
            Self::Certificate(_) => CredentialType::Certificate,
        }
    }

    /// Whether this secret is what the recipe would make.
    pub(super) fn matches(&self, secret: &Secret) -> bool {
        match (self, secret) {
            (
                Self::Password(wanted),
                Secret::Password {
                    password,
                    parameters,
                },
            )
            | (
                Self::User(wanted),
                Secret::User {
                    password,
                    parameters,
                    ..
                },
            ) => parameters
                .as_ref()
                .is_some_and(|present| present.with_length_of(password) == *wanted),
            (Self::Rsa(wanted), Secret::Rsa(keys)) => {
                let bits = keys.public_key.as_deref().and_then(rsa_key_bits);
                bits == Some(wanted.bits())
            }
            (Self::Ssh(wanted), Secret::Ssh(keys)) => {
                let present = keys.public_key.as_deref().and_then(ssh::PublicKey::parse);
                present.is_some_and(|present| {
                    present.bits() == Some(wanted.key_length.bits())
                        && present.comment == wanted.comment
                })
            }
            (Self::Certificate(wanted), Secret::Certificate(present)) => {
                CertificateParameters::of(&present.certificate, present.ca_name.clone())
                    .is_some_and(|present| present.would_make_the_same(wanted))
            }
            _ => false,
        }
    }

    /// The recipe that would generate another secret like this one.
    pub(super) fn of(secret: &Secret) -> Result<Self, Rejection> {
        match secret {
            Secret::Password {
                password,
                parameters,
            } => {
                let parameters = parameters.as_ref().ok_or(Rejection::PasswordWasSet)?;
                Ok(Self::Password(parameters.with_length_of(password)))
            }
            Secret::User {
                username,
                password,
                parameters,
                ..
            } => {
                let parameters = parameters.as_ref().ok_or(Rejection::UserWasSet)?;
                Ok(Self::User(StringParameters {
                    username: username.clone(),
                    ..parameters.with_length_of(password)
                }))
            }
            Secret::Rsa(keys) => {
                let bits = keys.public_key.as_deref().and_then(rsa_key_bits);
                Ok(Self::Rsa(
                    bits.and_then(KeyLength::of_bits).unwrap_or_default(),
                ))
            }
            Secret::Ssh(keys) => {
                let present = keys.public_key.as_deref().and_then(ssh::PublicKey::parse);
                let bits = present.as_ref().and_then(ssh::PublicKey::bits);
                Ok(Self::Ssh(SshParameters {
                    key_length: bits.and_then(KeyLength::of_bits).unwrap_or_default(),
                    comment: present.map(|key| key.comment).unwrap_or_default(),
                }))
            }
            Secret::Certificate(present) => {
                let parameters =
                    CertificateParameters::of(&present.certificate, present.ca_name.clone());
                parameters
                    .filter(|parameters| parameters.self_signed || parameters.ca_name.is_some())
                    .map(|parameters| Self::Certificate(Box::new(parameters)))
                    .ok_or(Rejection::CertificateWasSet)
            }
            Secret::Value { .. } | Secret::Json { .. } => Err(Rejection::TypeForRegenerate),
        }
    }

    /// Makes a secret. Keys take long to make, so this is not for a thread that serves others.
    pub(super) fn make(self, signer: Option<&Signer>) -> Result<Secret, Rejection> {
        match self {
            Self::Password(parameters) => Ok(Secret::Password {
                password: parameters.password(),
                parameters: Some(parameters),
            }),
            Self::User(parameters) => Ok(Secret::User {
                username: Some(parameters.username_or_new()),
                password: parameters.password(),
                salt: user_hash::salt(),
                parameters: Some(parameters),
            }),
            Self::Rsa(length) => {
                let pair = RsaPair::generate(length)?;
                Ok(Secret::Rsa(KeyPairSecret {
                    public_key: Some(pair.public_pem()),
                    private_key: Some(pair.private_pem()),
                }))
            }
            Self::Ssh(parameters) => {
                let pair = RsaPair::generate(parameters.key_length)?;
                let public = ssh::PublicKey::of(&pair, parameters.comment)
                    .ok_or_else(|| Rejection::Internal("the public key is no RSA key".into()))?;
                Ok(Secret::Ssh(KeyPairSecret {
                    public_key: Some(public.to_string()),
                    private_key: Some(pair.private_pem()),
                }))
            }
            Self::Certificate(parameters) => match (parameters.self_signed, signer) {
                (true, _) => certificate::self_signed(&parameters),
                (false, Some(signer)) => certificate::signed(&parameters, signer),
                (false, None) => Err(CertificateRejection::NoSigner.into()),
            },
        }
    }
}
