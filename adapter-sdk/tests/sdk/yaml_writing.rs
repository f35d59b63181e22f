//! Written documents are read back unchanged: by the SDK, and by Ruby's Psych, the Director's parser.

use std::io::Write;
use std::process::{Command, Stdio};

use odb_adapter_sdk::yaml;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::documents::document;

#[test]
fn psych_reads_awkward_strings_back_as_the_same_strings() {
    let documents: Vec<Value> = AWKWARD.iter().map(|text| everywhere(text)).collect();
    assert_read_back_by_psych(&documents);
}

#[test]
fn psych_reads_multi_line_and_long_strings_back_as_the_same_strings() {
    let mut texts: Vec<String> = MULTI_LINE.iter().map(|text| (*text).to_owned()).collect();
    texts.push("word ".repeat(200));
    texts.push("x".repeat(3000));
    texts.push(format!("{}\nsecond line\n", "long line ".repeat(60)));
    let documents: Vec<Value> = texts.iter().map(|text| everywhere(text)).collect();
    assert_read_back_by_psych(&documents);
}

#[test]
fn psych_reads_numbers_back_as_the_same_numbers() {
    assert_read_back_by_psych(&[json!([
        0, -1, 8, 10, 644, u64::MAX, i64::MIN, 0.5, -0.25, 1e100, 1e-7, 1.0, 123_456_789.5, 5e-324,
        {"nested": [1, [2, {"deep": 3.5}]]}
    ])]);
}

#[test]
fn psych_reads_any_document_back_unchanged() {
    let mut runner = TestRunner::deterministic();
    let documents: Vec<Value> = (0..600)
        .map(|_| document().new_tree(&mut runner).unwrap().current())
        .collect();
    assert_read_back_by_psych(&documents);
}

#[test]
fn a_certificate_is_written_as_a_literal_block() {
    let text = yaml::to_string(
        &json!({"ca": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"}),
    );
    assert_eq!(
        text.unwrap(),
        "ca: |\n  -----BEGIN CERTIFICATE-----\n  MIIB\n  -----END CERTIFICATE-----\n"
    );
}

#[test]
fn a_placeholder_is_written_like_the_path_that_takes_its_location() {
    let before = yaml::to_string(&json!({"secret": "((odb_secret:name))"})).unwrap();
    let after =
        yaml::to_string(&json!({"secret": "((/odb/offering/service-instance_1/name))"})).unwrap();
    assert_eq!(
        before.replace("odb_secret:", "/odb/offering/service-instance_1/"),
        after
    );
}

#[test]
fn names_and_variables_stay_readable() {
    let text = yaml::to_string(
        &json!({"name": "redis-server", "password": "((redis/password))", "on": "1.10"}),
    );
    assert_eq!(
        text.unwrap(),
        "name: redis-server\npassword: ((redis/password))\n\"on\": \"1.10\"\n"
    );
}

proptest! {
    #[test]
    fn any_document_reads_back_unchanged(document in document()) {
        let text = yaml::to_string(&document).unwrap();
        prop_assert_eq!(yaml::from_str::<Value>(&text).unwrap(), document, "written as\n{}", text);
    }
}

/// A document with the text in every place that a string can have.
fn everywhere(text: &str) -> Value {
    json!({
        "value": text,
        "list": [text, [text, text], {text: text, "other": text}],
        "map": {text: {text: [text]}, "last": text},
        text: "key",
    })
}

fn assert_read_back_by_psych(documents: &[Value]) {
    let texts: Vec<String> = documents
        .iter()
        .map(|document| yaml::to_string(document).unwrap())
        .collect();
    let read: Vec<Value> =
        serde_json::from_str(&psych(&serde_json::to_string(&texts).unwrap())).unwrap();
    for ((document, text), read) in documents.iter().zip(&texts).zip(&read) {
        assert_eq!(read, document, "written as\n{text}");
    }
    assert_eq!(read.len(), documents.len());
}

/// Has Ruby read each text of a JSON list and give the documents back as a JSON list. Keys that are
/// no strings, symbols and dates are errors, as JSON would hide them.
fn psych(texts: &str) -> String {
    const PROGRAM: &str = r##"
        def check(node)
          case node
          when Hash then node.each { |key, value| key.is_a?(String) or raise("key #{key.inspect}"); check(value) }
          when Array then node.each { |element| check(element) }
          end
          node
        end
        documents = JSON.parse(STDIN.read).map do |text|
          begin
            check(YAML.safe_load(text))
          rescue StandardError, Psych::Exception => error
            "#{error.class}: #{error.message}"
          end
        end
        print JSON.generate(documents, max_nesting: false)
    "##;
    let mut ruby = Command::new("ruby")
        .args(["-E", "UTF-8:UTF-8", "-ryaml", "-rjson", "-e", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test needs Ruby: install the package `ruby`");
    let mut stdin = ruby.stdin.take().unwrap();
    let texts = texts.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(texts.as_bytes()).unwrap());
    let output = ruby.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

const AWKWARD: &[&str] = &[
    // booleans and nulls
    "yes",
    "Yes",
    "YES",
    "no",
    "No",
    "NO",
    "on",
    "On",
    "ON",
    "off",
    "Off",
    "OFF",
    "y",
    "Y",
    "n",
    "N",
    "true",
    "True",
    "TRUE",
    "false",
    "False",
    "FALSE",
    "null",
    "Null",
    "NULL",
    "~",
    "nil",
    "",
    // numbers, and what one reader or another takes for one
    "0",
    "1",
    "-1",
    "+1",
    "12",
    "010",
    "0644",
    "08",
    "0o10",
    "0x1f",
    "0xFG",
    "0b11",
    "1_000",
    "1__0",
    "_1",
    "1_",
    "1,000",
    "1,0,0",
    ",1",
    "1.5",
    "1.10",
    "1.",
    ".5",
    "-.5",
    "+.5",
    ".",
    "..",
    "...",
    "-",
    "--",
    "---",
    "1e3",
    "1e",
    "1E+3",
    "1.0e+3",
    "e1",
    "1.651",
    "0.1.2",
    "3112.latest",
    "12:30",
    "12:30:45",
    "190:20:30",
    "190:20:30.15",
    "1:1",
    "-12:30",
    "00:00",
    ".inf",
    "-.inf",
    "+.INF",
    ".Inf",
    ".nan",
    ".NaN",
    ".NAN",
    "inf",
    "nan",
    "NaN",
    "Infinity",
    "50%",
    "30000-240000",
    "1000-30000",
    "5GB",
    "10.0.8.9",
    "10.0.8.9/24",
    "::1",
    "fe80::1",
    "1:",
    "1k",
    // dates and times
    "2001-12-14",
    "2001-1-1",
    "2001-12-14t21:59:43.10-05:00",
    "2001-12-14 21:59:43.10 -5",
    "2001-12-15 2:59:43",
    "2001-99-99",
    "20011214",
    // symbols, tags, anchors, indicators
    ":a",
    ":",
    "::",
    ":a b",
    "a:",
    "a: b",
    "a:b",
    "a :b",
    "!a",
    "!!str a",
    "!",
    "&a",
    "&",
    "*a",
    "*",
    "?",
    "?x",
    "? x",
    "-x",
    "- x",
    "|",
    "|a",
    ">",
    ">a",
    "@a",
    "`a`",
    "%a",
    "%YAML 1.1",
    "#a",
    "a #b",
    "a#b",
    "{",
    "}",
    "{}",
    "{a: b}",
    "[",
    "]",
    "[]",
    "[a]",
    "a,b",
    ",",
    "'",
    "''",
    "'a'",
    "a'b",
    "\"",
    "\"a\"",
    "a\"b",
    "\\",
    "\\n",
    "a\\b",
    "=",
    "<<",
    "<",
    "=a",
    "<<: a",
    "--- a",
    "... a",
    "---a",
    // white space
    " ",
    "  ",
    " a",
    "a ",
    " a ",
    "a  b",
    "\t",
    "\ta",
    "a\t",
    "a\tb",
    "\n",
    "a\n",
    "\na",
    "a\nb",
    "a\n\n",
    "\r",
    "a\rb",
    "a\r\nb",
    // what is common in manifests
    "((name))",
    "((/odb/offering/service-instance_1/token))",
    "((cert.ca))",
    "((odb_secret:name))",
    "((a))((b))",
    "prefix-((name))",
    "((",
    "))",
    "(( spaced ))",
    "((yes))",
    "((1))",
    "(())",
    "((:a))",
    "((a:))",
    "((a: b))",
    "((~))",
    "ubuntu-jammy",
    "only-stemcell",
    "service-instance_c0ffee00-1111-4222-8333-444455556666",
    "c0ffee00-1111-4222-8333-444455556666",
    "12345678-1111-4222-8333-444455556666",
    "1e5",
    "1e10-4",
    "https://example.com/?a=b&c=d#e",
    "user@example.com",
    "Ym9yaW5n+/8=",
    "MTIz",
    "$VAR",
    "${VAR}",
    "<%= erb %>",
    "{{ template }}",
    "a/b",
    "/a",
    "./a",
    "../a",
    "~a",
    "~/a",
    // beyond ASCII, and what cannot be printed
    "é",
    "ünïcödé",
    "日本語",
    "🙂",
    "\u{0}",
    "\u{1}",
    "\u{7}",
    "\u{1b}",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "a\u{85}b",
    "\u{a0}",
    "\u{a0}a",
    "\u{2028}",
    "a\u{2028}b",
    "\u{2029}",
    "\u{feff}",
    "\u{feff}a",
    "\u{fffe}",
    "\u{ffff}",
    "\u{e000}",
    "\u{10ffff}",
    "a\u{200b}b",
];

const MULTI_LINE: &[&str] = &[
    "a\nb\n",
    "a\nb",
    "a\n\nb\n",
    "a\nb\n\n",
    "a\n b\n",
    " a\nb\n",
    "\na\nb\n",
    "a \nb\n",
    "a\nb \n",
    "a\n \nb\n",
    "a\n\tb\n",
    "\ta\nb\n",
    "a\t\nb\n",
    "a\r\nb\r\n",
    "a\nb\r",
    "a: b\nc: d\n",
    "- a\n- b\n",
    "# a\n# b\n",
    "---\na\n",
    "...\na\n",
    "a\n---\nb\n",
    "a\n...\nb\n",
    "%a\nb\n",
    "a\u{85}b\nc\n",
    "a\u{2028}b\nc\n",
    "é\nü\n",
    "🙂\n🙂\n",
    "\u{feff}a\nb\n",
    "a\n\u{0}\n",
    "\n\n",
    "\n",
    "a\n\n\nb\n",
    "yes\nno\n",
    "|\n>\n",
    "'\n\"\n",
    "a\\\nb\n",
    "-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n",
];
