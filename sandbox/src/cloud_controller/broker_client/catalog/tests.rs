use serde_json::json;

use super::*;

fn errors(catalog: &Value) -> String {
    problems_beside(catalog, &[])
}

fn problems_beside(catalog: &Value, registered: &[RegisteredService]) -> String {
    Catalog::checked(catalog.as_object().unwrap(), "redis-broker", registered)
        .err()
        .map(|errors| errors.to_string())
        .unwrap_or_default()
}

fn with_plan(members: &Value) -> Value {
    let mut plan = json!({"id": "a", "name": "small", "description": "x"});
    for (key, value) in members.as_object().unwrap() {
        plan[key] = value.clone();
    }
    json!({"services": [{"id": "redis", "name": "p.redis", "description": "Redis", "bindable": true, "plans": [plan]}]})
}

fn schemas(parameters: &Value) -> Value {
    with_plan(&json!({"schemas": {"service_instance": {"create": {"parameters": parameters}}}}))
}

#[test]
fn every_finding_is_reported_at_once_by_service_and_plan() {
    let catalog = json!({"services": [{
        "id": 12345, "name": "service-1", "description": "x".repeat(10_001), "bindable": true,
        "bindings_retrievable": "not-a-bool", "allow_context_updates": "not-a-bool", "requires": ["root"],
        "plans": [{
            "id": "plan-1", "name": "small", "description": "x".repeat(10_001),
            "schemas": {"service_instance": {"create": {"parameters": {"properties": true}}}},
        }],
    }, {
        "id": "s2", "name": "service-2", "description": "x", "bindable": true, "dashboard_client": {"id": "client-1"},
        "plans": [
            {"id": "plan-b", "name": "small", "description": "x"},
            {"id": "plan-b", "name": "large"},
        ],
    }, {
        "id": "s2", "name": "service-2", "description": "x", "bindable": true,
        "dashboard_client": {"id": "client-1", "secret": "s", "redirect_uri": "http://x"},
    }]});

    insta::assert_snapshot!(errors(&catalog).replace(&"x".repeat(10_001), "xxx"), @r#"
    Service ids must be unique
    Service names must be unique within a broker
    Plan ids must be unique. Unable to register plan with id 'plan-b' (plan name 'large', service name 'service-2') because it uses the same id as another plan in the catalog (plan name 'small', service name 'service-2')
    Service dashboard_client id must be unique
    Service service-1
      Service id must be a string, but has value 12345
      Service description may not have more than 10000 characters
      Service "bindings_retrievable" field must be a boolean, but has value "not-a-bool"
      Service "allow_context_updates" field must be a boolean, but has value "not-a-bool"
      Service "requires" field contains unsupported value "root"
      Plan small
        Plan description may not have more than 10000 characters
        Schemas
          Schema service_instance.create.parameters is not valid. Must conform to JSON Schema Draft 04 (experimental support for later versions): The property '#/properties' is wrong: true is not of type "object" in schema http://json-schema.org/draft-04/schema#
    Service service-2
      Service dashboard client secret is required
      Service dashboard client redirect_uri is required
      Plan ids must be unique. Service service-2 already has a plan with id 'plan-b'
      Plan large
        Plan description is required
    Service service-2
      At least one plan is required
    "#);
}

#[test]
fn a_catalog_without_services_is_refused() {
    for catalog in [json!({"services": []}), json!({})] {
        assert_eq!(
            errors(&catalog),
            "Service broker must provide at least one service\n"
        );
    }
}

#[test]
fn members_must_be_of_their_type_and_fit() {
    let table = [
        (
            json!({"maintenance_info": {"version": "1", "public": {}, "private": {}}}),
            "    Maintenance info version must be a Semantic Version, but has value \"1\"\n    Maintenance info \
             contains invalid key(s): public, private\n",
        ),
        (
            json!({"maintenance_info": {"version": "1.0.0", "description": "x".repeat(1_967)}}),
            "    Maintenance info must serialize to 2000 characters or fewer in JSON, but serializes to 2003 \
             characters\n",
        ),
        (
            json!({"maximum_polling_duration": "60"}),
            "    Maximum polling duration must be an integer, but has value \"60\"\n",
        ),
        (
            json!({"schemas": true}),
            "    Plan schemas must be a hash, but has value true\n",
        ),
        (
            json!({"schemas": {"service_instance": {"create": true}}}),
            "    Schemas\n      Schemas service_instance.create must be a hash, but has value true\n",
        ),
        (
            json!({"free": null, "schemas": {"service_binding": {"create": null}}}),
            "",
        ),
    ];
    for (members, expected) in table {
        let reported = errors(&with_plan(&members));
        assert_eq!(
            reported
                .strip_prefix("Service p.redis\n  Plan small\n")
                .unwrap_or(&reported),
            expected,
            "{members}"
        );
    }
}

#[test]
fn schemas_refer_to_themselves_only_and_are_not_too_long() {
    let draft = "http://json-schema.org/draft-04/schema#";
    let table = [
        (json!({"$schema": draft, "$ref": "#/definitions/a"}), ""),
        (
            json!({"$schema": "http://example.com/schema"}),
            "Custom meta schemas are not supported.",
        ),
        (
            json!({"properties": {"x": {"$ref": "http://example.com/ref"}}}),
            "No external references are allowed: Read of URI at http://example.com/ref refused",
        ),
        (
            json!({"$ref": "path/to/schema.json"}),
            "No external references are allowed: Read of file at path/to/schema.json refused",
        ),
        (
            json!({"description": "x".repeat(65_536)}),
            "Must not be larger than 64KB",
        ),
    ];
    for (schema, expected) in table {
        let reported = errors(&schemas(&schema));
        let reported = reported.rsplit("is not valid. ").next().unwrap().trim_end();
        assert_eq!(reported, expected);
    }
}

#[test]
fn what_is_registered_keeps_its_names_and_ids() {
    let there = |in_use| RegisteredService {
        id: "old".into(),
        name: "p.redis".into(),
        in_use,
        plans: vec![("b".into(), "old plan".into())],
    };
    let catalog = with_plan(&json!({}));

    assert_eq!(
        problems_beside(&catalog, &[there(true)]),
        "Service names must be unique within a broker. Services with names [\"p.redis\"] already exist\n"
    );
    assert_eq!(problems_beside(&catalog, &[there(false)]), "");
    assert_eq!(
        problems_beside(&with_plan(&json!({"id": "b"})), &[there(false)]),
        "Plan ids must be unique. Unable to register plan with id 'b' (plan name 'small', service name 'p.redis') \
         because it uses the same id as an existing plan (plan name 'old plan', service name 'p.redis', broker name \
         'redis-broker')\n"
    );
}
