//! Secrets of service instances, in the Director's CredHub (`spec/contracts/broker-behaviour.md` §3.8).
//!
//! What an adapter returns as secrets is kept in a folder of the instance, `/odb/OFFERING/DEPLOYMENT`, and its manifest refers
//! to it. The folder of an instance whose id has capitals names them, since CredHub ignores case. What manifests refer to, there or anywhere, is read for adapters that change an instance or make bindings.
//!
//! | file | holds |
//! | --- | --- |
//! | `reference` | what a `((…))` of a manifest means |
//! | `managed` | the secrets of an answer: what to write where, and the manifest that refers to it |
//! | `keeping` | writing, putting back, pruning, removing |
//! | `resolution` | the values behind the references of a manifest |

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
    credhub::{CredHub, CredentialName, InvalidCredentialName},
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

/// What a manifest refers to, for an adapter that makes bindings or takes them back. What cannot be read is left out, in
/// time for the adapter: it knows what it needs.
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
        tracing::warn!(code = %Code::CredHub, error = %Chain(&error), "the adapter is asked without secrets");
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
    /// The names of deployments begin with `service-instance_`, so that no other id has the folder of one with capitals.
    fn folder(&self, instance: &InstanceId) -> Result<CredentialName, InvalidCredentialName> {
        let offering = &self.offering;
        match capitals(instance.as_str()) {
            None => format!("/odb/{offering}/{}", deployment(instance)),
            Some(capitals) => format!("/odb/{offering}/service-instance-{capitals}_{instance}"),
        }
        .parse()
    }
}
