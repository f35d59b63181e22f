//! A call to aim at.

use std::{collections::BTreeMap, fmt};

use odb_stories::BrokerCall;
use serde_json::{Value, json};

/// The n-th call of its kind in an operation, with the ids left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    kind: CallKind,
    /// From 1.
    nth: u64,
    /// Whether the answer to the request waits for it.
    pub(super) part: Part,
}

/// Calls that differ in ids at most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CallKind {
    server: String,
    method: String,
    path: String,
    /// Distinguishes the broker's calls from those of the test.
    user_agent: String,
    /// The part of a task's output that is asked for.
    output: Option<String>,
}

/// The part of an operation that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Request,
    Reconciler,
}

impl Target {
    /// The targets among the calls of an operation. Of a reconciler's looks, whose number is a matter of time, the
    /// first of each kind.
    pub(super) fn among(calls: &[BrokerCall], is_asynchronous: bool) -> Vec<Self> {
        let submission = calls.iter().position(is_submission);
        let submission = submission.filter(|_| is_asynchronous);
        let mut met: BTreeMap<CallKind, u64> = BTreeMap::new();
        let mut looked_at: Vec<CallKind> = Vec::new();
        let mut targets = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let kind = CallKind::of(call);
            let nth = met.entry(kind.clone()).or_default();
            *nth += 1;
            let part = if submission.is_some_and(|submission| index > submission) {
                Part::Reconciler
            } else {
                Part::Request
            };
            if part == Part::Reconciler && kind.method == "GET" {
                if looked_at.contains(&kind) {
                    continue;
                }
                looked_at.push(kind.clone());
            }
            targets.push(Self {
                kind,
                nth: *nth,
                part,
            });
        }
        targets
    }

    /// A reconciler polls its operation, which may have ended at the first poll.
    pub(super) fn is_a_look(&self) -> bool {
        self.part == Part::Reconciler && self.kind.method == "GET"
    }

    /// A fault with this effect that matches it.
    pub(super) fn struck_by(&self, effect: &Value, times: Option<u64>) -> Value {
        let mut requests = json!({
            "method": self.kind.method,
            "path": self.kind.path,
            "header": { "name": "User-Agent", "value": self.kind.user_agent },
        });
        if let Some(output) = &self.kind.output {
            requests["query"] = json!({ "type": output });
        }
        let mut fault = json!({
            "server": self.kind.server,
            "requests": requests,
            "after": self.nth - 1,
            "effect": effect,
        });
        if let Some(times) = times {
            fault["times"] = times.into();
        }
        fault
    }

    /// The calls of this kind among those of an operation. If several are concurrent, the fault hits a random one.
    pub(super) fn alike<'c>(&self, calls: &'c [BrokerCall]) -> Vec<&'c BrokerCall> {
        let alike = calls.iter().filter(|call| CallKind::of(call) == self.kind);
        alike.collect()
    }
}

impl CallKind {
    fn of(call: &BrokerCall) -> Self {
        let output = call
            .query
            .split('&')
            .find_map(|parameter| parameter.strip_prefix("type="))
            .filter(|_| call.path.ends_with("/output"));
        Self {
            server: call.server.clone(),
            method: call.method.clone(),
            path: without_ids(&call.path),
            user_agent: call.user_agent.clone(),
            output: output.map(str::to_owned),
        }
    }
}

/// It hands work to the Director.
fn is_submission(call: &BrokerCall) -> bool {
    call.server == "director" && call.method != "GET" && call.path.starts_with("/deployments")
}

fn without_ids(path: &str) -> String {
    let segments = path.split('/').map(|segment| {
        let is_number = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        let end = segment.rsplit('_').next().unwrap_or_default();
        let is_id = is_number || uuid::Uuid::try_parse(end).is_ok();
        if is_id { "*" } else { segment }
    });
    segments.collect::<Vec<_>>().join("/")
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallKind {
            server,
            method,
            path,
            output,
            ..
        } = &self.kind;
        let mut text = format!("{server} {method} {path}");
        if let Some(output) = output {
            text = format!("{text}?type={output}");
        }
        if self.nth > 1 {
            text = format!("{text} ({})", self.nth);
        }
        f.pad(&text)
    }
}
