use serde_json::{Value, json};

use crate::harness::{Folder, binding, create, plan};

fn answer(folder: &Folder, template: &str, input: &Value) -> Value {
    folder.write("binding.json.tera", template);
    let run = folder.run("create-binding", input);
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn values_in_json_keep_their_type_and_never_become_syntax() {
    let folder = Folder::example();
    let manifest =
        "name: service-instance_7\nx: \"a\\\", \\\"hunter2\\\": \\\"b\\n\"\nlist: [1, yes]\n";
    let input = binding(manifest, &json!({}), &Value::Null);
    let template = r#"{"credentials": {
        {{ binding_id }}: {{ manifest.x }}, "text": "<{{ manifest.x }}>", "list": {{ manifest.list }},
        "id": {{ instance_id }}, "dns": {{ dns_addresses.queue }}
    }, "syslog_drain_url": "syslog://{{ binding_id }}"}"#;
    let x = "a\", \"hunter2\": \"b\n";
    assert_eq!(
        answer(&folder, template, &input),
        json!({
            "credentials": {
                "b-1": x, "text": format!("<{x}>"), "list": [1, true], "id": "7", "dns": "q-s0.queue.bosh",
            },
            "syslog_drain_url": "syslog://b-1",
        })
    );
}

#[test]
fn a_binding_has_no_unknown_members() {
    let folder = Folder::example();
    folder.write("binding.json.tera", r#"{"credential": "hunter2"}"#);
    let run = folder.run(
        "create-binding",
        &binding("name: a", &json!({}), &Value::Null),
    );
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(
        run.stderr.contains(
            "renders `credential`, which a binding does not have; there are `credentials`, "
        ) && !run.stderr.contains("hunter2"),
        "{run:?}"
    );
}

#[test]
fn what_is_no_json_is_reported_by_line_and_without_values() {
    let folder = Folder::example();
    folder.write("binding.json.tera", "{\n  \"a\": {{ manifest.x }} x\n}");
    let run = folder.run(
        "create-binding",
        &binding("x: hunter2", &json!({}), &Value::Null),
    );
    assert!(
        run.stderr
            .contains("`binding.json.tera`: the rendered text is not valid JSON: ")
            && run.stderr.contains(" at line 2")
            && !run.stderr.contains("hunter2"),
        "{run:?}"
    );
}

#[test]
fn secrets_have_their_values_in_bindings() {
    let folder = Folder::example();
    let made = folder.make(&create(&plan(), &json!({})));
    let stored = made.stored();
    let value = stored.as_object().unwrap().values().next().unwrap();
    let template = r#"{"credentials": [
        {{ secret(name="admin_password", default=none) }}, {{ resolve(reference="((/x))", default="?") }}, {{ resolve(reference="plain") }}
    ]}"#;
    let with = |secrets: &Value| binding(&made.deployed(), &json!({}), secrets);
    assert_eq!(
        answer(&folder, template, &with(&stored))["credentials"],
        json!([value, "?", "plain"])
    );
    assert_eq!(
        answer(&folder, template, &with(&Value::Null))["credentials"][0],
        Value::Null
    );
    folder.write(
        "binding.json.tera",
        r#"{"credentials": {{ secret(name="admin_password") }} }"#,
    );
    let run = folder.run("create-binding", &with(&Value::Null));
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(
        run.stderr.contains("no value of secret `admin_password`"),
        "{run:?}"
    );
    folder.write(
        "binding.json.tera",
        r#"{"credentials": {{ secret(name="admin_pasword") }} }"#,
    );
    let run = folder.run("create-binding", &with(&Value::Null));
    assert!(
        run.stderr
            .contains("declares no secret `admin_pasword`; there are `admin_password`"),
        "{run:?}"
    );
}

#[test]
fn bindings_end_with_the_exit_codes_of_the_protocol() {
    let folder = Folder::example();
    let input = binding("name: a", &json!({}), &Value::Null);
    for (function, code) in [("app_guid_required", 42), ("binding_exists", 49)] {
        folder.write("binding.json.tera", &format!("{{{{ {function}() }}}}"));
        let run = folder.run("create-binding", &input);
        assert_eq!(run.code, code, "{run:?}");
    }
    folder.write("unbinding.tera", "{{ binding_not_found() }}");
    assert_eq!(folder.run("delete-binding", &input).code, 41);
    folder.write(
        "unbinding.tera",
        "{%- if secrets is defined %}{{ refuse(message='no') }}{% endif -%}\n",
    );
    let run = folder.run("delete-binding", &input);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
}

#[test]
fn a_folder_without_templates_for_it_implements_neither_bindings_nor_dashboards() {
    let folder = Folder::with_properties("a: b", "");
    for subcommand in ["create-binding", "delete-binding", "dashboard-url"] {
        let run = folder.run_with(&[], &[subcommand], "not even JSON");
        assert_eq!((run.code, run.stdout.as_str()), (10, ""), "{subcommand}");
    }
}

#[test]
fn a_dashboard_has_an_address() {
    let folder = Folder::example();
    folder.write("dashboard.tera", "{{ instance_id }}");
    let input =
        json!({"instance_id": "javascript:x", "plan": plan().to_string(), "manifest": "name: a"});
    let run = folder.run("dashboard-url", &input);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("must render one address"), "{run:?}");
}

#[test]
fn an_element_of_what_is_not_there_is_reported_with_the_names_there_are() {
    let folder = Folder::example();
    let made = folder.make(&create(&plan(), &json!({})));
    let input = binding(
        &made.deployed(),
        &json!({"server": ["10.0.0.7"]}),
        &made.stored(),
    );
    for expression in ["bosh_vms.servers[0]", "bosh_vms.servers.first"] {
        let text = format!("{{\"credentials\":\n {{\"a\": {{{{ {expression} }}}} }} }}");
        folder.write("binding.json.tera", &text);
        let run = folder.run("create-binding", &input);
        assert!(
            run.stderr.contains(
                "binding.json.tera:2:20: unknown name `servers` in `bosh_vms`; there are `server`"
            ),
            "{run:?}"
        );
    }
}

#[test]
fn a_secret_that_yaml_takes_for_a_number_is_its_digits() {
    let folder = Folder::with_properties(
        "a: b",
        "secrets: {pin: {kept_at: /properties/pin, stored: in_manifest}}",
    );
    let manifest = "name: a\nproperties: {pin: 4711}\n";
    let input = binding(manifest, &json!({}), &Value::Null);
    let template = r#"{"credentials": {{ secret(name="pin") }} }"#;
    assert_eq!(answer(&folder, template, &input)["credentials"], "4711");
}
