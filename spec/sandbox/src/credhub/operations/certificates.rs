//! Certificates by id, and their versions.

use uuid::Uuid;

use super::{Session, Stored};
use crate::credhub::{
    State,
    credential::{CertificateSecret, CredentialType, Secret},
    name::CredentialName,
    permissions::Operation,
    refusal::{CertificateRefusal, Refusal},
};

/// A certificate without its secrets.
pub(in crate::credhub) struct CertificateSummary {
    pub(in crate::credhub) id: Uuid,
    pub(in crate::credhub) name: CredentialName,
    /// The newest first.
    pub(in crate::credhub) versions: Vec<Stored>,
    pub(in crate::credhub) signed_by: Option<CredentialName>,
    pub(in crate::credhub) signs: Vec<CredentialName>,
}

/// Which version is to be the transitional one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::credhub) enum Transitional {
    None,
    Latest,
    Version(Uuid),
}

impl Session {
    /// All certificates that the actor may read.
    pub(in crate::credhub) fn certificates(&self) -> Vec<CertificateSummary> {
        self.credhub.with(|state| {
            let names: Vec<CredentialName> = state
                .vault
                .latest_of_all()
                .filter(|(_, version)| version.secret.kind() == CredentialType::Certificate)
                .map(|(_, version)| version.name.clone())
                .collect();
            let readable = names
                .iter()
                .filter(|name| self.is_allowed(state, name.as_str(), Operation::Read));
            readable.filter_map(|name| summary(state, name)).collect()
        })
    }

    /// One certificate.
    pub(in crate::credhub) fn certificate(
        &self,
        name: &CredentialName,
    ) -> Result<CertificateSummary, Refusal> {
        self.credhub.with(|state| {
            self.authorize(state, name, Operation::Read)?;
            summary(state, name).ok_or(Refusal::NoSuchCredential)
        })
    }

    /// The versions of a certificate, the newest first.
    pub(in crate::credhub) fn certificate_versions(
        &self,
        id: Uuid,
    ) -> Result<Vec<Stored>, Refusal> {
        let name = self.certificate_name(id, Operation::Read)?;
        self.get(&name, super::read::Versions::All)
    }

    /// The versions of a certificate that are in force.
    pub(in crate::credhub) fn current_certificates(
        &self,
        id: Uuid,
    ) -> Result<Vec<Stored>, Refusal> {
        let name = self.certificate_name(id, Operation::Read)?;
        self.get(&name, super::read::Versions::Current)
    }

    /// Makes another version of a certificate, which may be a transitional one.
    pub(in crate::credhub) async fn regenerate_certificate(
        &self,
        id: Uuid,
        is_transitional: bool,
    ) -> Result<Stored, Refusal> {
        let name = self.certificate_name(id, Operation::Write)?;
        if is_transitional {
            self.credhub.with(|state| no_transitional(state, id))?;
        }
        let made = self.regenerate(&name, None).await?;
        if !is_transitional {
            return Ok(made);
        }
        self.credhub.with(|state| {
            state.vault.set_transitional(id, Some(made.id));
            let version = state
                .vault
                .version(made.id)
                .ok_or(Refusal::NoSuchCredential)?;
            Ok(Stored::of((made.id, version)))
        })
    }

    /// Adds a version that the actor brings.
    pub(in crate::credhub) fn add_certificate_version(
        &self,
        id: Uuid,
        mut certificate: CertificateSecret,
    ) -> Result<Stored, Refusal> {
        let name = self.certificate_name(id, Operation::Write)?;
        self.credhub.with(|state| {
            if certificate.transitional {
                no_transitional(state, id)?;
            }
            self.check_certificate(state, &name, &mut certificate)?;
            Ok(self.add(state, &name, Secret::Certificate(certificate), None))
        })
    }

    /// Chooses the transitional version. Returns the versions in force then.
    pub(in crate::credhub) fn update_transitional(
        &self,
        id: Uuid,
        transitional: Transitional,
    ) -> Result<Vec<Stored>, Refusal> {
        let name = self.certificate_name(id, Operation::Write)?;
        self.credhub.with(|state| {
            let chosen = match transitional {
                Transitional::None => None,
                Transitional::Latest => state.vault.latest(&name).map(|(id, _)| id),
                Transitional::Version(version) => Some(version),
            };
            let versions = state.vault.of_credential(id);
            if chosen.is_some_and(|chosen| versions.iter().all(|(id, _)| *id != chosen)) {
                return Err(CertificateRefusal::OtherVersion.into());
            }
            state.vault.set_transitional(id, chosen);
            Ok(state
                .vault
                .current(&name)
                .into_iter()
                .map(Stored::of)
                .collect())
        })
    }

    /// Deletes one version of several.
    pub(in crate::credhub) fn delete_certificate_version(
        &self,
        id: Uuid,
        version: Uuid,
    ) -> Result<Stored, Refusal> {
        self.certificate_name(id, Operation::Delete)?;
        self.credhub.with(|state| {
            let versions = state.vault.of_credential(id);
            let found = versions.iter().find(|(found, _)| *found == version);
            let gone = Stored::of(*found.ok_or(Refusal::NoSuchCredential)?);
            if versions.len() == 1 {
                return Err(CertificateRefusal::LastVersion.into());
            }
            state.vault.remove_version(version);
            Ok(gone)
        })
    }

    fn certificate_name(&self, id: Uuid, operation: Operation) -> Result<CredentialName, Refusal> {
        self.credhub.with(|state| {
            let versions = state.vault.of_credential(id);
            let (_, version) = versions.first().ok_or(Refusal::NoSuchCredential)?;
            if version.secret.kind() != CredentialType::Certificate {
                return Err(Refusal::NoSuchCredential);
            }
            let name = version.name.clone();
            self.authorize(state, &name, operation)?;
            Ok(name)
        })
    }
}

fn no_transitional(state: &State, id: Uuid) -> Result<(), Refusal> {
    let versions = state.vault.of_credential(id);
    let is_transitional = |certificate: &CertificateSecret| certificate.transitional;
    let mut certificates = versions
        .iter()
        .filter_map(|(_, version)| version.secret.as_certificate());
    if certificates.any(is_transitional) {
        return Err(CertificateRefusal::TwoTransitional.into());
    }
    Ok(())
}

fn summary(state: &State, name: &CredentialName) -> Option<CertificateSummary> {
    let versions: Vec<Stored> = state.vault.all(name).into_iter().map(Stored::of).collect();
    let latest = versions.first()?;
    let certificate = latest.version.secret.as_certificate()?;
    let key = name.key();
    let is_signed = |ca_name: &CredentialName| ca_name.key() == key;
    let signs = state
        .vault
        .latest_of_all()
        .filter(|(_, version)| version.name.key() != key)
        .filter(|(_, version)| {
            let certificate = version.secret.as_certificate();
            certificate
                .and_then(|certificate| certificate.ca_name.as_ref())
                .is_some_and(is_signed)
        })
        .map(|(_, version)| version.name.clone())
        .collect();
    Some(CertificateSummary {
        id: latest.version.credential,
        name: latest.version.name.clone(),
        signed_by: certificate.ca_name.clone(),
        signs,
        versions,
    })
}
