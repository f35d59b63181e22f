//! The program that evaluates templates: `rendering/render.rb`.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    process::{Command, Stdio},
};

use serde::Deserialize;
use serde_json::Value;

use super::{Fault, Rendering};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rendering/render.rb");

/// How long it may take in all, in seconds; a case is a matter of milliseconds.
const TIME_LIMIT: &str = "120";

/// How much it may answer in all, in bytes.
const ANSWER_LIMIT: u64 = 256 * 1024 * 1024;

#[derive(Debug, Deserialize)]
pub(super) struct Response {
    pub(super) files: BTreeMap<String, String>,
    pub(super) errors: Vec<Fault>,
}

pub(super) fn answers(renderings: &[Rendering]) -> Vec<Response> {
    if renderings.is_empty() {
        return Vec::new();
    }
    let folder = tempfile::tempdir().expect("tests may write temporary files");
    let cases = folder.path().join("cases.json");
    let documents = renderings.iter().map(Rendering::document);
    let documents = Value::Array(documents.cloned().collect());
    fs::write(&cases, documents.to_string()).expect("the test made the folder");
    let mut ruby = Command::new("timeout")
        .args(["--kill-after=5", TIME_LIMIT, "ruby", PROGRAM])
        .arg(&cases)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this is Linux, which has `timeout`");
    let mut text = String::new();
    let read = ruby
        .stdout
        .take()
        .expect("it is piped")
        .take(ANSWER_LIMIT)
        .read_to_string(&mut text);
    let status = ruby.wait().expect("it is a child of this process");
    assert!(
        status.success(),
        "`render.rb` ended with {status}; it needs Ruby 3.1 or newer (package `ruby` of Debian)"
    );
    read.expect("templates render text");
    let answers: Vec<Response> = serde_json::from_str(&text).expect("`render.rb` answers in JSON");
    assert_eq!(answers.len(), renderings.len(), "an answer for each case");
    answers
}
