//! Compares an answer with the recorded one.

use reqwest::header::HeaderMap;
use serde_json::{Deserializer, Value};

use crate::{
    json::{Comparison, by_instance, compare_texts},
    names::{Kind, Names},
    transcript::{Body, Transcript},
};

/// An answer of the sandbox.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// Headers that are compared.
const HEADERS: [&str; 8] = [
    "content-type",
    "www-authenticate",
    "content-range",
    "location",
    "x-cascade",
    "x-content-type-options",
    "x-frame-options",
    "x-xss-protection",
];

/// Compares, learns which ids correspond, and returns every difference.
pub(crate) fn differences(
    recorded: &Transcript,
    answer: &Response,
    names: &mut Names,
) -> Vec<String> {
    let mut found = Vec::new();
    if recorded.status != answer.status {
        found.push(format!(
            "status {} instead of {}",
            answer.status, recorded.status
        ));
    }
    learn_task(recorded, answer, names);
    compare_headers(recorded, answer, names, &mut found);
    if found.is_empty() {
        compare_bodies(recorded, answer, names, &mut found);
    }
    found
}

/// A redirect has the id of a task.
fn learn_task(recorded: &Transcript, answer: &Response, names: &mut Names) {
    let last = |location: &str| location.rsplit('/').next().map(str::to_owned);
    let theirs = recorded.headers.get("location").and_then(last);
    let actual = answer.headers.get("location");
    let actual = actual.and_then(|value| last(value.to_str().ok()?));
    if let (Some(theirs), Some(actual)) = (theirs, actual) {
        names.learn(Kind::Task, &theirs, &actual);
    }
}

fn compare_headers(
    recorded: &Transcript,
    answer: &Response,
    names: &Names,
    found: &mut Vec<String>,
) {
    for name in HEADERS {
        let theirs = recorded.headers.get(name).map(|value| match name {
            "content-range" => without_size(value),
            _ => names.in_text(value),
        });
        let actual = answer.headers.get(name).map(|value| {
            let value = value.to_str().unwrap_or_default();
            match name {
                "content-range" => without_size(value),
                _ => value.to_owned(),
            }
        });
        if theirs != actual {
            found.push(format!("header {name}: {actual:?} instead of {theirs:?}"));
        }
    }
    let has_date = |value: bool| if value { "a date" } else { "no date" };
    let theirs = recorded.headers.get("last-modified").is_some();
    let actual = answer.headers.contains_key("last-modified");
    if theirs != actual {
        found.push(format!(
            "last-modified: {} instead of {}",
            has_date(actual),
            has_date(theirs)
        ));
    }
}

/// How much there is depends on the names of instances and their like.
fn without_size(range: &str) -> String {
    let (part, _) = range.split_once('/').unwrap_or((range, ""));
    format!("{part}/…")
}

fn compare_bodies(
    recorded: &Transcript,
    answer: &Response,
    names: &mut Names,
    found: &mut Vec<String>,
) {
    let is_partial = recorded.status == 206;
    match &recorded.body {
        _ if recorded.headers.get("content-type").is_some_and(is_log) => {
            compare_logs(recorded, &answer.body, found);
        }
        Body::Whole(text) if is_partial => {
            if text.len() != answer.body.len() {
                found.push(format!("{} bytes", answer.body.len()));
            }
        }
        Body::Whole(text) => match (documents(text), documents(&answer.body)) {
            (Some(theirs), Some(actual)) => {
                compare_documents(recorded, theirs, actual, names, found);
            }
            _ => compare_texts("body", text, &answer.body, names, found),
        },
        Body::Beginning(text) => compare_beginnings(recorded, text, &answer.body, names, found),
    }
}

fn is_log(content_type: &str) -> bool {
    content_type == "text/plain;charset=utf-8"
}

/// Logs are for people. Only the parts that are searched for are compared: the manifest, and the calls of the CPI.
fn compare_logs(recorded: &Transcript, actual: &str, found: &mut Vec<String>) {
    let (Body::Whole(theirs) | Body::Beginning(theirs)) = &recorded.body;
    let methods = |log: &str| {
        let lines = log.lines().filter_map(|line| {
            let (_, method) = line.split_once("Saving input for ")?;
            Some(method.split(' ').next()?.to_owned())
        });
        let mut methods: Vec<String> = lines.filter(|method| method != "info").collect();
        methods.dedup();
        methods
    };
    if methods(theirs) != methods(actual) {
        found.push(format!("the CPI was asked for {:?}", methods(actual)));
    }
    let first_task_line = |log: &str| log.contains("Looking for task with task id ");
    if first_task_line(theirs) != first_task_line(actual) && !theirs.contains("Saving input") {
        found.push("the log does not mention the task".to_owned());
    }
    if let Some((_, manifest)) = theirs.split_once("Manifest:\n") {
        let manifest = manifest.split("\n\n").next().unwrap_or_default();
        if !actual.contains(&format!("Manifest:\n{manifest}")) {
            found.push("the manifest is not in the log".to_owned());
        }
    }
}

/// One JSON document, or several in lines. None for text.
fn documents(text: &str) -> Option<Vec<Value>> {
    let first = text.chars().next()?;
    if !matches!(first, '{' | '[') {
        return None;
    }
    let documents = Deserializer::from_str(text).into_iter::<Value>();
    documents.collect::<Result<Vec<_>, _>>().ok()
}

/// The documents and elements of lists that are complete in a text that was cut.
fn compare_beginnings(
    recorded: &Transcript,
    theirs: &str,
    actual: &str,
    names: &mut Names,
    found: &mut Vec<String>,
) {
    if let Some((message, _)) = theirs.split_once("\\n/var/vcap") {
        if !actual.starts_with(message) {
            found.push(format!("{actual} instead of {message}…"));
        }
        return;
    }
    let complete = |text: &str| {
        let text = text
            .strip_prefix('[')
            .unwrap_or(text)
            .replace("},{\"id\"", "}\n{\"id\"");
        let documents = Deserializer::from_str(&text).into_iter::<Value>();
        documents.map_while(Result::ok).collect::<Vec<_>>()
    };
    let theirs = complete(theirs);
    let mut actual = complete(actual);
    actual.truncate(theirs.len());
    compare_documents(recorded, theirs, actual, names, found);
}

fn compare_documents(
    recorded: &Transcript,
    theirs: Vec<Value>,
    actual: Vec<Value>,
    names: &mut Names,
    found: &mut Vec<String>,
) {
    let mut comparison = Comparison {
        path: recorded.path(),
        names,
        found,
    };
    let (theirs, actual) = match (theirs.as_slice(), actual.as_slice()) {
        // Events of steps that run in parallel come in any order.
        (all, _) if all.iter().any(|line| line.get("stage").is_some()) => {
            (in_stages(theirs), in_stages(actual))
        }
        (all, _) if all.iter().any(|line| line.get("job_name").is_some()) => {
            (by_instance(theirs), by_instance(actual))
        }
        _ => (theirs, actual),
    };
    comparison.lists("", &theirs, &actual);
}

/// Steps of a stage that run side by side, each step's lines together.
fn in_stages(mut lines: Vec<Value>) -> Vec<Value> {
    let parallel = |line: &Value| line["stage"] == "Deleting instances";
    let start = lines.iter().position(parallel).unwrap_or(0);
    let count = lines.iter().filter(|line| parallel(line)).count();
    lines[start..start + count].sort_by_key(|line| {
        let task = line["task"].as_str().unwrap_or_default();
        (
            task.split('/').next().map(str::to_owned),
            line["progress"].as_u64(),
        )
    });
    for line in &mut lines[start..start + count] {
        line["index"] = Value::Null;
    }
    lines
}
