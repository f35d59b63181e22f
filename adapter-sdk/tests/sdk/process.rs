//! An adapter as a process of its own.

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::json;

#[test]
fn stdout_is_kept_for_the_answer() {
    let output = chatty("{}");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        r#"{"manifest":"name: chatty\n","secrets":null,"configs":null}"#
    );
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        "[odb-sdk] handling generate-manifest\na library says hello\n"
    );
}

#[test]
fn a_panic_is_reported_with_its_location_and_without_its_message() {
    let output = chatty(r#"{"parameters":{"panic":"hunter2"}}"#);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("[odb-sdk] panic at ") && stderr.contains("chatty.rs"),
        "{stderr}"
    );
    assert!(!stderr.contains("hunter2"), "{stderr}");
}

#[test]
fn the_version_is_that_of_the_package_of_the_adapter() {
    let output = Command::new(example("chatty"))
        .arg("--version")
        .output()
        .expect("examples are built with the tests");
    let expected = concat!("odb-adapter-sdk ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

fn chatty(request_parameters: &str) -> Output {
    let input = json!({"generate_manifest": {
        "service_deployment": r#"{"deployment_name":"a","releases":[],"stemcells":[]}"#,
        "plan": r#"{"instance_groups":[]}"#,
        "request_parameters": request_parameters,
    }});
    let mut child = Command::new(example("chatty"))
        .arg("generate-manifest")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("examples are built with the tests");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.to_string().as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// Cargo puts examples beside the folder that it puts tests in.
fn example(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples").join(name)
}
