//! The faults of a call.

use std::fmt;

use odb_stories::eventually;
use serde_json::{Value, json};

use super::{
    operation::{Expected, Operation},
    promises,
    stage::Stage,
    table::Row,
    target::{Part, Target},
};
use crate::TIMEOUT;

/// The effect on a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// It takes longer than the request has, and so does every later one like it until there is an answer.
    TooSlow,
    /// The same when it has taken effect.
    TooSlowAfter,
    Refused(u16),
    /// A proxy gives up on it when it has taken effect.
    GatewayTimeout,
    /// It is refused as often as it is made, until there is an answer.
    Unavailable,
    Dropped,
    DroppedAfter,
    Truncated,
    OtherContentType,
    Trickling,
}

/// A fault at a call.
#[derive(Clone, Debug)]
pub(super) struct CallFault {
    pub(super) operation: Operation,
    pub(super) target: Target,
    pub(super) fault: Fault,
}

impl Fault {
    pub(super) const ALL: [Self; 13] = [
        Self::TooSlow,
        Self::TooSlowAfter,
        Self::Refused(500),
        Self::Refused(503),
        Self::Refused(429),
        Self::Refused(401),
        Self::GatewayTimeout,
        Self::Unavailable,
        Self::Dropped,
        Self::DroppedAfter,
        Self::Truncated,
        Self::OtherContentType,
        Self::Trickling,
    ];

    /// In the words of the sandbox.
    fn effect(self, part: Part) -> Value {
        match self {
            Self::TooSlow => json!({ "kind": "delay", "duration": "3200ms" }),
            Self::TooSlowAfter => {
                json!({ "kind": "delay", "duration": "3200ms", "moment": "after" })
            }
            Self::Refused(status) => json!({ "kind": "answer", "status": status }),
            Self::GatewayTimeout => {
                json!({ "kind": "answer", "status": 504, "body": "<html>", "moment": "after" })
            }
            Self::Unavailable => json!({ "kind": "answer", "status": 503, "body": "try later" }),
            Self::Dropped => json!({ "kind": "drop" }),
            Self::DroppedAfter => json!({ "kind": "drop", "moment": "after" }),
            Self::Truncated => json!({ "kind": "truncate", "bytes": 10 }),
            Self::OtherContentType => json!({ "kind": "content-type", "value": "text/html" }),
            // The request of a user times out; a reconciler waits longer than the test.
            Self::Trickling => {
                let rate = if part == Part::Request { 20 } else { 200 };
                json!({ "kind": "slow", "bytes_per_second": rate })
            }
        }
    }

    fn times(self) -> Option<u64> {
        match self {
            Self::Unavailable => None,
            _ => Some(1),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSlow => f.write_str("too slow"),
            Self::TooSlowAfter => f.write_str("too slow after"),
            Self::Refused(status) => write!(f, "{status}"),
            Self::GatewayTimeout => f.write_str("504 after"),
            Self::Unavailable => f.write_str("503 again and again"),
            Self::Dropped => f.write_str("dropped"),
            Self::DroppedAfter => f.write_str("dropped after"),
            Self::Truncated => f.write_str("truncated"),
            Self::OtherContentType => f.write_str("other content type"),
            Self::Trickling => f.write_str("trickling"),
        }
    }
}

impl CallFault {
    pub(super) async fn run(&self, stage: &mut Stage) -> Row {
        let Self {
            operation,
            target,
            fault,
        } = self;
        let subject = operation.prepare(stage).await;
        stage.calls().await;
        let fault = target.struck_by(&fault.effect(target.part), fault.times());
        let fault = stage.control.set_fault(&fault).await.id;
        let platform = stage.broker.platform().clone();

        let answer = platform.send(operation.request(&platform, &subject)).await;

        let expected = operation.expected(&answer);
        if let (Part::Reconciler, Expected::Accepted(token)) = (target.part, &expected) {
            eventually("the reconciler makes the call", TIMEOUT, async || {
                let has_struck = stage.control.fault(fault).await.has_struck();
                let poll = platform.last_operation(&subject.instance, token).await;
                let goes_on = poll.status == 200 && poll.json()["state"] == "in progress";
                if has_struck || !goes_on {
                    Ok(())
                } else {
                    Err(poll.text)
                }
            })
            .await;
        }
        let has_struck = stage.control.fault(fault).await.has_struck();
        assert!(
            has_struck || target.is_a_look(),
            "the call was not made: {answer:?}"
        );
        if matches!(self.fault, Fault::Unavailable) {
            stage.control.clear_faults().await;
        }
        let mut end = String::new();
        if let Expected::Accepted(token) = &expected {
            let ended = platform.end_of_operation(&subject.instance, token).await;
            // A transient error is no reason to give up an accepted operation.
            let may_fail = matches!(self.fault, Fault::Unavailable);
            assert!(may_fail || ended.state != "failed", "{ended:?}");
            end = ended.state;
        }
        stage.control.clear_faults().await;
        if expected == Expected::Refused || end == "failed" {
            let calls = stage.calls().await;
            promises::expect_named(stage, &answer, &target.alike(&calls));
            let repeated = promises::repeat(stage, *operation, &subject).await;
            end = format!("{end} repeated: {repeated}")
                .trim_start()
                .to_owned();
        }
        if !has_struck {
            end = format!("{end}, the call was not made");
        }
        promises::expect_once(stage, *operation, &subject).await;
        promises::give_back(stage, *operation, &subject).await;
        promises::expect_nothing_left(stage, &subject.instance).await;
        self.row(&answer.status.to_string(), &end, None)
    }

    pub(super) fn row(&self, answer: &str, end: &str, message: Option<String>) -> Row {
        Row {
            operation: self.operation.to_string(),
            call: self.target.to_string(),
            event: self.fault.to_string(),
            answer: answer.to_owned(),
            end: end.to_owned(),
            message,
        }
    }
}
