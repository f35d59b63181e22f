use serde_json::json;

use crate::harness::{Folder, create, pending_changes, plan, service_deployment, update, upgrade};

#[test]
fn a_value_is_the_first_of_parameter_previous_manifest_plan_and_default() {
    let folder = Folder::example();
    let mut with_property = plan();
    with_property["properties"] = json!({"max_messages": 200});
    let of = |made: &crate::harness::Made| made.properties()["queue"]["max_messages"].clone();

    let made = folder.make(&create(&plan(), &json!({})));
    assert_eq!(of(&made), 1000);
    let made = folder.make(&create(&with_property, &json!({})));
    assert_eq!(of(&made), 200);
    let chosen = folder.make(&create(&with_property, &json!({"max_messages": 50})));
    assert_eq!(of(&chosen), 50);

    let deployed = chosen.deployed();
    let stored = chosen.stored();
    for input in [
        pending_changes(&with_property, &deployed, &stored),
        upgrade(&with_property, &deployed),
        update(&with_property, &deployed, &stored, &json!({})),
    ] {
        assert_eq!(folder.make(&input).text, deployed);
    }
    let input = update(
        &with_property,
        &deployed,
        &stored,
        &json!({"max_messages": 60}),
    );
    let updated = folder.make(&input);
    assert_eq!(
        updated.text,
        deployed.replace("max_messages: 50", "max_messages: 60")
    );
}

#[test]
fn a_value_that_may_not_change_is_refused_by_name_unless_it_is_the_same() {
    let folder = Folder::example();
    let made = folder.make(&create(&plan(), &json!({"region": "there"})));
    let input = |region: &str| {
        update(
            &plan(),
            &made.deployed(),
            &made.stored(),
            &json!({ "region": region }),
        )
    };
    assert_eq!(folder.make(&input("there")).text, made.deployed());
    let run = folder.refused(&input("here"));
    assert_eq!(
        run.stdout,
        "parameter `region` cannot be changed once the service instance is created"
    );
}

#[test]
fn an_instance_does_not_move_to_a_lower_release() {
    let folder = Folder::example();
    let made = folder.make(&create(&plan(), &json!({})));
    let mut input = upgrade(&plan(), &made.deployed());
    let mut older = service_deployment();
    older["releases"][0]["version"] = "1.9".into();
    input["service_deployment"] = older.to_string().into();
    let run = folder.refused(&input);
    assert!(
        run.stderr
            .contains("release `queue` has version `1.9`, which is lower than `1.10`"),
        "{}",
        run.stderr
    );
}
