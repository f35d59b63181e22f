//! The schemas accept everything that broker and adapters write with the SDK.

use std::time::{Duration, SystemTime};

use odb_adapter_sdk::parameters::NoParameters;
use odb_adapter_sdk::protocol::{
    AdapterInput, Binding, BindingMetadata, DashboardUrl, PlanSchemas, Subcommand,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::document::{errors_of_call, errors_throughout, is_read};
use super::generated;
use crate::service::Parameters;

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    }
}

fn assert_call(subcommand: Subcommand, input: &AdapterInput) {
    let document: Value = serde_json::from_str(&input.to_json()).unwrap();
    assert_eq!(errors_throughout("input", &document), [""; 0], "{document}");
    assert_eq!(errors_of_call(subcommand, &document), [""; 0], "{document}");
    assert!(
        AdapterInput::read(&input.to_json(), subcommand).is_ok(),
        "{document}"
    );
}

fn assert_answer(name: &str, answer: &impl Serialize) {
    let document = serde_json::to_value(answer).unwrap();
    assert_eq!(errors_throughout(name, &document), [""; 0], "{document}");
    assert!(is_read(name, &document), "{document}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_call_of_generate_manifest_is_accepted(call in generated::generate_manifest()) {
        assert_call(Subcommand::GenerateManifest, &AdapterInput::generate_manifest(&call));
    }

    #[test]
    fn every_call_for_a_binding_is_accepted(call in generated::create_binding()) {
        assert_call(Subcommand::CreateBinding, &AdapterInput::create_binding(&call));
        assert_call(Subcommand::DeleteBinding, &AdapterInput::delete_binding(&call));
    }

    #[test]
    fn every_call_of_dashboard_url_is_accepted(call in generated::dashboard_url()) {
        assert_call(Subcommand::DashboardUrl, &AdapterInput::dashboard_url(&call));
    }

    #[test]
    fn every_call_of_generate_plan_schemas_is_accepted(call in generated::plan_schemas()) {
        assert_call(Subcommand::GeneratePlanSchemas, &AdapterInput::generate_plan_schemas(&call));
    }

    #[test]
    fn every_manifest_is_accepted(manifest in generated::manifest()) {
        assert_answer("manifest", &manifest);
    }

    #[test]
    fn every_generated_manifest_is_accepted(answer in generated::generated_manifest()) {
        assert_answer("generated-manifest", &answer);
    }

    #[test]
    fn every_binding_is_accepted(answer in generated::binding()) {
        assert_answer("binding", &answer);
    }
}

#[test]
fn answers_of_one_shape_are_accepted() {
    assert_answer("dashboard-url", &DashboardUrl::new("https://example.com"));
    assert_answer("plan-schemas", &PlanSchemas::of_parameters::<Parameters>());
    assert_answer(
        "plan-schemas",
        &PlanSchemas::of::<NoParameters, NoParameters, Parameters>(),
    );
    assert_answer("binding", &Binding::backup_agent("https://example.com"));
    let end = SystemTime::UNIX_EPOCH + Duration::from_hours(600_000);
    let metadata = BindingMetadata::expires_at(end).unwrap();
    assert_answer("binding", &Binding::default().with_metadata(&metadata));
}
