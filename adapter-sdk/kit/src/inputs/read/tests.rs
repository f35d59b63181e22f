use super::*;

const DEPLOYMENT: &str = "service_deployment: {releases: [], stemcells: []}\n";
const CATALOG: &str = "service_catalog:\n  plans:\n  - name: small\n    instance_groups: ";

fn inputs_of_broker(groups: &str) -> anyhow::Result<Inputs> {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("broker.yml");
    fs::write(&config, format!("{DEPLOYMENT}{CATALOG}{groups}\n")).unwrap();
    let sources = Sources {
        broker_config: Some(config),
        ..Sources::default()
    };
    Inputs::of(&folder.path().join("adapter"), &sources)
}

/// YAML 1.1 reads `n` and `on` as booleans, and `1.10` as a number, unless a text is expected.
#[test]
fn names_that_look_like_something_else_are_texts_as_they_are_for_brokers() {
    let group = "{name: y, vm_type: 1.10, instances: 1, networks: [n], azs: [on]}";
    let inputs = inputs_of_broker(&format!("[{group}]")).unwrap();
    let group = &json!(inputs.first_plan().plan)["instance_groups"][0];
    assert_eq!(group["networks"], json!(["n"]));
    assert_eq!(group["azs"], json!(["on"]));
    assert_eq!(group["name"], "y");
    assert_eq!(group["vm_type"], "1.10");
}

#[test]
fn a_plan_of_a_file_is_read_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.yml");
    let group = "{name: a, vm_type: b, instances: 1, networks: [n], azs: [z1], x: 1}";
    fs::write(&path, format!("instance_groups: [{group}]\ny: 2\n")).unwrap();
    let plan = plan_of_file(&path).unwrap();
    let group = &json!(plan.plan)["instance_groups"][0];
    assert_eq!(plan.name, "small");
    assert_eq!(group["networks"], json!(["n"]));
    assert_eq!(group["x"], 1);
}

#[test]
fn what_is_wrong_with_a_plan_is_reported_with_its_location() {
    let group = "{name: a, vm_type: b, instances: many, networks: [c], azs: [d]}";
    let error = inputs_of_broker(&format!("[{group}]")).unwrap_err();
    let location = "service_catalog.plans[0].instance_groups[0].instances";
    assert!(error.to_string().contains(location), "{error}");

    let document = json!({"instance_groups": [{"name": ["a"]}]});
    let error = NamedPlan::of_document("small".to_owned(), &document).unwrap_err();
    assert!(
        error.to_string().ends_with("at `instance_groups[0].name`"),
        "{error}"
    );
}
