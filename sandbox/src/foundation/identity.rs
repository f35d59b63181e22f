//! The identity of a foundation, which survives a restart.

use std::collections::BTreeMap;

use rand::{RngExt, distr::Alphanumeric};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use super::up::StartError;
use crate::{
    certificates::{CertificateAuthority, SavedAuthority},
    net::{ClaimError, LoopbackNet, NetAddress},
    store::{Rows, Store},
};

const SECRET_LENGTH: usize = 32;

/// A foundation's net, authority, id and secrets. They are made once and kept with the state.
pub(super) struct Identity {
    pub(super) net: LoopbackNet,
    pub(super) authority: CertificateAuthority,
    pub(super) director_uuid: Uuid,
    pub(super) secrets: Secrets,
    rows: Rows<(), Saved>,
}

/// The secrets that the foundation hands out in `foundation.json`.
pub(super) struct Secrets(BTreeMap<String, Secret>);

#[derive(Serialize, Deserialize)]
struct Saved {
    net: NetAddress,
    authority: SavedAuthority,
    director_uuid: Uuid,
    secrets: BTreeMap<String, Secret>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Secret(#[serde(serialize_with = "exposed")] SecretString);

impl Identity {
    /// The saved identity, or a new one. A net that is claimed already is taken over; otherwise the saved net is
    /// claimed, or the requested one, or any.
    pub(super) fn find(
        store: &Store,
        name: &str,
        wanted: Option<NetAddress>,
        claimed: Option<LoopbackNet>,
    ) -> Result<Self, StartError> {
        let rows: Rows<(), Saved> = Rows::open(store, "foundation").map_err(StartError::Store)?;
        let before = rows.get(&());
        let wanted = match (before.map(|saved| saved.net), wanted) {
            (Some(saved), Some(wanted)) if saved != wanted => {
                return Err(StartError::OtherNet { saved, wanted });
            }
            (saved, wanted) => saved.or(wanted),
        };
        let net = match claimed {
            Some(claimed) => Ok(claimed),
            None => claim(wanted),
        };
        let net = net.map_err(StartError::Net)?;
        let authority = match before {
            Some(saved) => CertificateAuthority::from_saved(&saved.authority),
            None => CertificateAuthority::new(name),
        };
        Ok(Self {
            net,
            authority: authority.map_err(StartError::Certificates)?,
            director_uuid: before.map_or_else(Uuid::new_v4, |saved| saved.director_uuid),
            secrets: Secrets(
                before
                    .map(|saved| saved.secrets.clone())
                    .unwrap_or_default(),
            ),
            rows,
        })
    }

    /// Keeps it, when all secrets are known.
    pub(super) fn save(&mut self) {
        let saved = Saved {
            net: self.net.address(),
            authority: self.authority.to_saved(),
            director_uuid: self.director_uuid,
            secrets: self.secrets.0.clone(),
        };
        self.rows.insert((), saved);
        self.rows.save();
    }
}

fn claim(net: Option<NetAddress>) -> Result<LoopbackNet, ClaimError> {
    match net {
        Some(net) => LoopbackNet::claim_exactly(net),
        None => LoopbackNet::claim(),
    }
}

impl Secrets {
    /// The secret of this name: the saved one, otherwise the configured one, otherwise a random one.
    pub(super) fn of(&mut self, whose: String, configured: Option<&SecretString>) -> SecretString {
        let secret = self
            .0
            .entry(whose)
            .or_insert_with(|| Secret(configured.cloned().unwrap_or_else(random_secret)));
        secret.0.clone()
    }
}

/// Letters and digits only, so that a secret can be pasted anywhere.
pub(crate) fn random_secret() -> SecretString {
    let letters = rand::rng().sample_iter(Alphanumeric).take(SECRET_LENGTH);
    letters.map(char::from).collect::<String>().into()
}

fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose_secret())
}
