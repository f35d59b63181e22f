use anyhow::Context as _;
use odb_adapter_sdk::AdapterError;
use odb_adapter_sdk::protocol::{Binding, BoshVms, CreateBinding, DeleteBinding};
use serde_json::json;

use crate::manifest::{KAFKA, ZOOKEEPER};
use crate::note;
use crate::parameters::BindingParameters;
use crate::topic_commands::{TopicCommands, TopicError};
use crate::topic_name::TopicName;

const PORT: u16 = 9092;

/// Answers `create-binding`: a topic with the binding's id as its name, and one more that the user names. If the second
/// one cannot be created, the first is removed again.
///
/// The second topic stays when the binding is deleted, because `delete-binding` does not get its name.
pub(crate) fn create(
    commands: &TopicCommands,
    call: CreateBinding,
) -> Result<Binding, AdapterError> {
    let parameters: BindingParameters = call.request_parameters.parameters()?;
    let brokers = addresses(&call.bosh_vms, KAFKA)?;
    let zookeeper = addresses(&call.bosh_vms, ZOOKEEPER)?.join(",");
    let topic = topic_of_binding(call.binding_id)?;
    match commands.create(&zookeeper, &topic) {
        Ok(()) => {}
        Err(error @ TopicError::Exists { .. }) => {
            return Err(AdapterError::binding_exists().caused_by(error));
        }
        Err(error) => return Err(error.into()),
    }
    // The name of the binding's own topic needs no second topic.
    let named = parameters.topic.filter(|named| *named != topic);
    if let Some(named) = &named
        && let Err(error) = commands.create(&zookeeper, named)
    {
        return Err(rolled_back(commands, &zookeeper, &topic, error));
    }
    let servers: Vec<_> = brokers
        .iter()
        .map(|address| format!("{address}:{PORT}"))
        .collect();
    Ok(Binding::with_credentials(
        json!({ "bootstrap_servers": servers }),
    ))
}

/// Answers `delete-binding`: removes the topic that has the binding's id for a name.
pub(crate) fn delete(commands: &TopicCommands, call: DeleteBinding) -> Result<(), AdapterError> {
    let zookeeper = addresses(&call.bosh_vms, ZOOKEEPER)?.join(",");
    // Under such an id no binding can have been made.
    let topic = topic_of_binding(call.binding_id)
        .map_err(|error| AdapterError::binding_not_found().caused_by(error))?;
    match commands.delete(&zookeeper, &topic) {
        Ok(()) => Ok(()),
        Err(error @ TopicError::NotFound { .. }) => {
            Err(AdapterError::binding_not_found().caused_by(error))
        }
        Err(error) => Err(error.into()),
    }
}

fn topic_of_binding(binding_id: String) -> anyhow::Result<TopicName> {
    TopicName::try_from(binding_id).context("the id of the binding cannot be the name of a topic")
}

/// Every address of a group that must have one.
fn addresses<'v>(vms: &'v BoshVms, group: &str) -> anyhow::Result<&'v [String]> {
    vms.get(group)
        .map(Vec::as_slice)
        .filter(|addresses| !addresses.is_empty())
        .with_context(|| format!("instance group `{group}` has no address"))
}

/// The topic that the user named could not be made: the binding's own must not stay behind.
fn rolled_back(
    commands: &TopicCommands,
    zookeeper: &str,
    topic: &TopicName,
    cause: TopicError,
) -> AdapterError {
    match commands.delete(zookeeper, topic) {
        Ok(()) | Err(TopicError::NotFound { .. }) => {}
        Err(error) => {
            let stays = format!("topic `{topic}` could not be removed again and stays");
            note(&anyhow::Error::new(error).context(stays));
        }
    }
    match &cause {
        TopicError::Exists { topic } => AdapterError::for_user(format!(
            "topic `{topic}` already exists; bind without parameter `topic` to use it, or choose another name"
        ))
        .caused_by(cause),
        _ => cause.into(),
    }
}
