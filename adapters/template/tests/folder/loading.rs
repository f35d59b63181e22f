//! Every call reads the complete folder, so an error is reported before a user's order meets it.

use serde_json::json;

use crate::harness::{Folder, create, plan, stdin};

/// The operator's message for a folder with a changed file, at every call.
fn error_with(file: &str, from: &str, to: &str) -> String {
    let folder = Folder::example();
    folder.replace(file, from, to);
    error_of(&folder)
}

fn error_of(folder: &Folder) -> String {
    let run = folder.run(
        "generate-plan-schemas",
        &json!({"plan": plan().to_string()}),
    );
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    run.stderr
}

#[test]
fn an_unknown_key_is_reported_with_line_and_nearest_spelling() {
    let reported = error_with("adapter.yml", "no_downgrade", "no_downgrades");
    assert!(
        reported.contains("adapter.yml:10:")
            && reported.contains("unknown key `no_downgrades`; there are `no_downgrade`, "),
        "{reported}"
    );
}

#[test]
fn unknown_names_are_reported_with_location_and_nearest_spelling() {
    for (file, from, to, message) in [
        (
            "manifest.yml.tera",
            "{{ manifest_releases }}",
            "{{ manifest_relases }}",
            "manifest.yml.tera:2:14: unknown name `manifest_relases`; there are `manifest_releases`, ",
        ),
        (
            "manifest.yml.tera",
            "plan.properties.motto",
            "plan.propertys.motto",
            "manifest.yml.tera:15:24: unknown name `propertys` in `plan`; there are `properties`, ",
        ),
        (
            "manifest.yml.tera",
            "release_of(",
            "release_off(",
            "unknown function `release_off`; there are `release_of`, ",
        ),
        (
            "manifest.yml.tera",
            "| default(",
            "| defualt(",
            "unknown filter `defualt`; there are `default`, ",
        ),
        (
            "binding.json.tera",
            "is undefined",
            "is undefind",
            "unknown test `undefind`; there are `undefined`, ",
        ),
        (
            "binding.json.tera",
            "\"hosts\": {{ bosh_vms",
            "\"hosts\": {{ plan",
            "binding.json.tera:4:17: unknown name `plan`; there are `",
        ),
        (
            "dashboard.tera",
            "settings.dashboard",
            "settings.dashbord",
            "dashboard.tera:1:13: unknown name `dashbord` in `settings`; there are `dashboard`",
        ),
        (
            "adapter.yml",
            "releases[0].version",
            "relases[0].version",
            "adapter.yml, `labels.version`:1:4: unknown name `relases`; there are `releases`, ",
        ),
    ] {
        let reported = error_with(file, from, to);
        assert!(reported.contains(message), "{reported}");
    }
}

#[test]
fn a_template_that_cannot_be_read_is_reported_with_its_location() {
    let reported = error_with(
        "manifest.yml.tera",
        "{{ values.max_messages }}",
        "{{ values.max_messages",
    );
    assert!(reported.contains("manifest.yml.tera:1"), "{reported}");
}

#[test]
fn a_file_that_nothing_uses_is_reported() {
    let folder = Folder::example();
    folder.write("dashbord.tera", "x");
    let reported = error_of(&folder);
    assert!(
        reported.contains(
            "`dashbord.tera` is not rendered and not included; there are `dashboard.tera`, "
        ),
        "{reported}"
    );
    let folder = Folder::example();
    folder.write("schemas/creat.json", "{}");
    let reported = error_of(&folder);
    assert!(
        reported.contains("creat.json` is not a known schema; there are `create.json`, "),
        "{reported}"
    );
}

#[test]
fn a_schema_that_is_none_is_reported() {
    let reported = error_with("schemas/create.json", "draft-04", "draft-07");
    assert!(
        reported.contains("schemas/create.json` cannot be used: its `$schema` must be `http://json-schema.org/draft-04/schema#`"),
        "{reported}"
    );
}

#[test]
fn what_an_operator_overrides_has_the_name_and_type_of_a_setting() {
    let folder = Folder::example();
    for (text, message) in [
        (
            "dashbord: https://x",
            "unknown setting `dashbord`; there are `dashboard`",
        ),
        (
            "dashboard: [hunter2]",
            "setting `dashboard` must be a string",
        ),
        ("- hunter2", "is not a valid configuration"),
        ("a: [", "is not a valid configuration"),
    ] {
        folder.write("settings.yml", text);
        let path = folder.path().join("settings.yml");
        let environment = [("SERVICE_ADAPTER_SETTINGS", path.to_str().unwrap())];
        let run = folder.run_with(&environment, &["dashboard-url"], "");
        assert_eq!((run.code, run.stdout.as_str()), (1, ""));
        assert!(
            run.stderr.contains(message) && !run.stderr.contains("hunter2"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn an_override_counts() {
    let folder = Folder::example();
    folder.write("settings.yml", "dashboard: https://other.example.com");
    let path = folder.path().join("settings.yml");
    let environment = [("SERVICE_ADAPTER_SETTINGS", path.to_str().unwrap())];
    let input = json!({"instance_id": "7", "plan": plan().to_string(), "manifest": "name: a"});
    let stdin = stdin("dashboard-url", &input);
    let run = folder.run_with(&environment, &["dashboard-url"], &stdin);
    assert!(
        run.stdout.contains("https://other.example.com/queues/7"),
        "{run:?}"
    );
}

#[test]
fn included_templates_are_checked_like_others() {
    let folder = Folder::with_properties("{% include \"parts/a.tera\" %}", "");
    folder.write("parts/a.tera", "a: {{ plan.properties.a }}");
    let mut with_a = plan();
    with_a["properties"] = json!({"a": [1]});
    let made = folder.make(&create(&with_a, &json!({})));
    assert_eq!(made.properties(), &json!({"a": [1]}));

    folder.write("parts/a.tera", "a: {{ plam }}");
    let reported = error_of(&folder);
    assert!(
        reported.contains("parts/a.tera:1:7: unknown name `plam`; there are `plan`, "),
        "{reported}"
    );
    let folder = Folder::with_properties("{% include \"parts/b.tera\" %}", "");
    let reported = error_of(&folder);
    assert!(
        reported.contains("manifest.yml.tera:11") && reported.contains("`parts/b.tera`"),
        "{reported}"
    );
}

#[test]
fn a_parameter_that_can_never_be_sent_is_reported() {
    for (file, from, to, message) in [
        (
            "schemas/create.json",
            "max_messages",
            "max_message",
            "adapter.yml: `values.max_messages.parameter`: `max_messages` is not in `schemas/create.json`; there are `max_message`, `region`",
        ),
        (
            "schemas/update.json",
            "max_messages",
            "max_message",
            "adapter.yml: `values.max_messages.parameter`: `max_messages` is not in `schemas/update.json`; there are `max_message`, `region`",
        ),
    ] {
        let reported = error_with(file, from, to);
        assert!(reported.contains(message), "{reported}");
    }
    // A value that is never changed need not be in the schema for updates.
    let folder = Folder::example();
    folder.replace("schemas/update.json", "region", "place");
    folder.make(&create(&plan(), &json!({})));
}

#[test]
fn files_of_editors_and_version_control_are_passed_over() {
    let folder = Folder::example();
    std::os::unix::fs::symlink("nowhere", folder.path().join(".#manifest.yml.tera")).unwrap();
    folder.write(".old.tera", "{{ nothing");
    folder.write(".git/manifest.yml.tera", "{{ nothing");
    folder.write("schemas/.create.json", "{");
    folder.make(&create(&plan(), &json!({})));
}

#[test]
fn schemas_in_a_misspelt_folder_are_reported() {
    for misspelt in ["schema", "."] {
        let folder = Folder::example();
        let path = folder.path();
        std::fs::create_dir_all(path.join(misspelt)).unwrap();
        let to = path.join(misspelt).join("create.json");
        std::fs::rename(path.join("schemas/create.json"), to).unwrap();
        let reported = error_of(&folder);
        assert!(
            reported.contains("create.json` is not read: schemas are read from `"),
            "{reported}"
        );
    }
}

#[test]
fn a_default_that_its_schema_refuses_is_reported_without_its_value() {
    for (from, to) in [("1000", "hunter2"), ("1000", "0")] {
        let reported = error_with(
            "adapter.yml",
            &format!("default: {from}"),
            &format!("default: {to}"),
        );
        assert!(
            reported.contains("adapter.yml: `values.max_messages.default` does not fit `max_messages` of `schemas/create.json`")
                && !reported.contains("hunter2"),
            "{reported}"
        );
    }
    let folder = Folder::example();
    folder.write(
        "schemas/plan-properties.json",
        r#"{"required": ["motto"], "properties": {"max_messages": {"maximum": 10}}}"#,
    );
    let reported = error_of(&folder);
    assert!(
        reported.contains("does not fit `max_messages` of `schemas/plan-properties.json`"),
        "{reported}"
    );
}

#[test]
fn an_expression_in_a_block_that_is_taken_as_text_is_reported() {
    for block in [
        "{% set a %}<{{ deployment_name }}>{% endset %}",
        "{% filter upper %}{{ deployment_name }}{% endfilter %}",
    ] {
        let folder = Folder::with_properties(&format!("{block}a: b"), "");
        let reported = error_of(&folder);
        assert!(
            reported.contains("manifest.yml.tera:11:")
                && reported.contains("write `{% set a = x ~ y %}`"),
            "{reported}"
        );
    }
    let plain = "{% set a %}text{% endset %}{% set b = a %}a: {{ b }}";
    let made = Folder::with_properties(plain, "").make(&create(&plan(), &json!({})));
    assert_eq!(made.properties(), &json!({"a": "text"}));
}
