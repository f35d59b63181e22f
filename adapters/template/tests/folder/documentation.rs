use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::harness::{Folder, binding, block, create, pending_changes, plan};

#[test]
fn the_documented_folder_makes_the_documented_manifest() {
    let made = Folder::example().make(&create(&plan(), &json!({"max_messages": 50})));
    let secrets = made.answer["secrets"].as_object().unwrap();
    let (name, value) = secrets.iter().next().unwrap();
    assert_eq!((secrets.len(), value.as_str().unwrap().len()), (1, 32));
    let documented = block("manifest").replace("admin_password_0a1b2c", name);
    assert_eq!(made.manifest, yaml::from_str::<Value>(&documented).unwrap());
    assert_eq!(made.answer["labels"], json!({"version": "1.10"}));
    assert_eq!(made.answer["configs"], Value::Null);
}

#[test]
fn the_documented_folder_keeps_what_was_chosen() {
    let folder = Folder::example();
    let made = folder.make(&create(
        &plan(),
        &json!({"max_messages": 50, "region": "there"}),
    ));
    let again = folder.make(&pending_changes(&plan(), &made.deployed(), &made.stored()));
    assert_eq!(again.text, made.deployed());
    assert_eq!(again.answer["secrets"], json!({}));
}

#[test]
fn the_documented_folder_binds() {
    let folder = Folder::example();
    let made = folder.make(&create(&plan(), &json!({})));
    let stored = made.stored();
    let password = stored.as_object().unwrap().values().next().unwrap();
    let vms = json!({"queue": ["10.0.0.7"]});
    let run = folder.run("create-binding", &binding(&made.deployed(), &vms, &stored));
    assert_eq!(run.code, 0, "{run:?}");
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let url = format!("queue://admin:{}@10.0.0.7:5600", password.as_str().unwrap());
    assert_eq!(
        answer,
        json!({"credentials": {"hosts": ["10.0.0.7"], "password": password, "url": url}})
    );
    let dashboard =
        json!({"instance_id": "a b", "plan": plan().to_string(), "manifest": made.deployed()});
    let run = folder.run("dashboard-url", &dashboard);
    assert_eq!(
        run.stdout,
        "{\"dashboard_url\":\"https://queues.example.com/queues/a%20b\"}\n"
    );
}

#[test]
fn the_documented_error_is_the_one_that_is_reported() {
    let folder = Folder::example();
    folder.replace(
        "manifest.yml.tera",
        "values.max_messages",
        "values.max_mesages",
    );
    let run = folder.refused(&create(&plan(), &json!({})));
    assert!(run.stderr.contains(block("error").trim()), "{}", run.stderr);
}
