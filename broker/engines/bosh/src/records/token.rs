//! The operation token: the Go broker's `OperationData` with keys of our own.
//!
//! Both brokers read both, so that an operator can migrate and return with operations in flight
//! (`spec/contracts/broker-behaviour.md` §3.3).

use odb_adapter_sdk::protocol::LifecycleErrand;
use odb_api_types::{ids::InstanceId, kind::OperationKind};
use odb_clients::director::{ContextId, TaskId};
use serde::{Deserialize, Serialize};

/// The version of our keys. A token without it comes from a Go broker.
const VERSION: u32 = 1;

/// The operation token, which the platform sends with each poll. Opaque to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct OperationToken {
    #[serde(rename = "BoshTaskID")]
    pub task: TaskId,
    #[serde(
        rename = "BoshContextID",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub context: Option<ContextId>,
    #[serde(rename = "OperationType")]
    pub kind: OperationKind,
    /// Always written by the Go broker, empty since it has lists of errands.
    #[serde(rename = "PostDeployErrand", default)]
    legacy_post_deploy: LegacyErrand,
    /// The same for deletions.
    #[serde(rename = "PreDeleteErrand", default)]
    legacy_pre_delete: LegacyErrand,
    /// The lifecycle errands, frozen when the operation began.
    #[serde(rename = "Errands", default, skip_serializing_if = "Vec::is_empty")]
    errands: Vec<TokenErrand>,
    /// The version of the keys below.
    #[serde(rename = "Version", default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(
        rename = "InstanceID",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub instance: Option<InstanceId>,
    #[serde(rename = "Digest", default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LegacyErrand {
    #[serde(rename = "Name", default, skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(rename = "Instances", default, skip_serializing_if = "Option::is_none")]
    instances: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TokenErrand {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "Instances", default)]
    instances: Option<Vec<String>>,
}

impl OperationToken {
    pub(crate) fn new(
        instance: InstanceId,
        kind: OperationKind,
        task: TaskId,
        context: ContextId,
        errands: &[LifecycleErrand],
        digest: String,
    ) -> Self {
        Self {
            task,
            context: Some(context),
            kind,
            legacy_post_deploy: LegacyErrand::default(),
            legacy_pre_delete: LegacyErrand::default(),
            errands: errands
                .iter()
                .map(|errand| TokenErrand {
                    name: errand.name.clone(),
                    instances: (!errand.instances.is_empty()).then(|| errand.instances.clone()),
                })
                .collect(),
            version: Some(VERSION),
            instance: Some(instance),
            digest: Some(digest),
        }
    }

    /// Reads the platform's token; `None` if it is no token of either broker.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The lifecycle errands, the single one of old tokens included.
    pub(crate) fn errands(&self) -> Vec<LifecycleErrand> {
        let legacy = if self.kind.deletes() {
            &self.legacy_pre_delete
        } else {
            &self.legacy_post_deploy
        };
        let mut errands: Vec<LifecycleErrand> = self
            .errands
            .iter()
            .map(|errand| {
                LifecycleErrand::colocated(
                    errand.name.clone(),
                    errand.instances.clone().unwrap_or_default(),
                )
            })
            .collect();
        if errands.is_empty() && !legacy.name.is_empty() {
            errands.push(LifecycleErrand::colocated(
                legacy.name.clone(),
                legacy.instances.clone().unwrap_or_default(),
            ));
        }
        errands
    }

    /// The token says itself which instance it was made for; those of the Go broker do not.
    pub(crate) fn names(&self, instance: &InstanceId) -> Option<bool> {
        self.instance.as_ref().map(|named| named == instance)
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.version.is_none()
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a token is made of strings, numbers and lists")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_the_go_broker_is_read() {
        let text = r#"{"BoshTaskID":42,"BoshContextID":"ctx","OperationType":"create","PostDeployErrand":{},"PreDeleteErrand":{},"Errands":[{"Name":"health-check","Instances":["redis/0"]},{"Name":"seed","Instances":null}]}"#;
        let token = OperationToken::parse(text).unwrap();
        assert_eq!(token.task, TaskId::new(42));
        assert_eq!(token.kind, OperationKind::Create);
        assert_eq!(
            token.names(&InstanceId::try_from("i".to_owned()).unwrap()),
            None
        );
        let errands = token.errands();
        assert_eq!(errands[0].instances, ["redis/0"]);
        assert_eq!(errands[1].name, "seed");
    }

    #[test]
    fn a_token_of_before_lists_of_errands_is_read() {
        let text = r#"{"BoshTaskID":1,"OperationType":"delete","PostDeployErrand":{},"PreDeleteErrand":{"Name":"cleanup"}}"#;
        let token = OperationToken::parse(text).unwrap();
        assert_eq!(token.context, None);
        assert_eq!(token.errands()[0].name, "cleanup");
    }

    #[test]
    fn the_go_broker_finds_its_keys_in_our_file() {
        let instance = InstanceId::try_from("i1".to_owned()).unwrap();
        let token = OperationToken::new(
            instance.clone(),
            OperationKind::ForceDelete,
            TaskId::new(7),
            ContextId::random(),
            &[LifecycleErrand::new("cleanup-data")],
            "d1".to_owned(),
        );
        let json: serde_json::Value = serde_json::from_str(&token.to_text()).unwrap();
        assert_eq!(json["BoshTaskID"], 7);
        assert_eq!(json["OperationType"], "force-delete");
        assert_eq!(json["PostDeployErrand"], serde_json::json!({}));
        assert_eq!(
            json["Errands"],
            serde_json::json!([{"Name": "cleanup-data", "Instances": null}])
        );
        assert_eq!(token.names(&instance), Some(true));
        assert_eq!(OperationToken::parse(&token.to_text()), Some(token));
    }

    #[test]
    fn what_is_no_token_is_none() {
        for text in ["", "x", "{}", "[1]", "{\"BoshTaskID\":\"a\"}"] {
            assert_eq!(OperationToken::parse(text), None, "{text}");
        }
    }
}
