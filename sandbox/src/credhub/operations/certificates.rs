//! Which certificates there are, and who signs whom.

use uuid::Uuid;

use super::{Session, Stored};
use crate::credhub::{
    State, credential::CredentialType, name::CredentialName, permissions::Operation,
    rejection::Rejection,
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

    pub(in crate::credhub) fn certificate(
        &self,
        name: &CredentialName,
    ) -> Result<CertificateSummary, Rejection> {
        self.credhub.with(|state| {
            self.authorize(state, name, Operation::Read)?;
            summary(state, name).ok_or(Rejection::NoSuchCredential)
        })
    }
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
