//! Generate and regenerate.

use serde_json::Value;

use super::{Session, Stored};
use crate::credhub::{
    State,
    certificate::Signer,
    credential::{CertificateSecret, Secret, Version},
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
