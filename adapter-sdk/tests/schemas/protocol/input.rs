//! The complete input: the sections and members that each subcommand needs.

use odb_adapter_sdk::protocol::{AdapterInput, Subcommand};
use serde_json::{Value, json};

use super::document::{errors, errors_of_call};

fn filled(subcommand: Subcommand) -> Value {
    let plan = r#"{"instance_groups":[]}"#;
    match subcommand {
        Subcommand::GenerateManifest => json!({"generate_manifest": {
            "service_deployment": r#"{"deployment_name":"d","releases":[],"stemcells":[]}"#, "plan": plan,
            "previous_plan": "null", "previous_manifest": "", "request_parameters": "{}", "previous_secrets": "null",
            "previous_configs": "null", "uaa_client": "null",
        }}),
        Subcommand::DashboardUrl => {
            json!({"dashboard_url": {"instance_id": "1", "plan": plan, "manifest": "name: d"}})
        }
        Subcommand::CreateBinding | Subcommand::DeleteBinding => {
            let section = subcommand.name().replace('-', "_");
            json!({section: {
                "binding_id": "b", "bosh_vms": "{}", "manifest": "name: d", "request_parameters": "{}", "secrets": "null",
                "dns_addresses": "{}",
            }})
        }
        Subcommand::GeneratePlanSchemas => json!({"generate_plan_schemas": {"plan": plan}}),
    }
}

#[test]
fn one_section_is_enough_and_it_must_be_that_of_the_subcommand() {
    for &subcommand in Subcommand::ALL {
        let document = filled(subcommand);
        assert_eq!(errors("input", &document), [""; 0]);
        assert_eq!(errors_of_call(subcommand, &document), [""; 0]);
        assert!(AdapterInput::read(&document.to_string(), subcommand).is_ok());
        for &other in Subcommand::ALL.iter().filter(|&&other| other != subcommand) {
            assert!(
                !errors_of_call(other, &document).is_empty(),
                "{other:?} of {document}"
            );
        }
    }
}

#[test]
fn what_the_sdk_cannot_do_without_must_be_there() {
    for &subcommand in Subcommand::ALL {
        let document = filled(subcommand);
        let section = subcommand.name().replace('-', "_");
        let members: Vec<String> = document[&section]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for member in members {
            for absence in [None, Some(json!("")), Some(json!(null))] {
                let mut document = document.clone();
                let members = document[&section].as_object_mut().unwrap();
                match absence {
                    Some(value) => drop(members.insert(member.clone(), value)),
                    None => drop(members.shift_remove(&member)),
                }
                let is_accepted = errors_of_call(subcommand, &document).is_empty();
                let is_read = AdapterInput::read(&document.to_string(), subcommand).is_ok();
                assert!(is_read || !is_accepted, "{section}.{member} in {document}");
            }
        }
    }
}

#[test]
fn members_are_texts_and_sections_are_objects() {
    for &subcommand in Subcommand::ALL {
        let section = subcommand.name().replace('-', "_");
        let document = filled(subcommand);
        let members: Vec<String> = document[&section]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for member in members {
            // The Go documentation shows `uaa_client` as an object; adapters made with its SDK refuse that.
            for wrong in [json!({}), json!(1), json!([]), json!(true)] {
                let mut document = document.clone();
                document[&section][&member] = wrong;
                assert!(!errors("input", &document).is_empty(), "{document}");
                assert!(
                    AdapterInput::read(&document.to_string(), subcommand).is_err(),
                    "{document}"
                );
            }
        }
        for wrong in [json!("{}"), json!([]), json!(1)] {
            let document = json!({section.as_str(): wrong});
            assert!(!errors("input", &document).is_empty(), "{document}");
            assert!(
                AdapterInput::read(&document.to_string(), subcommand).is_err(),
                "{document}"
            );
        }
    }
}

#[test]
fn keys_of_later_versions_pass_on_both_levels() {
    let mut document = filled(Subcommand::GeneratePlanSchemas);
    document["a_later_subcommand"] = json!({"new": 1});
    document["generate_plan_schemas"]["new"] = json!({"no": "text"});
    assert_eq!(
        errors_of_call(Subcommand::GeneratePlanSchemas, &document),
        [""; 0]
    );
    assert!(AdapterInput::read(&document.to_string(), Subcommand::GeneratePlanSchemas).is_ok());
}
