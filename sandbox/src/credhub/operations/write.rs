//! Set and delete.

use serde_json::Value;

use super::{Session, Stored};
use crate::credhub::{
    State,
    certificate::{ReadCertificate, is_key_of},
    credential::{CertificateSecret, Secret},
    name::CredentialName,
    permissions::{ALL_OPERATIONS, Operation, Permission},
    rejection::{CertificateRejection, Rejection},
};

const VALUE_LIMIT: usize = 64 * 1024;
const METADATA_LIMIT: usize = 7000;
const CERTIFICATE_LIMIT: usize = 7000;

pub(in crate::credhub) struct Setting {
    pub(in crate::credhub) name: CredentialName,
    pub(in crate::credhub) secret: Secret,
    pub(in crate::credhub) metadata: Option<Value>,
    /// How an existing value is treated. Only servers before version 2 read it.
    pub(in crate::credhub) if_present: IfPresent,
}

/// How an existing value is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::credhub) enum IfPresent {
    Keep,
    Replace,
}

impl Session {
    /// Adds a version with a value that the actor brings.
    pub(in crate::credhub) fn set(&self, setting: Setting) -> Result<Stored, Rejection> {
        let Setting {
            name,
            mut secret,
            metadata,
            if_present,
        } = setting;
        check_sizes(&secret, metadata.as_ref())?;
        self.credhub.with(|state| {
            self.authorize(state, &name, Operation::Write)?;
            if let Secret::Certificate(certificate) = &mut secret {
                self.check_certificate(state, &name, certificate)?;
            }
            if let Some((id, present)) = state.vault.latest(&name) {
                if present.secret.kind() != secret.kind() {
                    return Err(Rejection::OtherType);
                }
                if state.behaviour.is_legacy() && if_present == IfPresent::Keep {
                    return Ok(Stored::of((id, present)));
                }
            }
            Ok(self.add(state, &name, secret, metadata))
        })
    }

    pub(in crate::credhub) fn delete(&self, name: &CredentialName) -> Result<(), Rejection> {
        self.credhub.with(|state| {
            self.authorize(state, name, Operation::Delete)?;
            if state.behaviour.is_legacy() {
                state.permissions.remove_path(&name.into());
            }
            if state.vault.remove(name) {
                Ok(())
            } else {
                Err(Rejection::NoSuchCredential)
            }
        })
    }

    /// Adds a version. Before version 2, the creator of a credential got all rights on it.
    pub(super) fn add(
        &self,
        state: &mut State,
        name: &CredentialName,
        secret: Secret,
        metadata: Option<Value>,
    ) -> Stored {
        if state.behaviour.is_legacy() && state.vault.latest(name).is_none() {
            state.permissions.merge(Permission {
                path: name.into(),
                actor: self.actor.clone(),
                operations: ALL_OPERATIONS.into(),
            });
        }
        let (id, version) = state.vault.add(name, secret, metadata);
        Stored { id, version }
    }

    /// Checks that the parts of a certificate belong together, and fills in what follows from its authority.
    pub(super) fn check_certificate(
        &self,
        state: &State,
        name: &CredentialName,
        certificate: &mut CertificateSecret,
    ) -> Result<(), Rejection> {
        let read = check_parts(certificate)?;
        let Some(ca_name) = certificate.ca_name.clone() else {
            let is_own = certificate.ca.as_ref() == Some(&certificate.certificate);
            if read.parameters.is_ca && (certificate.ca.is_none() || is_own) {
                certificate.ca_name = Some(name.clone());
            }
            return Ok(());
        };
        self.authorize(state, &ca_name, Operation::Read)?;
        let (_, authority) = state
            .vault
            .latest(&ca_name)
            .ok_or(Rejection::NoSuchAuthority)?;
        let authority = authority
            .secret
            .as_certificate()
            .ok_or(CertificateRejection::NotAnAuthorityName)?;
        let signer = ReadCertificate::read(&authority.certificate)
            .ok_or(CertificateRejection::NotAnAuthority)?;
        if !read.is_signed_by(&signer) {
            return Err(CertificateRejection::NotSignedByNamed.into());
        }
        certificate.ca = Some(authority.certificate.clone());
        Ok(())
    }
}

fn check_parts(certificate: &CertificateSecret) -> Result<ReadCertificate, CertificateRejection> {
    if certificate.ca.is_some() && certificate.ca_name.is_some() {
        return Err(CertificateRejection::AuthorityTwice);
    }
    let is_too_large = |pem: &str| pem.len() > CERTIFICATE_LIMIT;
    if is_too_large(&certificate.certificate) || certificate.ca.as_deref().is_some_and(is_too_large)
    {
        return Err(CertificateRejection::TooLarge);
    }
    let read =
        ReadCertificate::read(&certificate.certificate).ok_or(CertificateRejection::Invalid)?;
    if let Some(key) = &certificate.private_key {
        match is_key_of(&read, key) {
            None => return Err(CertificateRejection::InvalidKey),
            Some(false) => return Err(CertificateRejection::OtherKey),
            Some(true) => {}
        }
    }
    if let Some(ca) = &certificate.ca {
        let authority = ReadCertificate::read(ca)
            .filter(|authority| authority.parameters.is_ca)
            .ok_or(CertificateRejection::InvalidAuthority)?;
        if !read.is_signed_by(&authority) {
            return Err(CertificateRejection::NotSignedByAuthority);
        }
    }
    Ok(read)
}

fn check_sizes(secret: &Secret, metadata: Option<&Value>) -> Result<(), Rejection> {
    let size = match secret {
        Secret::Value { value } => value.len(),
        Secret::Json { value } => value.to_string().len(),
        Secret::Password { password, .. } | Secret::User { password, .. } => password.len(),
        Secret::Certificate(certificate) => certificate.private_key.as_ref().map_or(0, String::len),
        Secret::Rsa(keys) | Secret::Ssh(keys) => keys.private_key.as_ref().map_or(0, String::len),
    };
    if size > VALUE_LIMIT {
        return Err(Rejection::TooLarge);
    }
    if metadata.is_some_and(|metadata| metadata.to_string().len() > METADATA_LIMIT) {
        return Err(Rejection::MetadataTooLong);
    }
    Ok(())
}
