//! For programs; `spec/coverage/osb-api.md` describes the form.

use serde_json::{Value, json};

use super::{reason, shown_by};
use crate::{CheckResult, Exchange, Report, RunState};

pub(super) fn write(report: &Report) -> Result<String, serde_json::Error> {
    let document = json!({
        "summary": {
            "passed": report.count(RunState::Passed),
            "failed": report.count(RunState::Failed),
            "warnings": report.count(RunState::Warning),
            "skipped": report.count(RunState::Skipped),
            "duration_ms": milliseconds(report.took),
        },
        "results": report.results.iter().map(result).collect::<Vec<_>>(),
        "left_behind": report.left_behind.iter().map(|left| json!({
            "service_instance": left.instance,
            "reason": left.why,
        })).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn result(result: &CheckResult) -> Value {
    let mut entry = json!({
        "rule": result.rule.id,
        "level": result.rule.level.to_string(),
        "text": result.rule.text,
        "result": match result.state() {
            RunState::Passed => "passed",
            RunState::Failed => "failed",
            RunState::Warning => "warning",
            RunState::Skipped => "skipped",
        },
        "duration_ms": milliseconds(result.took),
    });
    if let Some(reason) = reason(&result.outcome) {
        entry["reason"] = reason.into();
    }
    if let Some(shown) = shown_by(&result.outcome) {
        entry["exchange"] = exchange(shown);
    }
    entry
}

fn exchange(exchange: &Exchange) -> Value {
    let headers: serde_json::Map<String, Value> = exchange
        .headers
        .iter()
        .map(|(name, value)| {
            (
                name.to_string(),
                value.to_str().unwrap_or("(no text)").into(),
            )
        })
        .collect();
    json!({
        "request": {
            "line": exchange.request_line(),
            "headers": exchange.request_headers.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "body": exchange.reported_request_body(),
        },
        "response": {
            "status": exchange.status.as_u16(),
            "headers": headers,
            "body": exchange.reported_body(),
        },
    })
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
