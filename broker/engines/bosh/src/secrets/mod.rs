//! Secrets of service instances, in the Director's CredHub (`spec/contracts/broker-behaviour.md` §3.8).
//!
//! The secrets of an adapter's answer are stored in a folder of the instance, `/odb/OFFERING/DEPLOYMENT`, and its
//! manifest refers to them. The folder of an instance whose id has capitals names them, because CredHub ignores case.
//! For adapters that change an instance or create bindings, the broker resolves all references of the manifest.
//!
//! | file | contents |
//! | --- | --- |
//! | `reference` | the references `((…))` of a manifest |
//! | `managed` | the secrets of an answer: what to write where, and the manifest that refers to it |
//! | `keeping` | writing, restoring, pruning, removing |
//! | `resolution` | the values of a manifest's references |

mod keeping;
mod managed;
mod reference;
mod resolution;

use odb_adapter_sdk::protocol::{ManifestText, Secrets};
use odb_api_types::{
    code::Code,
    ids::{InstanceId, OfferingId},
};
use odb_clients::{
    InvalidText,
    credhub::{CredHub, CredentialName},
    director::DeploymentName,
    http::Call,
};
use odb_core::credhub_names::capitals;
use odb_redaction::Chain;

use crate::{BoshEngine, Upstreams, deployment::deployment};

pub(crate) use managed::NewSecret;
pub(crate) use managed::{PreviousSecret, SecretError};
pub use reference::{has_reference, is_reference};
pub(crate) use resolution::ResolveError;
pub(crate) use resolution::Unanswered;

/// The secrets of the service instances of one offering.
#[derive(Clone, Debug)]
pub(crate) struct InstanceSecrets {
    /// Absent where secure manifests are off.
    credhub: Option<CredHub>,
    offering: OfferingId,
}

/// The values of a manifest's references, for an adapter that creates or deletes bindings. Unreadable ones are left
/// out, in time for the adapter, which knows what it needs.
pub(crate) async fn secrets_for_bindings(
    engine: &BoshEngine,
    call: &Call,
    deployment: &DeploymentName,
    manifest: &ManifestText,
) -> Option<Secrets> {
    let Upstreams {
        director, secrets, ..
    } = &*engine.upstreams;
    let call = Call {
        deadline: call.deadline.within(call.deadline.remaining() / 2),
        ..call.clone()
    };
    let resolved = secrets
        .resolve(
            &call,
            director,
            deployment,
            manifest.as_str(),
            Unanswered::IsLeftOut,
        )
        .await;
    resolved.unwrap_or_else(|error| {
        tracing::warn!(code = %Code::CredHub, error = %Chain(&error), "the adapter runs without secrets");
        None
    })
}

impl InstanceSecrets {
    /// Without a CredHub nothing is kept, and nothing read.
    pub(crate) fn new(credhub: Option<CredHub>, offering: OfferingId) -> Self {
        Self { credhub, offering }
    }

    /// The folder of an instance. There is none for ids that CredHub has no letters for.
    ///
    /// The names of deployments begin with `service-instance_`, so that no other id has the folder of one with
    /// capitals.
    fn folder(&self, instance: &InstanceId) -> Result<CredentialName, InvalidText> {
        let offering = &self.offering;
        match capitals(instance.as_str()) {
            None => format!("/odb/{offering}/{}", deployment(instance)),
            Some(capitals) => format!("/odb/{offering}/service-instance-{capitals}_{instance}"),
        }
        .parse()
    }
}
