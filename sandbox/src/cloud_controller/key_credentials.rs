//! The credentials of service keys. A broker may give a reference to the CredHub of applications in their place; what
//! it refers to is read when a user asks for the key (`cloud_controller_ng`,
//! `app/controllers/v3/service_credential_bindings_controller.rb`,
//! `app/collection_transformers/credhub_credential_populator.rb` and `lib/credhub/client.rb`). References of apps stay:
//! the app resolves its own.

use serde_json::Value;

use super::CloudController;
use crate::credhub::{Actor, CredentialName, Rejection};

/// The client of the UAA as which the credentials of service keys are read (`cc_service_key_client_name`). Brokers get
/// its name with each bind of a key and must let it read.
pub const SERVICE_KEY_CLIENT: &str = "cc_service_key_client";

impl CloudController {
    /// The credentials as the user of a key gets them: those that the broker gave, or what they refer to.
    pub(super) fn key_credentials(&self, given: Value) -> Result<Value, Rejection> {
        let Some(reference) = given.get("credhub-ref").and_then(Value::as_str) else {
            return Ok(given);
        };
        let credhub = self
            .0
            .credhub
            .session(Actor::uaa_client(SERVICE_KEY_CLIENT));
        let stored = credhub.current(&CredentialName::sought(reference))?;
        Ok(stored.value())
    }
}
