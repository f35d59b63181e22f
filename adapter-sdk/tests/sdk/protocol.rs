//! The wire between broker and adapter, byte by byte where the Go programs are on the other end.

use odb_adapter_sdk::protocol::{
    AdapterInput, Binding, BoshVms, Call, CreateBinding, DeleteBinding, ExitCode,
    GenerateDashboardUrl, GenerateManifest, GeneratePlanSchemas, GeneratedManifest,
    LifecycleErrand, LifecycleErrands, ManifestText, MaxInFlight, Plan, PlanInstanceGroup,
    PlanSchemas, PlanUpdate, RequestParameters, Secrets, ServiceDeployment, ServiceRelease,
    Stemcell, Subcommand, UaaClient,
};
use serde_json::{Value, json};

#[test]
fn a_create_is_reported_in_five_sections_of_strings() {
    let call = GenerateManifest::new(service_deployment(), plan(), RequestParameters::default());
    assert_eq!(
        written(&AdapterInput::generate_manifest(&call)),
        json!({
            "generate_manifest": {
                "service_deployment": r#"{"deployment_name":"service-instance_1","releases":[{"name":"r","version":"1.2","jobs":["a"]}],"stemcells":[{"stemcell_os":"ubuntu-jammy","stemcell_version":"1.651"}]}"#,
                "plan": PLAN,
                "previous_plan": "null",
                "previous_manifest": "",
                "request_parameters": "{}",
                "previous_secrets": "null",
                "previous_configs": "null",
                "uaa_client": "null",
            },
            "dashboard_url": {"instance_id": "", "plan": "", "manifest": ""},
            "create_binding": {
                "binding_id": "", "bosh_vms": "", "manifest": "", "request_parameters": "", "secrets": "",
                "dns_addresses": "",
            },
            "delete_binding": {
                "binding_id": "", "bosh_vms": "", "manifest": "", "request_parameters": "", "secrets": "",
                "dns_addresses": "",
            },
            "generate_plan_schemas": {"plan": ""},
        })
    );
}

#[test]
fn an_update_gets_the_previous_manifest() {
    let mut call = GenerateManifest::new(
        service_deployment(),
        plan(),
        RequestParameters::from_json(r#"{"parameters":  {"big": 123456789012345678901234567890}}"#)
            .unwrap(),
    );
    call.previous_plan = Some(plan());
    call.previous_manifest = Some("name: a # as deployed\n".into());
    call.previous_secrets = Some(Secrets::from_iter([("((password))", "p")]));
    call.previous_configs = Some([("cloud".to_owned(), "{}".to_owned())].into());
    let mut client = UaaClient::new("1");
    client.client_secret = "s".into();
    call.uaa_client = Some(client);
    let section = &written(&AdapterInput::generate_manifest(&call))["generate_manifest"];
    assert_eq!(section["previous_plan"], PLAN);
    assert_eq!(section["previous_manifest"], "name: a # as deployed\n");
    assert_eq!(section["previous_secrets"], r#"{"((password))":"p"}"#);
    assert_eq!(section["previous_configs"], r#"{"cloud":"{}"}"#);
    assert_eq!(
        section["request_parameters"],
        r#"{"parameters":  {"big": 123456789012345678901234567890}}"#
    );
    let client: Value = serde_json::from_str(section["uaa_client"].as_str().unwrap()).unwrap();
    assert_eq!(
        client,
        json!({
            "client_id": "1", "client_secret": "s", "name": "", "scopes": "", "resource_ids": "", "authorities": "",
            "authorized_grant_types": "",
        })
    );
}

#[test]
fn a_binding_without_secrets_and_addresses_says_so() {
    let vms: BoshVms = [("server".to_owned(), vec!["10.0.0.1".to_owned()])].into();
    let parameters = || RequestParameters::from_json(r#"{"app_guid":""}"#).unwrap();
    let create = CreateBinding::new("b-1", vms.clone(), "name: a\n".into(), parameters());
    let delete = DeleteBinding::new("b-1", vms, "name: a\n".into(), parameters());
    let section = json!({
        "binding_id": "b-1", "bosh_vms": r#"{"server":["10.0.0.1"]}"#, "manifest": "name: a\n",
        "request_parameters": r#"{"app_guid":""}"#, "secrets": "null", "dns_addresses": "{}",
    });
    assert_eq!(
        written(&AdapterInput::create_binding(&create))["create_binding"],
        section
    );
    assert_eq!(
        written(&AdapterInput::delete_binding(&delete))["delete_binding"],
        section
    );
}

#[test]
fn a_dashboard_and_schemas_are_asked_for_with_the_plan() {
    let dashboard = GenerateDashboardUrl::new("1", plan(), "name: a\n".into());
    assert_eq!(
        written(&AdapterInput::dashboard_url(&dashboard))["dashboard_url"],
        json!({"instance_id": "1", "plan": PLAN, "manifest": "name: a\n"})
    );
    let schemas = GeneratePlanSchemas::new(plan());
    assert_eq!(
        written(&AdapterInput::generate_plan_schemas(&schemas))["generate_plan_schemas"],
        json!({"plan": PLAN})
    );
}

#[test]
fn what_one_side_writes_the_other_reads() {
    let mut call =
        GenerateManifest::new(service_deployment(), plan(), RequestParameters::default());
    call.previous_plan = Some(plan());
    call.previous_manifest = Some("name: a\n".into());
    call.previous_secrets = Some(Secrets::default());
    let input = AdapterInput::generate_manifest(&call);
    let Ok(Call::GenerateManifest(read)) =
        AdapterInput::read(&input.to_json(), Subcommand::GenerateManifest)
    else {
        panic!("not read");
    };
    assert_eq!(
        AdapterInput::generate_manifest(&read).to_json(),
        input.to_json()
    );
}

#[test]
fn the_one_section_suffices_and_unknown_keys_are_passed_over() {
    let document = json!({
        "generate_manifest": {
            "service_deployment": r#"{"deployment_name":"a","releases":[],"stemcells":[],"new":1}"#,
            "plan": r#"{"instance_groups":[],"new":1}"#,
            "new": "x",
        },
        "new": {},
    });
    let Ok(Call::GenerateManifest(call)) =
        AdapterInput::read(&document.to_string(), Subcommand::GenerateManifest)
    else {
        panic!("not read");
    };
    assert_eq!(call.service_deployment.deployment_name, "a");
    assert!(
        call.previous_plan.is_none()
            && call.previous_manifest.is_none()
            && call.previous_secrets.is_none()
    );
    assert_eq!(call.request_parameters.as_json(), "{}");
}

#[test]
fn errors_of_the_input_are_named_by_their_path() {
    let cases = [
        (json!([]), "the input is not a JSON object"),
        (
            json!({"generate_manifest": "x"}),
            "`generate_manifest` must be an object",
        ),
        (
            json!({}),
            "`generate_manifest.service_deployment` is missing",
        ),
        (
            json!({"generate_manifest": {"service_deployment": {}}}),
            "`generate_manifest.service_deployment` must be a string",
        ),
        (
            json!({"generate_manifest": {"service_deployment": "{"}}),
            "`generate_manifest.service_deployment` cannot be read",
        ),
        (
            json!({"generate_manifest": {"service_deployment": r#"{"releases":[]}"#}}),
            "`generate_manifest.service_deployment` is not valid: `deployment_name` must not be empty, `stemcells` is required",
        ),
        (
            with("plan", "null"),
            "`generate_manifest.plan` is not valid: `plan` must be an object",
        ),
        (
            with(
                "plan",
                r#"{"instance_groups":[{"name":"a","instances":0,"azs":[]}],"update":{"canaries":1}}"#,
            ),
            "`generate_manifest.plan` is not valid: `instance_groups[0].vm_type` must not be empty, \
             `instance_groups[0].instances` must be an integer of at least 1, \
             `instance_groups[0].networks` is required, `instance_groups[0].azs` must not be empty, \
             `update.max_in_flight` must be an integer or a percentage",
        ),
        (
            with(
                "plan",
                r#"{"instance_groups":[{"name":"a","vm_type":"b","instances":4294967296,"networks":[],"azs":["z"]}],"update":{"max_in_flight":4294967296}}"#,
            ),
            "`generate_manifest.plan` is not valid: `instance_groups[0].instances` must be at most 4294967295, \
             `update.max_in_flight` must be at most 4294967295",
        ),
        (
            with("plan", r#"{"instance_groups":null}"#),
            "`generate_manifest.plan` is not valid: `instance_groups` is required",
        ),
        (
            with("previous_plan", "{}"),
            "`generate_manifest.previous_plan` is not valid: `instance_groups` is required",
        ),
        (
            with("request_parameters", "[]"),
            "`generate_manifest.request_parameters` is not valid: the request parameters must be a JSON object",
        ),
        (
            with("previous_secrets", r#"{"a":{"b":"hunter2"}}"#),
            "`generate_manifest.previous_secrets` cannot be read: invalid type: map, expected a string",
        ),
    ];
    for (document, expected) in cases {
        let error =
            AdapterInput::read(&document.to_string(), Subcommand::GenerateManifest).unwrap_err();
        let message = chain(&error);
        assert!(message.starts_with(expected), "{message}\n{expected}");
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn max_in_flight_may_be_a_percentage() {
    for (json, holds) in [
        ("2", true),
        (r#""25%""#, true),
        (r#""about 25% or so""#, true),
        (r#""25""#, false),
        ("0.5", false),
        ("4.0", false),
        ("true", false),
        ("null", false),
    ] {
        let plan = format!(r#"{{"instance_groups":[],"update":{{"max_in_flight":{json}}}}}"#);
        let read = AdapterInput::read(
            &with("plan", &plan).to_string(),
            Subcommand::GenerateManifest,
        );
        assert_eq!(read.is_ok(), holds, "{json}: {read:?}");
        if let Ok(Call::GenerateManifest(call)) = read {
            assert_eq!(
                serde_json::to_string(&call.plan.update.unwrap().max_in_flight).unwrap(),
                json
            );
        }
    }
}

#[test]
fn request_parameters_of_any_shape_are_answered_for() {
    let parameters = RequestParameters::from_json(
        r#"{"parameters":[1],"context":{"platform":7},"bind_resource":"x","app_guid":""}"#,
    )
    .unwrap();
    assert!(parameters.arbitrary().is_empty() && parameters.bind_resource().is_empty());
    assert_eq!((parameters.platform(), parameters.app_guid()), (None, None));
    let null = RequestParameters::from_json("null").unwrap();
    assert_eq!((null.as_json(), null.fields().len()), ("null", 0));
    let usual = RequestParameters::from_json(
        r#"{"parameters":{"a":1},"context":{"platform":"cloudfoundry"},"bind_resource":{"app_guid":"g"}}"#,
    )
    .unwrap();
    assert_eq!(usual.arbitrary()["a"], 1);
    assert_eq!(
        (usual.platform(), usual.app_guid()),
        (Some("cloudfoundry"), Some("g"))
    );
}

#[test]
fn one_field_of_a_request_is_kept_to_the_letter() {
    let request = RequestParameters::from_json(
        r#"{"context": {"a":  1e3, "b": 123456789012345678901234567890}, "parameters": {}}"#,
    )
    .unwrap();
    let context = request.only("context");
    assert_eq!(
        context.as_json(),
        r#"{"context":{"a":  1e3, "b": 123456789012345678901234567890}}"#
    );
    assert_eq!(context.fields().len(), 1);
    assert_eq!(context.context()["a"], 1000.0);
    assert_eq!(
        RequestParameters::default().only("context").as_json(),
        r#"{"context":null}"#
    );
}

#[test]
fn a_manifest_is_answered_with_secrets_and_configs_even_if_there_are_none() {
    let answer = GeneratedManifest::from_text(ManifestText::from("name: a\n"));
    assert_eq!(
        serde_json::to_string(&answer).unwrap(),
        r#"{"manifest":"name: a\n","secrets":null,"configs":null}"#
    );
    let answer: GeneratedManifest = serde_json::from_str(
        r#"{"manifest":"a","secrets":{"tls":{"ca":"x"}},"configs":{"cloud":"c"},"labels":{"version":"1"},"new":1}"#,
    )
    .unwrap();
    assert_eq!(answer.secrets.unwrap()["tls"]["ca"], "x");
    assert_eq!(answer.configs.unwrap()["cloud"], "c");
    assert_eq!(answer.labels["version"], "1");
}

#[test]
fn a_binding_is_answered_with_credentials_and_the_addresses_there_are() {
    assert_eq!(
        serde_json::to_string(&Binding::default()).unwrap(),
        r#"{"credentials":null}"#
    );
    let binding: Binding = serde_json::from_str(
        r#"{"credentials":{"a":1},"syslog_drain_url":"","backup_agent_url":"u"}"#,
    )
    .unwrap();
    assert_eq!(
        (
            binding.syslog_drain_url,
            binding.backup_agent_url.as_deref()
        ),
        (None, Some("u"))
    );
}

#[test]
fn credentials_are_passed_on_to_the_letter() {
    let printed =
        r#"{"credentials":{"id": 123456789012345678901234567890,  "share": 1.0, "none": []}}"#;
    let binding: Binding = serde_json::from_str(printed).unwrap();
    assert_eq!(serde_json::to_string(&binding).unwrap(), printed);
}

#[test]
fn what_a_binding_brings_beside_credentials_is_handed_on_as_it_is() {
    let text = r#"{"credentials":null,"endpoints":[{"host":"a","ports":["1-2"]}],"volume_mounts":[],"metadata":{"expires_at":"2030-01-01T00:00:00.0Z"}}"#;

    let binding: Binding = serde_json::from_str(text).unwrap();

    assert_eq!(serde_json::to_string(&binding).unwrap(), text);
}

#[test]
fn schemas_that_an_adapter_leaves_out_are_null() {
    let schemas: PlanSchemas =
        serde_json::from_str(r#"{"service_instance":{"create":{"parameters":{"type":"object"}}}}"#)
            .unwrap();
    assert_eq!(
        serde_json::to_value(schemas).unwrap(),
        json!({
            "service_instance": {"create": {"parameters": {"type": "object"}}, "update": {"parameters": null}},
            "service_binding": {"create": {"parameters": null}},
        })
    );
}

#[test]
fn exit_codes_are_those_of_the_protocol() {
    for code in [0, 1, 2, 10, 41, 42, 49, 137] {
        assert_eq!(ExitCode::from(code).code(), code);
    }
    assert_eq!(ExitCode::from(49), ExitCode::BindingExists);
    assert_eq!(ExitCode::from(2), ExitCode::Other(2));
}

#[test]
fn formatting_shows_no_secrets() {
    let mut client = UaaClient::new("1");
    client.client_secret = "hunter2".into();
    let mut plan = plan();
    plan.properties
        .insert("password".to_owned(), "hunter2".into());
    let parameters = RequestParameters::from_json(r#"{"parameters":{"p":"hunter2"}}"#).unwrap();
    let mut call = GenerateManifest::new(service_deployment(), plan, parameters);
    call.previous_manifest = Some("hunter2".into());
    call.previous_secrets = Some(Secrets::from_iter([("((a))", "hunter2")]));
    call.uaa_client = Some(client);
    let mut answer = GeneratedManifest::from_text("hunter2".into());
    answer.secrets = Some([("a".to_owned(), "hunter2".into())].into_iter().collect());
    let binding = Binding::with_credentials("hunter2");
    let input = AdapterInput::generate_manifest(&call);
    let shown = format!("{call:?} {answer:?} {binding:?} {input:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

const PLAN: &str = r#"{"properties":{"persistence":true},"lifecycle_errands":{},"instance_groups":[{"name":"server","vm_type":"small","instances":1,"networks":["net"],"azs":["z1"]}]}"#;

#[test]
fn a_plan_leaves_out_what_is_empty_and_reports_everything_else() {
    assert_eq!(serde_json::to_string(&plan()).unwrap(), PLAN);
    let mut full = plan();
    full.lifecycle_errands = LifecycleErrands::new(
        vec![LifecycleErrand::colocated(
            "health-check",
            vec!["server/0".to_owned()],
        )],
        vec![LifecycleErrand::new("cleanup")],
    );
    let mut update = PlanUpdate::new(MaxInFlight::Count(2));
    update.serial = Some(true);
    full.update = Some(update);
    assert_eq!(
        serde_json::to_value(&full).unwrap(),
        json!({
            "properties": {"persistence": true},
            "lifecycle_errands": {
                "post_deploy": [{"name": "health-check", "instances": ["server/0"]}],
                "pre_delete": [{"name": "cleanup"}],
            },
            "instance_groups": [
                {"name": "server", "vm_type": "small", "instances": 1, "networks": ["net"], "azs": ["z1"]},
            ],
            "update": {
                "canaries": 0, "canary_watch_time": "", "update_watch_time": "", "max_in_flight": 2, "serial": true,
            },
        })
    );
}

fn plan() -> Plan {
    let group = PlanInstanceGroup::new(
        "server",
        "small",
        1,
        vec!["net".to_owned()],
        vec!["z1".to_owned()],
    );
    let mut plan = Plan::new(vec![group]);
    plan.properties
        .insert("persistence".to_owned(), true.into());
    plan
}

fn service_deployment() -> ServiceDeployment {
    ServiceDeployment::new(
        "service-instance_1",
        vec![ServiceRelease::new("r", "1.2", vec!["a".to_owned()])],
        vec![Stemcell::new("ubuntu-jammy", "1.651")],
    )
}

fn written(input: &AdapterInput) -> Value {
    let json = input.to_json();
    assert!(json.ends_with("}\n"));
    serde_json::from_str(&json).unwrap()
}

/// A create with one part replaced.
fn with(key: &str, text: &str) -> Value {
    let mut document = json!({
        "generate_manifest": {
            "service_deployment": r#"{"deployment_name":"a","releases":[],"stemcells":[]}"#,
            "plan": r#"{"instance_groups":[]}"#,
        },
    });
    document["generate_manifest"][key] = text.into();
    document
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}
