//! The argument list of old brokers, as the broker writes it and an adapter reads it.

use odb_adapter_sdk::protocol::{
    AdapterArguments, BoshVms, Call, CreateBinding, DeleteBinding, GenerateDashboardUrl,
    GenerateManifest, GeneratePlanSchemas, ManifestText, Plan, PlanInstanceGroup,
    RequestParameters, Secrets, ServiceDeployment, Subcommand,
};

const PLAN: &str = r#"{"properties":{},"lifecycle_errands":{},"instance_groups":[{"name":"server","vm_type":"small","instances":1,"networks":["net"],"azs":["z1"]}]}"#;
const DEPLOYMENT: &str = r#"{"deployment_name":"service-instance_1","releases":[],"stemcells":[]}"#;
const PARAMETERS: &str = r#"{"parameters":  {"big": 9007199254740993, "one": 1.0}}"#;

#[test]
fn a_create_has_no_previous_manifest_and_null_for_the_previous_plan() {
    let call = GenerateManifest::new(deployment(), plan(), parameters());

    let arguments = AdapterArguments::generate_manifest(&call);

    let expected = [DEPLOYMENT, PLAN, PARAMETERS, "", "null"];
    assert_eq!(arguments.as_slice(), expected);
}

#[test]
fn an_update_gets_the_deployed_manifest_without_secrets() {
    let mut call = GenerateManifest::new(deployment(), plan(), parameters());
    call.previous_plan = Some(plan());
    call.previous_manifest = Some("name: a # as deployed\n".into());
    call.previous_secrets = Some(Secrets::from_iter([("((password))", "hunter2")]));

    let arguments = AdapterArguments::generate_manifest(&call);

    let expected = [
        DEPLOYMENT,
        PLAN,
        PARAMETERS,
        "name: a # as deployed\n",
        PLAN,
    ];
    assert_eq!(arguments.as_slice(), expected);
}

#[test]
fn bindings_are_made_and_removed_with_the_same_arguments() {
    let vms: BoshVms = [("server".to_owned(), vec!["10.0.0.1".to_owned()])].into();
    let create = CreateBinding::new("b-1", vms.clone(), "name: a\n".into(), parameters());
    let delete = DeleteBinding::new("b-1", vms, "name: a\n".into(), parameters());

    let expected = ["b-1", r#"{"server":["10.0.0.1"]}"#, "name: a\n", PARAMETERS];
    assert_eq!(
        AdapterArguments::create_binding(&create).as_slice(),
        expected
    );
    assert_eq!(
        AdapterArguments::delete_binding(&delete).as_slice(),
        expected
    );
}

#[test]
fn a_dashboard_is_asked_for_by_location_and_schemas_by_flag() {
    let dashboard = GenerateDashboardUrl::new("1", plan(), "name: a\n".into());
    let schemas = GeneratePlanSchemas::new(plan());

    assert_eq!(
        AdapterArguments::dashboard_url(&dashboard).as_slice(),
        ["1", PLAN, "name: a\n"]
    );
    assert_eq!(
        AdapterArguments::generate_plan_schemas(&schemas).as_slice(),
        ["--plan-json", PLAN]
    );
}

#[test]
fn what_the_broker_writes_the_adapter_reads() {
    let mut call = GenerateManifest::new(deployment(), plan(), parameters());
    call.previous_plan = Some(plan());
    call.previous_manifest = Some("name: a\n".into());
    let arguments = AdapterArguments::generate_manifest(&call);

    let read = Call::from_arguments(Subcommand::GenerateManifest, arguments.as_slice());

    let Ok(Call::GenerateManifest(read)) = read else {
        panic!("{read:?}");
    };
    assert_eq!(
        read.service_deployment.deployment_name,
        "service-instance_1"
    );
    assert_eq!(read.plan, plan());
    assert_eq!(read.request_parameters.as_json(), PARAMETERS);
    assert_eq!(read.previous_plan, Some(plan()));
    let previous = read.previous_manifest.as_ref().map(ManifestText::as_str);
    assert_eq!(previous, Some("name: a\n"));

    let schemas = AdapterArguments::generate_plan_schemas(&GeneratePlanSchemas::new(plan()));
    let read = Call::from_arguments(Subcommand::GeneratePlanSchemas, schemas.as_slice());
    assert!(
        matches!(&read, Ok(Call::GeneratePlanSchemas(read)) if read.plan == plan()),
        "{read:?}"
    );
}

#[test]
fn formatting_shows_none_of_them() {
    let dashboard = GenerateDashboardUrl::new("1", plan(), "password: hunter2\n".into());
    let formatted = format!("{:?}", AdapterArguments::dashboard_url(&dashboard));
    assert!(!formatted.contains("hunter2"), "{formatted}");
}

fn plan() -> Plan {
    let list = |name: &str| vec![name.to_owned()];
    let group = PlanInstanceGroup::new("server", "small", 1, list("net"), list("z1"));
    Plan::new(vec![group])
}

fn deployment() -> ServiceDeployment {
    ServiceDeployment::new("service-instance_1", Vec::new(), Vec::new())
}

fn parameters() -> RequestParameters {
    RequestParameters::from_json(PARAMETERS).unwrap()
}
