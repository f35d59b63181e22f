//! Users cannot write references into manifests: the Director would put other deployments' secrets
//! in their place.

use serde_json::{Value, json};

use crate::harness::{Folder, binding, create, plan};

const OTHERS: &str = "((/other/deployment/admin_password))";

fn with_context(context: &Value) -> Value {
    let mut input = create(&plan(), &json!({}));
    input["request_parameters"] = json!({"context": context, "parameters": {}})
        .to_string()
        .into();
    input
}

#[test]
fn a_parameter_that_holds_a_reference_is_refused_by_name() {
    let folder = Folder::with_properties("a: {{ parameters.size | default(value=omit) }}", "");
    for size in [
        json!(OTHERS),
        json!(["x", {"y": format!("x{OTHERS}")}]),
        json!({OTHERS: 1}),
    ] {
        let run = folder.refused(&create(&plan(), &json!({"size": size})));
        assert_eq!(run.stdout, "parameter `size` must not contain `((`");
    }
    let run = folder.refused(&create(&plan(), &json!({OTHERS: 1})));
    assert_eq!(run.stdout, "names of parameters must not contain `((`");
}

#[test]
fn a_parameter_may_hold_references_where_the_author_means_it() {
    let folder = Folder::with_properties(
        "a: {{ parameters.size }}",
        "parameters: {may_hold_references: [size]}",
    );
    let made = folder.make(&create(&plan(), &json!({"size": OTHERS})));
    assert_eq!(made.properties(), &json!({"a": OTHERS}));
    let run = folder.refused(&create(&plan(), &json!({"size": 1, "other": OTHERS})));
    assert_eq!(run.stdout, "parameter `other` must not contain `((`");
}

#[test]
fn an_escaped_reference_is_refused() {
    for (filter, text) in [
        ("from_json", r#""\u0028\u0028/other))""#),
        ("from_yaml", r#""\x28\x28/other))""#),
    ] {
        let expression = format!("{{{{ parameters.x | {filter}(refuse=\"x is refused\") }}}}");
        let folder = Folder::with_properties(&format!("a: {expression}"), "");
        let run = folder.refused(&create(&plan(), &json!({"x": text})));
        assert_eq!(run.stdout, "x is refused", "{filter}");
    }
}

#[test]
fn names_that_users_choose_are_refused_where_a_template_reads_them() {
    let context = json!({"instance_name": OTHERS});
    for expression in ["context.instance_name", "request.context.instance_name"] {
        let folder = Folder::with_properties(&format!("a: {{{{ {expression} }}}}"), "");
        let run = folder.refused(&with_context(&context));
        assert!(
            run.stdout
                .starts_with("the names of service instance, space and organisation"),
            "{run:?}"
        );
    }
    let unread = Folder::with_properties("a: b", "");
    unread.make(&with_context(&context));
}

#[test]
fn a_binding_resolves_no_reference_of_the_users() {
    let folder = Folder::example();
    folder.write("schemas/bind.json", "{}");
    folder.write(
        "binding.json.tera",
        r#"{"credentials": {{ resolve(reference=parameters.x) }} }"#,
    );
    let mut input = binding("name: a", &json!({}), &json!({"((admin))": "hunter2"}));
    input["request_parameters"] = json!({"app_guid": "", "parameters": {"x": "((admin))"}})
        .to_string()
        .into();
    let run = folder.run("create-binding", &input);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (1, "parameter `x` must not contain `((`")
    );
}

#[test]
fn a_reference_is_not_put_together_out_of_pieces() {
    let folder = Folder::with_properties("a: {{ parameters.x }}{{ parameters.y }}", "");
    let run = folder.refused(&create(&plan(), &json!({"x": "(", "y": "(other))"})));
    assert!(
        run.stderr.contains("would together begin a reference"),
        "{run:?}"
    );
    let made = folder.make(&create(&plan(), &json!({"x": "(a)", "y": "(b)"})));
    assert_eq!(made.properties(), &json!({"a": "(a)(b)"}));
}
