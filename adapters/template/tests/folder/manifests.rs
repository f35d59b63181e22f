use serde_json::{Value, json};

use crate::harness::{Folder, block, create, plan, service_deployment};

fn with_property(value: &Value) -> Value {
    let mut plan = plan();
    plan["properties"] = json!({ "x": value });
    plan
}

#[test]
fn values_keep_their_type_and_never_become_syntax() {
    let folder = Folder::with_properties(
        "x: {{ plan.properties.x }}\nquoted: \"<{{ plan.properties.x | json }}>\"\nblock: |\n  <{{ plan.properties.x | json }}>\n  end\nlist: [{{ plan.properties.x }}, a]",
        "",
    );
    for value in [
        json!("yes"),
        json!("010"),
        json!("12:30"),
        json!("a: b\nhunter2: true"),
        json!("\" # ' }} {{ ] , *a &b !!c %"),
        json!("((odb_secret_looks_like_this))"),
        json!(true),
        json!(0.1),
        json!(null),
        json!({"<<": {"a": 1}, "yes": [[], {}]}),
    ] {
        let made = folder.make(&create(&with_property(&value), &json!({})));
        let text = format!("<{value}>");
        assert_eq!(
            made.properties(),
            &json!({"x": value, "quoted": text, "block": format!("{text}\nend\n"), "list": [value, "a"]})
        );
    }
}

#[test]
fn a_missing_value_is_reported_with_the_names_there_are_and_without_values() {
    let folder = Folder::with_properties("x: {{ plan.properties.motto }}", "");
    let mut plan = plan();
    plan["properties"] = json!({"moto": "hunter2", "other": "hunter2"});
    let run = folder.refused(&create(&plan, &json!({})));
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr.contains("manifest.yml.tera:11:29: `motto` is not in `plan.properties`; there are `moto`, `other`")
            && !run.stderr.contains("hunter2"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_filter_that_fails_does_not_report_the_value() {
    for expression in [
        "plan.properties.x | int",
        "plan.properties.x | round",
        "plan.properties.x + 1",
    ] {
        let folder = Folder::with_properties(&format!("x: {{{{ {expression} }}}}"), "");
        let run = folder.refused(&create(&with_property(&json!("hunter2")), &json!({})));
        assert_eq!(run.stdout, "");
        assert!(
            run.stderr.contains("manifest.yml.tera:11:") && !run.stderr.contains("hunter2"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn what_is_no_yaml_is_reported_by_line_and_without_values() {
    let folder = Folder::with_properties("x: [{{ plan.properties.x }}\ny: z", "");
    let run = folder.refused(&create(&with_property(&json!("hunter2")), &json!({})));
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr
            .contains("`manifest.yml.tera`: the rendered text is not valid YAML: ")
            && run.stderr.contains(" at line 1")
            && !run.stderr.contains("hunter2"),
        "{}",
        run.stderr
    );
}

#[test]
fn templates_refuse_for_users_and_for_operators() {
    let refusing = Folder::with_properties(
        "{% if parameters.x is defined %}{{ refuse(message=\"x is sold out\") }}{% endif %}a: b",
        "",
    );
    let run = refusing.refused(&create(&plan(), &json!({"x": 1})));
    assert_eq!(run.stdout, "x is sold out");

    let misconfigured = Folder::with_properties(
        "{{ misconfigured(message=\"no x\", user_message=\"later\") }}a: b",
        "",
    );
    let run = misconfigured.refused(&create(&plan(), &json!({})));
    assert_eq!(run.stdout, "later");
    assert!(run.stderr.contains("later: no x"), "{}", run.stderr);
}

#[test]
fn what_the_plan_lacks_is_for_the_operator_and_the_user_reads_the_folders_message() {
    let folder = Folder::example();
    let mut other = plan();
    other["instance_groups"][0]["name"] = "queues".into();
    let run = folder.refused(&create(&other, &json!({})));
    assert_eq!(
        run.stdout,
        "This plan does not work at present, contact your operator"
    );
    assert!(
        run.stderr
            .contains("the plan has no instance group `queue`"),
        "{}",
        run.stderr
    );

    let mut input = create(&plan(), &json!({}));
    let mut older = service_deployment();
    older["releases"][0]["version"] = "1.1".into();
    input["service_deployment"] = older.to_string().into();
    let run = folder.refused(&input);
    assert!(
        run.stderr
            .contains("release `queue` has version `1.1`, at least `1.2` is needed"),
        "{}",
        run.stderr
    );
}

#[test]
fn parameters_are_held_to_their_schema() {
    let folder = Folder::example();
    let run = folder.refused(&create(&plan(), &json!({"zeta": 1, "alpha": "hunter2"})));
    assert_eq!(
        run.stdout,
        "unsupported parameter(s) for this service plan: alpha, zeta; supported: max_messages, region"
    );
    let run = folder.refused(&create(&plan(), &json!({"max_messages": "hunter2"})));
    assert_eq!(
        run.stdout,
        "parameter `max_messages` must be a whole number of at least 1"
    );
    let run = folder.refused(&create(&plan(), &json!({"region": "hunter2"})));
    assert_eq!(
        run.stdout,
        "parameter `region` must be one of `here`, `there`"
    );
    assert!(!run.stderr.contains("hunter2"));
}

#[test]
fn schemas_are_answered_with_their_dialect() {
    let run = Folder::example().run(
        "generate-plan-schemas",
        &json!({"plan": plan().to_string()}),
    );
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        answer["service_instance"]["create"]["parameters"]["properties"]["max_messages"],
        json!({"type": "integer", "minimum": 1})
    );
    // Without a file nothing may be asked for.
    let bind = &answer["service_binding"]["create"]["parameters"];
    assert_eq!(bind["$schema"], "http://json-schema.org/draft-04/schema#");
    assert_eq!(bind["additionalProperties"], false);

    let unpublished = Folder::example();
    let text = "\nparameters: {publish_schemas: false}\n\nplan:";
    unpublished.replace("adapter.yml", "\nplan:", text);
    let run = unpublished.run(
        "generate-plan-schemas",
        &json!({"plan": plan().to_string()}),
    );
    assert_eq!((run.code, run.stdout.as_str()), (10, ""));
}

#[test]
fn a_manifest_that_would_fail_later_fails_at_once() {
    for (from, to, message) in [
        (
            "name: {{ deployment_name }}",
            "name: other",
            "must be named like the deployment",
        ),
        ("update: ", "updates: ", "has no `update` block"),
        (
            "release: {{ release_of(job=\"queue-server\") }}",
            "release: queues",
            "uses release `queues`, which the manifest does not list; there are `queue`",
        ),
        (
            "stemcell: default",
            "stemcell: defaults",
            "uses stemcell `defaults`",
        ),
        (
            "{{ secret(name=\"admin_password\") }}",
            "((odb_secret:mine))",
            "`((odb_secret:mine))` has no value",
        ),
        (
            "password: {{ secret",
            "passwort: {{ secret",
            "secret `admin_password` must be at",
        ),
        (
            "releases: {{ manifest_releases }}",
            "releases: [{name: queue, version: 3112.latest}]",
            "versions must be exact",
        ),
        (
            "instances",
            "instances",
            "lifecycle errand `check` is not in the manifest",
        ),
    ] {
        let folder = Folder::example();
        let mut plan = plan();
        if from == to {
            plan["lifecycle_errands"] = json!({"post_deploy": [{"name": "check"}]});
        } else {
            folder.replace("manifest.yml.tera", from, to);
        }
        let run = folder.refused(&create(&plan, &json!({})));
        assert_eq!(run.stdout, "");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn configs_are_answered_as_they_are_brought_or_written() {
    let folder = Folder::with_properties("a: b", "");
    folder.write(
        "configs.cloud.yml.tera",
        "{{ parameters.cloud | default(value=omit) }}",
    );
    folder.write("configs.cpi.yml.tera", "cpis: [{name: {{ instance_id }}}]");
    let text = "vm_extensions: # mine\n- {name: big}\n";
    let made = folder.make(&create(&plan(), &json!({ "cloud": text })));
    assert_eq!(
        made.answer["configs"],
        json!({"cloud": text, "cpi": "cpis:\n- name: \"7\"\n"})
    );
    let made = folder.make(&create(&plan(), &json!({})));
    assert_eq!(made.answer["configs"].get("cloud"), None);
}

#[test]
fn arguments_of_old_brokers_are_answered_with_a_bare_manifest() {
    let arguments = [
        "generate-manifest",
        &service_deployment().to_string(),
        &plan().to_string(),
        r#"{"parameters":{"max_messages":7}}"#,
        "",
        "null",
    ];
    let run = Folder::example().run_with(&[], &arguments, "");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout.starts_with("name: service-instance_7\n"),
        "{run:?}"
    );
    assert!(run.stdout.contains("max_messages: 7\n"), "{run:?}");
}

#[test]
fn a_template_without_end_is_stopped() {
    let mut nested = "x".to_owned();
    for variable in ["a", "b", "c"] {
        nested = format!("{{% for {variable} in range(end=9000) %}}{nested}{{% endfor %}}");
    }
    let folder = Folder::with_properties(&format!("a: {nested}"), "");
    let run = folder.refused(&create(&plan(), &json!({})));
    assert!(
        run.stderr.contains("renders more than 8388608 bytes"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_call_that_cannot_be_answered_is_reported_with_its_location_and_the_names_there_are() {
    for (property, message) in [
        ("{{ stemcell() }}", "`stemcell` needs `alias`"),
        ("{{ stemcell(os=\"noble\") }}", "`stemcell` needs `alias`"),
        (
            "{{ stemcell(alias=\"a\", os=\"jammy\") }}",
            "the service deployment has no stemcell of `jammy`; there are `ubuntu-jammy`",
        ),
        (
            "{{ stemcell(alais=\"a\") }}",
            "`stemcell` has no argument `alais`; there are `alias`, `os`",
        ),
        (
            "{{ release_of(name=\"a\") }}",
            "`release_of` has no argument `name`; there are `job`",
        ),
        (
            "{{ release_of(job=\"queue\") }}",
            "no release has the job `queue`; there are `queue-server`",
        ),
        (
            "{{ instance_group(name=\"queues\") }}",
            "the plan has no instance group `queues`; there are `queue`",
        ),
        (
            "{{ secret(name=\"adm\") }}",
            "`adapter.yml` declares no secret `adm`; there are none",
        ),
        (
            "{{ previous(path=\"a\") }}",
            "`a` is not a path: it must begin with `/` and have no empty segment",
        ),
    ] {
        let folder = Folder::with_properties(&format!("x: {property}"), "");
        let run = folder.refused(&create(&plan(), &json!({})));
        let reported = format!("manifest.yml.tera:11:13: {message}");
        assert!(run.stderr.contains(&reported), "{}", run.stderr);
    }
}

#[test]
fn an_instance_group_that_the_manifest_does_not_use_is_reported() {
    let folder = Folder::example();
    let run = folder.run("generate-manifest", &create(&plan(), &json!({})));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.stderr.contains("warning"), "{run:?}");

    let mut with_smoke = plan();
    let mut smoke = with_smoke["instance_groups"][0].clone();
    smoke["name"] = "smoke".into();
    let groups = with_smoke["instance_groups"].as_array_mut().unwrap();
    groups.push(smoke);
    let run = folder.run("generate-manifest", &create(&with_smoke, &json!({})));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr
            .contains("warning: the plan's instance group `smoke` is not in the manifest"),
        "{run:?}"
    );
}

#[test]
fn the_documented_errand_groups_are_in_the_manifest_of_plans_that_have_them() {
    let folder = Folder::example();
    folder.replace(
        "manifest.yml.tera",
        "update: {{",
        &format!("{}update: {{{{", block("errand-group")),
    );
    let mut services = service_deployment();
    services["releases"][0]["jobs"] = json!(["queue-server", "smoke-tests"]);
    let of = |plan: &Value| {
        let mut input = create(plan, &json!({}));
        input["service_deployment"] = services.to_string().into();
        folder.make(&input).manifest
    };
    assert_eq!(of(&plan())["instance_groups"].as_array().unwrap().len(), 1);

    let mut with_smoke = plan();
    let mut smoke = with_smoke["instance_groups"][0].clone();
    smoke["name"] = "smoke-tests".into();
    smoke["lifecycle"] = "errand".into();
    let groups = with_smoke["instance_groups"].as_array_mut().unwrap();
    groups.push(smoke);
    with_smoke["lifecycle_errands"] = json!({"post_deploy": [{"name": "smoke-tests"}]});
    let manifest = of(&with_smoke);
    assert_eq!(manifest["instance_groups"][1]["lifecycle"], "errand");
    assert_eq!(
        manifest["instance_groups"][1]["jobs"][0]["name"],
        "smoke-tests"
    );
}
