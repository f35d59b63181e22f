//! The operation record of an instance: a Secret in the instance's namespace on its cluster. Losing it and losing the
//! instance are one thing, so the broker needs no database.

use std::collections::BTreeMap;

use jiff::Timestamp;
use odb_api_types::{
    ids::{InstanceId, OfferingId, PlanId, RequestId},
    kind::OperationKind,
};
use odb_core::engine::RequestDigest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The name of the Secret, and of the Lease beside it.
pub const NAME: &str = "odb-instance";

/// Neither an input of a binding nor Helm's.
pub const SECRET_TYPE: &str = "on-demand-broker.dev/instance.v1";

/// The key of the Secret.
pub const KEY: &str = "record";

/// The newest form that this broker reads and the one that it writes.
const FORMAT: u32 = 1;

/// What a broker keeps in a Secret at most; Kubernetes allows 1 MiB.
const LONGEST: usize = 256 * 1024;

/// Parameters may be secrets: the record has no `Debug`, and none of it is logged.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    format: u32,
    pub instance_id: InstanceId,
    pub offer: String,
    pub service_id: OfferingId,
    pub plan_id: PlanId,
    pub cluster: String,
    /// What the platform sent about the instance: organization, space, name.
    #[serde(default)]
    pub platform: Map<String, Value>,
    /// The content of the last successful create, update or upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<Content>,
    /// The content that the operation leads to, and the next update starts from.
    pub desired: Content,
    /// The operator's values as they were rendered, by chart and layer. They stay until the next upgrade or change of plan.
    #[serde(default)]
    pub layers: BTreeMap<String, Layers>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Outcome>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    pub offer_version: u32,
    /// All parameters of the user, of creation and updates.
    pub parameters: Map<String, Value>,
    pub digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Layers {
    #[serde(default)]
    pub overrides: Map<String, Value>,
    #[serde(default)]
    pub plan: Map<String, Value>,
}

/// An operation in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    pub id: RequestId,
    pub kind: OperationKind,
    pub phase: Phase,
    /// The chart that is being worked on, in the offer's order.
    pub chart: usize,
    pub started: Timestamp,
    /// A restart of the broker does not prolong the time of a chart.
    pub chart_started: Timestamp,
    /// The newest revision of each release before the operation.
    #[serde(default)]
    pub revision_before: BTreeMap<String, u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<RequestDigest>,
    #[serde(default)]
    pub cancelled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Charts are installed or upgraded, and become ready, one after the other.
    Apply,
    /// Charts that left the offer are uninstalled.
    Remove,
    /// The releases are uninstalled.
    Uninstall,
    /// The namespace is deleted, and the record with it.
    DeleteNamespace,
}

/// How the last operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub id: RequestId,
    pub kind: OperationKind,
    pub succeeded: bool,
    pub started: Timestamp,
    pub ended: Timestamp,
    #[serde(default)]
    pub cancelled: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_text: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operator_text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<RequestDigest>,
}

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("the record of the instance is not readable: {0}")]
    Unreadable(String),
    #[error(
        "the record of the instance has the format {found}, and this broker reads {FORMAT}: a newer broker wrote it"
    )]
    Newer { found: u64 },
    #[error("the record of the instance would have {size} bytes; at most {LONGEST} are kept")]
    TooLong { size: usize },
}

impl Record {
    pub fn new(
        instance_id: InstanceId,
        offer: String,
        service_id: OfferingId,
        plan_id: PlanId,
        cluster: String,
        desired: Content,
    ) -> Self {
        Self {
            format: FORMAT,
            instance_id,
            offer,
            service_id,
            plan_id,
            cluster,
            platform: Map::new(),
            deployed: None,
            desired,
            layers: BTreeMap::new(),
            operation: None,
            last: None,
        }
    }

    pub fn read(text: &[u8]) -> Result<Self, RecordError> {
        // The message of a parser may quote parameters; its place is enough.
        let unreadable = |error: serde_json::Error| {
            RecordError::Unreadable(format!("line {}, column {}", error.line(), error.column()))
        };
        let value: Value = serde_json::from_slice(text).map_err(unreadable)?;
        let found = value["format"].as_u64().unwrap_or(0);
        if found > u64::from(FORMAT) {
            return Err(RecordError::Newer { found });
        }
        serde_json::from_value(value).map_err(|_| {
            RecordError::Unreadable("a member is missing or of another type".to_owned())
        })
    }

    pub fn write(&self) -> Result<Vec<u8>, RecordError> {
        let text = serde_json::to_vec(self)
            .map_err(|_| RecordError::Unreadable("it cannot be written as JSON".to_owned()))?;
        if text.len() > LONGEST {
            return Err(RecordError::TooLong { size: text.len() });
        }
        Ok(text)
    }

    /// Ends the operation in progress. A successful one makes what was desired what is deployed.
    pub fn end(
        &mut self,
        succeeded: bool,
        user_text: String,
        operator_text: String,
        now: Timestamp,
    ) {
        let Some(operation) = self.operation.take() else {
            return;
        };
        if succeeded {
            self.deployed = Some(Content {
                at: Some(now),
                ..self.desired.clone()
            });
        }
        self.last = Some(Outcome {
            id: operation.id,
            kind: operation.kind,
            succeeded,
            started: operation.started,
            ended: now,
            cancelled: operation.cancelled,
            user_text,
            operator_text,
            request_digest: operation.request_digest,
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(version: u32) -> Content {
        Content {
            offer_version: version,
            parameters: Map::from_iter([("password".to_owned(), json!("hunter2"))]),
            digest: format!("digest-{version}"),
            at: None,
        }
    }

    /// Version 3 is deployed, and an upgrade to version 4 is in progress.
    fn upgrading() -> Record {
        let mut record = Record::new(
            InstanceId::try_from("9d0e".to_owned()).unwrap(),
            "redis".to_owned(),
            OfferingId::from("service".to_owned()),
            PlanId::from("plan".to_owned()),
            "prod".to_owned(),
            content(4),
        );
        record.deployed = Some(content(3));
        record.operation = Some(Operation {
            id: RequestId::random(),
            kind: OperationKind::Upgrade,
            phase: Phase::Apply,
            chart: 1,
            started: Timestamp::UNIX_EPOCH,
            chart_started: Timestamp::UNIX_EPOCH,
            revision_before: BTreeMap::from([("redis".to_owned(), 4)]),
            request_digest: None,
            cancelled: false,
        });
        record
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = upgrading();
        let read = Record::read(&record.write().unwrap()).unwrap();
        assert!(read == record);
    }

    #[test]
    fn a_success_deploys_what_was_desired_and_a_failure_leaves_what_is_deployed() {
        let now = Timestamp::from_second(9).unwrap();
        let mut record = upgrading();
        record.end(true, "done".to_owned(), String::new(), now);
        let deployed = record.deployed.as_ref().unwrap();
        assert_eq!((deployed.offer_version, deployed.at), (4, Some(now)));
        assert!(record.operation.is_none());
        let before = record.clone();
        record.end(false, String::new(), String::new(), now);
        assert!(record == before, "there was nothing to end");

        let mut record = upgrading();
        record.end(false, "failed".to_owned(), "redis: exit 1".to_owned(), now);
        assert_eq!(record.deployed.as_ref().unwrap().offer_version, 3);
        assert_eq!(record.desired.offer_version, 4);
        let last = record.last.unwrap();
        assert_eq!(
            (last.succeeded, &*last.operator_text),
            (false, "redis: exit 1")
        );
    }

    #[test]
    fn an_unreadable_record_is_named_without_its_content() {
        let fails = |text: &[u8]| match Record::read(text) {
            Ok(_) => panic!("it is no record"),
            Err(error) => error.to_string(),
        };
        let newer = fails(br#"{"format": 2, "secret": "hunter2"}"#);
        assert!(newer.contains("the format 2"), "{newer}");
        for text in [
            &b"{\"hunter2\""[..],
            br#"{"format": 1, "offer": "hunter2"}"#,
        ] {
            let error = fails(text);
            assert!(
                error.contains("not readable") && !error.contains("hunter2"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_record_that_no_secret_takes_is_not_written() {
        let mut record = upgrading();
        let text = "x".repeat(LONGEST);
        record
            .desired
            .parameters
            .insert("long".to_owned(), text.into());
        assert!(matches!(record.write(), Err(RecordError::TooLong { .. })));
    }
}
