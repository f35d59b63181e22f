//! The files in `spec/schemas/adapter` are those of the types.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use odb_adapter_sdk::schemas::documents;
use serde_json::Value;

use super::document::{SCHEMAS, folder};

const COMMAND: &str = "cargo run -p odb-adapter-sdk --example protocol_schemas";

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    for document in documents() {
        let committed = fs::read_to_string(folder().join(document.file_name())).unwrap_or_default();
        assert!(
            committed == document.text(),
            "{} is out of date; run `{COMMAND}`",
            document.file_name()
        );
    }
    let names: BTreeSet<&str> = SCHEMAS.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = documents().iter().map(|document| document.name).collect();
    assert_eq!(names, known, "remove schemas of documents that are no more");
}

#[test]
fn every_schema_keeps_to_its_draft_and_explains_itself() {
    for (name, schema) in &*SCHEMAS {
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{name}"
        );
        jsonschema::draft202012::meta::validate(schema)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for keyword in ["title", "description"] {
            assert!(schema[keyword].is_string(), "{name} has no {keyword}");
        }
        assert_explained(name, name, schema);
    }
}

/// Each named member of an object says what it is, in words that are not Rust's.
fn assert_explained(document: &str, location: &str, schema: &Value) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let location = format!("{location}/{name}");
        // The requirements of a subcommand are described elsewhere.
        let is_explained = member["description"].is_string() || member.get("const").is_some();
        assert!(
            is_explained || location.contains('-') && document == "input",
            "{location} is not explained"
        );
        assert_explained(document, &location, member);
    }
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        assert_explained(document, &format!("{document}#{name}"), definition);
    }
    if let Some(description) = schema["description"].as_str() {
        for word in ["[`", "Rust", "serde", "Formatting", "::", "\n"] {
            assert!(!description.contains(word), "{location}: {description}");
        }
    }
}

#[test]
fn references_to_other_documents_lead_to_them() {
    for (name, schema) in &*SCHEMAS {
        let text = schema.to_string();
        for (start, _) in text.match_indices(r#""$ref":""#) {
            let target = text[start + 8..].split('"').next().unwrap();
            let is_there = match target.strip_suffix(".schema.json") {
                Some(document) => SCHEMAS.contains_key(document),
                None => schema.pointer(target.trim_start_matches('#')).is_some(),
            };
            assert!(is_there, "{name} refers to {target}");
        }
    }
}

#[test]
fn the_command_writes_them() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("protocol-schemas");
    let _ = fs::remove_dir_all(&folder);
    let status = Command::new(example("protocol_schemas"))
        .arg(&folder)
        .status();
    assert!(status.expect("examples are built with the tests").success());
    for document in documents() {
        let written = fs::read_to_string(folder.join(document.file_name())).unwrap();
        assert_eq!(written, document.text());
    }
}

/// Cargo puts examples beside the folder that it puts tests in.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples").join(name)
}
