//! `odb-adapter run`: an author asks an adapter one thing.

use std::fs;

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::author::Author;

#[test]
fn a_manifest_is_shown_as_yaml_with_numbers_in_place_of_secrets() {
    let author = Author::of_redis();

    let hidden = author.asks_redis(&["generate-manifest"]).succeeded();
    let shown = author
        .asks_redis(&["generate-manifest", "--show-secrets"])
        .succeeded();

    let properties = |text: &str| -> Value {
        let manifest: Value = yaml::from_str(text).expect("it is YAML");
        assert_eq!(manifest["name"], "service-instance_by-hand");
        manifest["instance_groups"][0]["jobs"][0]["properties"]["redis"].clone()
    };
    let (hidden_properties, shown_properties) = (
        properties(hidden.section("manifest")),
        properties(shown.section("manifest")),
    );
    assert_eq!(hidden_properties["password"], "<secret 1>");
    assert_eq!(hidden_properties["maxclients"], 10_000);
    assert_eq!(hidden_properties["generated_secret"], "((secret_pass))");
    let password = shown_properties["password"].as_str().expect("there is one");
    assert_eq!(password.len(), 28);
    let secrets: Value = yaml::from_str(hidden.section("secrets")).expect("it is YAML");
    assert_eq!(secrets, json!({"odb_managed_secret": "<secret 2>"}));
    assert!(!hidden.output.contains("HardcodedAdapterValue"));
    assert!(shown.output.contains("HardcodedAdapterValue"));
}

#[test]
fn what_changes_is_shown_line_by_line_and_by_the_location_that_a_broker_counts() {
    let author = Author::of_redis();
    author
        .asks_redis(&["generate-manifest", "--save", "deployed.yml"])
        .succeeded();
    let deployed = author.read("deployed.yml");
    assert!(
        deployed.contains("((/odb/service-id/service-instance_by-hand/odb_managed_secret))"),
        "{deployed}"
    );

    let parameters = r#"{"maxclients": 5}"#;
    let previous = ["generate-manifest", "--previous-manifest", "deployed.yml"];
    let changed = author
        .asks_redis(&[&previous[..], &["--parameters", parameters]].concat())
        .succeeded();
    let searched = author
        .asks_redis(&[&previous[..], &["--operation", "search"]].concat())
        .succeeded();

    let difference = changed.section("difference to the previous manifest");
    assert!(difference.contains("-        maxclients: 10000\n+        maxclients: 5"));
    let location = "instance_groups[redis-server].jobs[redis-server].properties.redis.maxclients";
    assert!(difference.contains(location), "{difference}");
    let difference = searched.section("difference to the previous manifest");
    assert!(difference.contains("none that counts"), "{difference}");
    assert!(!difference.contains("maxclients"), "{difference}");
}

#[test]
fn parameters_and_plans_come_from_files_as_well() {
    let author = Author::of_redis();
    author.write("parameters.json", r#"{"maxclients": 7}"#);
    author.write(
        "plan.yml",
        "properties: {persistence: false}\ninstance_groups:\n- {name: redis-server, vm_type: own, instances: 1, networks: [net], azs: [z9]}\n",
    );

    let ran = author
        .asks_redis(&[
            "generate-manifest",
            "--parameters",
            "@parameters.json",
            "--plan",
            "plan.yml",
        ])
        .succeeded();
    let large = author
        .asks_redis(&["generate-manifest", "--plan", "large"])
        .succeeded();
    let unknown = author.asks_redis(&["generate-manifest", "--plan", "huge"]);

    let manifest = ran.section("manifest");
    for text in ["maxclients: 7", "vm_type: own", "persistence: \"no\""] {
        assert!(manifest.contains(text), "no `{text}` in {manifest}");
    }
    assert!(large.section("manifest").contains("vm_type: large"));
    assert_eq!(unknown.status, 2);
    assert!(
        unknown.errors.contains("`huge`") && unknown.errors.contains("`small`, `large`"),
        "{unknown:?}"
    );
}

#[test]
fn a_binding_is_made_to_the_manifest_that_the_adapter_makes_first() {
    let author = Author::of_redis();

    let ran = author.asks_redis(&["create-binding"]).succeeded();
    let chosen = author
        .asks_redis(&[
            "create-binding",
            "--bosh-vms",
            r#"{"redis-server": ["10.9.8.7"]}"#,
        ])
        .succeeded();

    let answer: Value = yaml::from_str(ran.section("answer")).expect("it is YAML");
    assert_eq!(answer["credentials"]["port"], 6379);
    assert_eq!(answer["credentials"]["host"], "10.0.0.10");
    let password = answer["credentials"]["password"].as_str();
    assert!(password.is_some_and(|password| password.starts_with("<secret ")));
    assert!(chosen.section("answer").contains("10.9.8.7"));
}

#[test]
fn what_a_rejection_means_is_distinguished_for_operator_and_user() {
    let author = Author::of_redis();

    let ran = author.asks_redis(&["generate-manifest", "--parameters", r#"{"colour": "red"}"#]);
    let unfinished = author.script("cat >/dev/null; exit 10");
    let not_implemented = author.asks(&unfinished, &["generate-plan-schemas"]);

    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.section("for the user").contains("colour"));
    let end = ran.section("generate-manifest");
    assert!(end.contains("exit code 1"), "{end}");
    assert!(end.contains("the broker fails the operation"), "{end}");
    assert!(end.contains("the user gets stdout"), "{end}");
    assert!(
        ran.errors.lines().all(|line| line.starts_with("stderr | ")),
        "{ran:?}"
    );
    assert!(ran.errors.contains("colour"), "{ran:?}");
    assert_eq!(not_implemented.status, 1, "{not_implemented:?}");
    let end = not_implemented.section("generate-plan-schemas");
    assert!(
        end.contains("exit code 10") && end.contains("enable_plan_schemas"),
        "{end}"
    );
}

#[test]
fn an_answer_that_no_broker_takes_is_reported_with_what_the_broker_has_against_it() {
    let author = Author::of_redis();
    let talkative = author.script("cat >/dev/null; echo 'here you are'; echo '{}'");
    let ran = author.asks(&talkative, &["dashboard-url"]);
    assert_eq!(ran.status, 2, "it needs a manifest first: {ran:?}");
    let ran = author.asks(&talkative, &["generate-plan-schemas"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.output.contains("stdout is not the one JSON value"),
        "{ran:?}"
    );
    assert!(!ran.output.contains("here you are"), "{ran:?}");

    let misnamed = author.script(r#"cat >/dev/null; echo '{"manifest": "name: other"}'"#);
    let ran = author.asks(&misnamed, &["generate-manifest"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.output
            .contains("its `name` is not `service-instance_by-hand`"),
        "{ran:?}"
    );
}

#[test]
fn machines_get_one_document_and_no_secrets() {
    let author = Author::of_redis();

    let ran = author
        .asks_redis(&["generate-manifest", "--output", "json"])
        .succeeded();

    let report = ran.json();
    assert_eq!(ran.errors, "");
    assert_eq!(report["exit_code"], 0);
    assert_eq!(report["is_an_answer"], true);
    assert_eq!(
        report["answer"]["manifest"]["name"],
        "service-instance_by-hand"
    );
    assert_eq!(
        report["answer"]["secrets"]["odb_managed_secret"],
        "<secret 2>"
    );
    assert!(
        report["stderr"]
            .as_str()
            .is_some_and(|text| text.contains("handling"))
    );
}

#[test]
fn both_forms_can_be_asked_and_a_document_as_it_is() {
    let author = Author::of_redis();
    let telltale =
        author.script(r#"stdin=$(cat); echo "$# arguments, stdin ${stdin:-nothing}" >&2; exit 1"#);
    author.write("question.json", r#"{"generate_manifest": {"surprise": 1}}"#);
    author.write("arguments.json", r#"["deployment", "plan"]"#);
    let message = |arguments: &[&str]| author.asks(&telltale, arguments).errors;

    let arguments = message(&["generate-manifest", "--arguments"]);
    assert!(
        arguments.contains("6 arguments, stdin nothing"),
        "{arguments}"
    );
    let stdin = message(&["generate-manifest"]);
    assert!(
        stdin.contains("1 arguments, stdin {\"generate_manifest\""),
        "{stdin}"
    );
    let document = message(&["generate-manifest", "--document", "question.json"]);
    assert!(
        document.contains(r#"stdin {"generate_manifest": {"surprise": 1}}"#),
        "{document}"
    );
    let list = message(&["generate-manifest", "--document", "arguments.json"]);
    assert!(list.contains("3 arguments, stdin nothing"), "{list}");
}

#[test]
fn inputs_are_found_above_the_folder_that_cargo_builds_in_by_every_command() {
    let author = Author::of_redis();
    let built = author.folder().join("target/debug");
    fs::create_dir_all(&built).expect("the test made the folder");
    fs::rename(author.script("exit 1"), built.join("adapter")).expect("the test made the folder");

    let checked = author.types(&["check", "target/debug/adapter"]);
    let asked = author.types(&[
        "run",
        "generate-manifest",
        "--adapter",
        "target/debug/adapter",
    ]);

    assert_eq!(checked.status, 1, "{checked:?}");
    assert!(checked.output.contains("error C-02"), "{checked:?}");
    assert_eq!(asked.status, 1, "{asked:?}");
}

#[test]
fn of_a_binding_only_where_and_who_is_shown() {
    let author = Author::of_redis();
    let leaky = author.script(
        r#"if [[ $1 == create-binding ]]; then
    cat >/dev/null; echo 'with hunter1, and pwd=hunter7' >&2
    echo '{"credentials": {"host": "h-1", "passwords": ["hunter1"], "tokens": {"a": "hunter2"}, "pwd": "hunter3",
        "auth": ["Basic hunter4"], "dsn": "postgres://u:hunter5/ss+word=@h", "key": "hunter6",
        "jdbc_url": "jdbc:mysql://h-2/db?user=u-1&password=hunter8", "uri": "amqp://u-2:hun/ter9@h-3"}}'
else
    cat >/dev/null; echo '{"manifest": "{name: service-instance_by-hand, properties: {passwords: [hunter1]}}"}'
fi"#,
    );

    let ran = author.asks(&leaky, &["create-binding"]).succeeded();
    let manifest = author.asks(&leaky, &["generate-manifest"]).succeeded();
    let shown = author.asks(&leaky, &["create-binding", "--show-secrets"]);

    for part in ["hunter", "ter9", "ss+word"] {
        assert!(!ran.output.contains(part), "{ran:?}");
        assert!(!ran.errors.contains(part), "{ran:?}");
        assert!(!manifest.output.contains(part), "{manifest:?}");
    }
    for part in ["h-1", "h-2", "u-1", "u-2", "h-3"] {
        assert!(ran.output.contains(part), "no `{part}`: {ran:?}");
    }
    assert!(shown.output.contains("hunter4"), "{shown:?}");
}

#[test]
fn a_deadline_that_no_broker_has_is_refused() {
    let author = Author::of_redis();
    for seconds in ["0", "56", "18446744073709551615"] {
        let ran = author.asks_redis(&["generate-manifest", "--deadline", seconds]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.errors.contains("1..=55"), "{ran:?}");
    }
}

#[test]
fn without_inputs_the_error_says_what_to_write() {
    let author = Author::new();
    let adapter = author.script("exit 0");
    let adapter = adapter.to_str().expect("it is text");

    let ran = author.types(&["run", "generate-manifest", "--adapter", adapter]);

    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.errors.contains("adapter-check.yml"), "{ran:?}");
}

#[test]
fn what_would_be_passed_over_is_refused() {
    let author = Author::of_redis();
    let cases: [(&[&str], &str); 6] = [
        (
            &["generate-manifest", "--manifest", "x.yml"],
            "`--manifest` has no effect with `generate-manifest`",
        ),
        (
            &["create-binding", "--previous-plan", "small"],
            "`--previous-plan` has no effect with `create-binding`",
        ),
        (
            &["generate-manifest", "--operation", "update"],
            "`--operation update` needs the manifest that is deployed",
        ),
        (
            &["generate-manifest", "--previous-plan", "small"],
            "`--previous-plan` needs the manifest that is deployed",
        ),
        (
            &[
                "generate-manifest",
                "--document",
                "x.json",
                "--parameters",
                "{}",
            ],
            "`--parameters` has no effect with `--document`",
        ),
        (&["generate_manifest"], "generate-plan-schemas"),
    ];
    for (arguments, reported) in cases {
        let ran = author.asks_redis(arguments);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.errors.contains(reported), "no `{reported}`: {ran:?}");
    }
}

#[test]
fn an_adapter_that_is_not_there_is_reported_before_its_inputs() {
    let ran = Author::new().types(&["run", "generate-manifest", "--adapter", "nope"]);

    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.errors.contains("could not access `nope`"), "{ran:?}");
    assert!(!ran.errors.contains("adapter-check.yml"), "{ran:?}");
}

#[test]
fn an_adapter_named_as_for_check_gets_a_hint_on_run() {
    let author = Author::new();
    author.script("exit 0");

    for words in [
        ["adapter", "generate-manifest"],
        ["generate-manifest", "adapter"],
    ] {
        let ran = author.types(&["run", words[0], words[1]]);

        assert_eq!(ran.status, 2, "{ran:?}");
        let tip = "odb-adapter run SUBCOMMAND --adapter adapter";
        assert!(ran.errors.contains(tip), "{ran:?}");
    }
}

#[test]
fn an_error_about_a_file_without_its_at_sign_shows_the_right_form() {
    let author = Author::of_redis();

    let file = author.asks_redis(&["generate-manifest", "--parameters", "nope.json"]);
    let client = author.asks_redis(&["generate-manifest", "--uaa-client", "client.json"]);
    let text = author.asks_redis(&["generate-manifest", "--parameters", "swordfish"]);

    assert!(file.errors.contains("a file is `@nope.json`"), "{file:?}");
    assert!(
        client.errors.contains("a file is `@client.json`"),
        "{client:?}"
    );
    assert!(text.errors.contains("a file is `@FILE`"), "{text:?}");
    assert!(!text.errors.contains("swordfish"), "{text:?}");
}

#[test]
fn a_folder_with_the_adapter_in_it_gets_a_suggestion() {
    let author = Author::of_redis();
    let adapter = author.folder().join("my-cache/adapter");
    std::fs::create_dir_all(&adapter).expect("the test made the folder");
    author.write("my-cache/adapter/adapter.yml", "");

    let ran = author.types(&["run", "generate-manifest", "--adapter", "my-cache"]);

    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(
        ran.errors.contains("did you mean `my-cache/adapter`?"),
        "{ran:?}"
    );
}

#[test]
fn an_adapter_that_prints_without_end_is_stopped_and_its_user_reads_nothing_of_it() {
    let author = Author::of_redis();
    let adapter = author.script("exec yes");

    let ran = author.asks(&adapter, &["generate-plan-schemas", "--deadline", "55"]);

    assert_eq!(ran.status, 1, "{ran:?}");
    let end = ran.section("generate-plan-schemas");
    assert!(
        end.contains("printed more than an answer may have"),
        "{end}"
    );
    assert!(
        end.contains("the user gets that the operation failed"),
        "{end}"
    );
    assert!(!ran.output.contains("for the user"), "its stdout is shown");
}
