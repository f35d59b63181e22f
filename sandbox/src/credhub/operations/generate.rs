//! Generate and regenerate.
//!
//! Which certificates there are, and who signs whom.

use std::collections::BTreeSet;

use serde_json::Value;
use uuid::Uuid;

use super::{Session, Stored};
use crate::credhub::{
    State,
    certificate::Signer,
    credential::{CertificateSecret, CredentialType, Secret, Version},
    generate::{Mode, Recipe, recipe},
    name::CredentialName,
    permissions::Operation,
    rejection::{CertificateRejection, Rejection},
};

#[derive(Clone)]
pub(crate) struct Generation {
    pub(in crate::credhub) name: CredentialName,
    pub(in crate::credhub) recipe: Recipe,
    pub(in crate::credhub) mode: Mode,
    pub(in crate::credhub) metadata: Option<Value>,
}

impl Generation {
    /// A secret as a Director requests it: type and parameters as in a manifest.
    pub(crate) fn asked(
        name: &str,
        kind: &str,
        parameters: Value,
        mode: Mode,
    ) -> Result<Self, Rejection> {
        Ok(Self {
            name: CredentialName::parse(name)?,
            recipe: recipe(kind, Some(parameters), None)?,
            mode,
            metadata: None,
        })
    }
}

enum Decision {
    Keep(Box<Stored>),
    Make(Option<Box<Signer>>),
}

impl Session {
    /// Generates the secret if needed, and returns it.
    pub(crate) async fn generate(&self, generation: Generation) -> Result<Stored, Rejection> {
        let decision = self
            .credhub
            .with(|state| self.decision(state, &generation))?;
        let signer = match decision {
            Decision::Keep(present) => return Ok(*present),
            Decision::Make(signer) => signer,
        };
        let secret = made(generation.recipe.clone(), signer).await?;
        self.credhub.with(|state| {
            // While a key was made, another owner may have been faster.
            match self.decision(state, &generation)? {
                Decision::Keep(present) => Ok(*present),
                Decision::Make(_) => {
                    Ok(self.add(state, &generation.name, secret, generation.metadata))
                }
            }
        })
    }

    /// Adds a version like the latest one, with the parameters that it was generated with.
    pub(in crate::credhub) async fn regenerate(
        &self,
        name: &CredentialName,
        metadata: Option<Value>,
    ) -> Result<Stored, Rejection> {
        let recipe = self.credhub.with(|state| {
            self.authorize(state, name, Operation::Write)?;
            let (_, present) = state
                .vault
                .latest(name)
                .ok_or(Rejection::NoSuchCredential)?;
            Recipe::of(&present.secret)
        })?;
        self.generate(Generation {
            name: name.clone(),
            recipe,
            mode: Mode::Overwrite,
            metadata,
        })
        .await
    }

    /// Regenerates everything that an authority has signed, recursively. Returns the names.
    pub(in crate::credhub) async fn regenerate_signed_by(
        &self,
        authority: &CredentialName,
    ) -> Result<BTreeSet<CredentialName>, Rejection> {
        let names = self.credhub.with(|state| {
            self.authorize(state, authority, Operation::Read)?;
            let names = signed_by(state, authority);
            for name in &names {
                self.authorize(state, name, Operation::Write)?;
            }
            Ok::<_, Rejection>(names)
        })?;
        let mut regenerated = BTreeSet::new();
        // Authorities come before what they sign.
        for name in names {
            self.regenerate(&name, None).await?;
            regenerated.insert(name);
        }
        Ok(regenerated)
    }

    fn decision(&self, state: &State, generation: &Generation) -> Result<Decision, Rejection> {
        let Generation {
            name, recipe, mode, ..
        } = generation;
        let ca_name = match recipe {
            // A self-signed certificate needs no authority, even if it names itself as one.
            Recipe::Certificate(parameters) if parameters.self_signed => None,
            Recipe::Certificate(parameters) => parameters.ca_name.as_ref(),
            Recipe::Password(_) | Recipe::User(_) | Recipe::Rsa(_) | Recipe::Ssh(_) => None,
        };
        if let Some(ca_name) = ca_name {
            self.authorize(state, ca_name, Operation::Read)?;
        }
        self.authorize(state, name, Operation::Write)?;
        let signer = ca_name.map(|ca_name| signer(state, ca_name)).transpose()?;
        let Some((id, present)) = state.vault.latest(name) else {
            return Ok(Decision::Make(signer));
        };
        if present.secret.kind() != recipe.kind() {
            return Err(Rejection::OtherType);
        }
        let stays = match mode {
            Mode::NoOverwrite => true,
            Mode::Overwrite => false,
            Mode::Converge => !has_new_authority(state, present) && recipe.matches(&present.secret),
        };
        Ok(if stays {
            Decision::Keep(Box::new(Stored::of((id, present))))
        } else {
            Decision::Make(signer)
        })
    }
}

/// Makes a secret on a thread that no other client waits for.
async fn made(recipe: Recipe, signer: Option<Box<Signer>>) -> Result<Secret, Rejection> {
    let made = tokio::task::spawn_blocking(move || recipe.make(signer.as_deref())).await;
    made.map_err(|error| Rejection::Internal(error.into()))?
}

/// The authority as it signs now.
fn signer(state: &State, name: &CredentialName) -> Result<Box<Signer>, Rejection> {
    let authority = authority(state, name)?;
    Signer::new(name, authority).map(Box::new)
}

fn authority<'a>(
    state: &'a State,
    name: &CredentialName,
) -> Result<&'a CertificateSecret, Rejection> {
    let (_, version) = state.vault.latest(name).ok_or(Rejection::NoSuchAuthority)?;
    let certificate = version.secret.as_certificate();
    Ok(certificate.ok_or(CertificateRejection::NotAnAuthorityName)?)
}

/// Whether the authority of a certificate is another than the one that signed it.
fn has_new_authority(state: &State, present: &Version) -> bool {
    let Some(certificate) = present.secret.as_certificate() else {
        return false;
    };
    let Some(name) = &certificate.ca_name else {
        return false;
    };
    authority(state, name)
        .is_ok_and(|authority| certificate.ca.as_ref() != Some(&authority.certificate))
}

/// The certificates below an authority; each authority before what it signs.
fn signed_by(state: &State, authority: &CredentialName) -> Vec<CredentialName> {
    let mut names = Vec::new();
    let mut waiting = vec![authority.key()];
    let mut seen = BTreeSet::from([authority.key()]);
    while let Some(signer) = waiting.pop() {
        for (_, version) in state.vault.latest_of_all() {
            let ca_name = version
                .secret
                .as_certificate()
                .and_then(|certificate| certificate.ca_name.as_ref());
            let key = version.name.key();
            if ca_name.is_some_and(|name| name.key() == signer) && seen.insert(key.clone()) {
                names.push(version.name.clone());
                waiting.push(key);
            }
        }
    }
    names
}

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
