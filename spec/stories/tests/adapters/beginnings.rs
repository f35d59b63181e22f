//! `odb-adapter new`: an author begins an adapter. The story of the tutorial compiles the result in Rust.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use odb_adapter_sdk::yaml;
use serde_json::{Value, json};

use crate::{author::Author, executable::Executable};

#[test]
fn an_adapter_of_templates_passes_the_check_as_it_is_made() {
    passes_as_it_is_made("templates", "adapter", "adapter/adapter.yml");
}

#[test]
fn an_adapter_in_python_passes_the_check_as_it_is_made() {
    passes_as_it_is_made("python", "adapter.py", "adapter.py");
}

#[test]
fn an_adapter_in_bash_passes_the_check_as_it_is_made() {
    passes_as_it_is_made("bash", "adapter.sh", "adapter.sh");
}

#[track_caller]
fn passes_as_it_is_made(language: &str, adapter: &str, executable: &str) {
    let author = Author::new();
    author
        .types(&["new", "my-cache", "--lang", language])
        .succeeded();
    passes(&author, &format!("my-cache/{adapter}"));
    let executable = author.folder().join("my-cache").join(executable);
    let mode = fs::metadata(executable)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o100, 0o100, "it can be run by itself");
}

/// The earlier name of `--lang templates`.
#[test]
fn the_option_template_still_makes_an_adapter_of_templates() {
    let author = Author::new();
    author.types(&["new", "my-cache", "--template"]).succeeded();
    assert!(
        author
            .read("my-cache/adapter/adapter.yml")
            .contains("values:")
    );

    let both = author.types(&["new", "other", "--template", "--lang", "go"]);
    assert_eq!(both.status, 2, "{both:?}");
}

#[test]
fn an_adapter_in_go_passes_the_check_and_has_the_format_of_the_language() {
    let author = Author::new();
    author
        .types(&["new", "my-cache", "--lang", "go"])
        .succeeded();
    let go = |program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(author.folder().join("my-cache"))
            .output()
            .unwrap_or_else(|error| {
                panic!("{program}: {error}; install Go, as scripts/test does: apt-get install golang-go")
            });
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("it prints text")
    };

    assert_eq!(go("gofmt", &["-l", "."]), "", "these are not formatted");
    go("go", &["vet", "./..."]);
    go("go", &["build"]);

    passes(&author, "my-cache/my-cache");
    follows_the_other_rules(&author, "my-cache/my-cache");
}

#[test]
fn an_adapter_in_a_script_language_follows_the_rules_that_the_check_does_not_look_for() {
    for (language, adapter) in [("python", "adapter.py"), ("bash", "adapter.sh")] {
        let author = Author::new();
        author
            .types(&["new", "my-cache", "--lang", language])
            .succeeded();
        follows_the_other_rules(&author, &format!("my-cache/{adapter}"));
    }
}

fn passes(author: &Author, adapter: &str) {
    let check = ["check", adapter, "--deadline", "50"];
    let report = author.types(&check).succeeded();
    let has_no_finding = report.output.contains("0 errors, 0 warnings");
    // A busy machine takes its time.
    let is_slow = report.output.matches("warning P-05").count() > 0;
    assert!(has_no_finding || is_slow, "{report:?}");
}

/// A manifest that a Director or an earlier adapter wrote as block YAML keeps the user's choice; plans and releases that do not
/// fit are refused, for the operator; the version is that of the adapter.
fn follows_the_other_rules(author: &Author, adapter: &str) {
    let executable = Executable::at(author.folder().join(adapter));
    let version = executable.run(&["--version"], "");
    assert_eq!(
        (version.code, version.stdout.as_str()),
        (Some(0), "my-cache 0.1.0\n")
    );

    let group = json!({"name": "server", "vm_type": "small", "instances": 1, "networks": ["net"], "azs": ["z1"]});
    let release = json!({"name": "my-cache", "version": "1.2.0", "jobs": ["my-cache-server"]});
    let plan = json!({"properties": {"max_clients": 7}, "instance_groups": [group]});
    let request = |plan: &Value, releases: &Value, previous: &str| {
        json!({
            "service_deployment": json!({
                "deployment_name": "service-instance_1",
                "releases": releases,
                "stemcells": [{"stemcell_os": "ubuntu-jammy", "stemcell_version": "1.80"}],
            }).to_string(),
            "plan": plan.to_string(),
            "previous_manifest": previous,
            "request_parameters": "{}",
        })
    };
    let releases = json!([release]);

    let previous = "properties:\n  other_max_clients: 8\n  max_clients: 250\n";
    for (previous, expected) in [("", 7), (previous, 250)] {
        let answer = executable.ask("generate-manifest", &request(&plan, &releases, previous));
        let answer = answer.answer();
        let manifest = answer["manifest"].as_str().expect("it is a text");
        let manifest: Value = yaml::from_str(manifest).expect("JSON is YAML");
        let job = &manifest["instance_groups"][0]["jobs"][0];
        assert_eq!(job["properties"]["max_clients"], expected);
    }

    let with = |key: &str, value: Value| {
        let mut plan = plan.clone();
        plan[key] = value;
        plan
    };
    let errands = json!({"post_deploy": [{"name": "smoke-tests"}], "pre_delete": []});
    for (plan, releases, stderr) in [
        (
            with("instance_groups", json!([])),
            &releases,
            "instance group",
        ),
        (
            with("lifecycle_errands", errands),
            &releases,
            "lifecycle errands",
        ),
        (
            with("properties", json!({"max_clients": true})),
            &releases,
            "max_clients",
        ),
        (
            with("properties", json!({"colour": 1})),
            &releases,
            "colour",
        ),
        (plan.clone(), &json!([]), "my-cache-server"),
        (plan.clone(), &json!([release, release]), "my-cache-server"),
    ] {
        let refused = executable.ask("generate-manifest", &request(&plan, releases, ""));
        assert_eq!(refused.rejection(), "", "{refused:?}");
        refused.expect_said(stderr);
    }
    let binding = json!({"binding_id": "b", "manifest": "", "request_parameters": "{}", "bosh_vms": r#"{"server": ["10.0.0.1"]}"#});
    let refused = executable.ask("create-binding", &binding);
    assert_eq!(refused.rejection(), "", "{refused:?}");
    refused.expect_said("enable_secure_manifests");
}

#[test]
fn an_adapter_in_rust_has_the_sdk_of_the_tag_of_this_version() {
    let author = Author::new();

    author.types(&["new", "my-store"]).succeeded();

    let package = author.read("my-store/Cargo.toml");
    let version = env!("CARGO_PKG_VERSION");
    for name in ["odb-adapter-sdk", "odb-adapter-kit"] {
        let dependency = format!(
            "{name} = {{ git = \"https://github.com/on-demand-broker/on-demand-broker\", \
             tag = \"v{version}\", version = \"{version}\" }}\n"
        );
        assert!(package.contains(&dependency), "{package}");
    }
    assert!(!author.folder().join("my-store/Cargo.lock").exists());
    assert!(
        author.read("my-store/src/main.rs").lines().count() < 80,
        "it is one screen"
    );
}

#[test]
fn an_adapter_in_rust_can_have_the_sdk_of_a_checkout() {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapter-sdk");
    let sdk = sdk.canonicalize().expect("it is part of the project");
    let sdk = sdk.to_str().expect("folders have names of text");
    let author = Author::new();

    author
        .types(&["new", "by-option", "--sdk", sdk])
        .succeeded();
    author
        .types_with(("ODB_ADAPTER_SDK", sdk), &["new", "by-variable"])
        .succeeded();

    for name in ["by-option", "by-variable"] {
        let package = author.read(&format!("{name}/Cargo.toml"));
        for dependency in [
            format!("odb-adapter-sdk = {{ path = \"{sdk}\" }}\n"),
            format!("odb-adapter-kit = {{ path = \"{sdk}/kit\" }}\n"),
        ] {
            assert!(package.contains(&dependency), "{package}");
        }
        let lock = author.read(&format!("{name}/Cargo.lock"));
        assert!(lock.contains("name = \"serde-saphyr\""));
    }
}

#[test]
fn a_language_that_is_misspelt_is_refused_with_a_suggestion() {
    let author = Author::new();

    let misspelt = author.types(&["new", "my-cache", "--lang", "pyton"]);
    let other_option = author.types(&["new", "my-cache", "--lang", "go", "--sdk", "."]);

    assert_eq!((misspelt.status, other_option.status), (2, 2));
    assert!(misspelt.errors.contains("'python'"), "{misspelt:?}");
    assert!(
        other_option
            .errors
            .contains("--sdk is for adapters in Rust"),
        "{other_option:?}"
    );
    assert_eq!(files(author.folder()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn no_two_adapters_share_ids_and_no_placeholder_remains() {
    let author = Author::new();
    let mut ids = Vec::new();
    for (language, name) in [
        ("templates", "one-service"),
        ("python", "two-service"),
        ("go", "three-service"),
        ("bash", "four-service"),
        ("rust", "five-service"),
    ] {
        author.types(&["new", name, "--lang", language]).succeeded();
        for file in files(&author.folder().join(name)) {
            let text = fs::read_to_string(&file).expect("it is text");
            assert!(!has_placeholder(&text), "{}", file.display());
            assert!(!file.to_string_lossy().contains('@'), "{}", file.display());
        }
        let broker: Value = yaml::from_str(&author.read(&format!("{name}/broker.yml")))
            .expect("it is a broker.yml");
        let catalog = &broker["service_catalog"];
        assert_eq!(catalog["service_name"], name);
        ids.push(catalog["id"].clone());
        let plans = catalog["plans"].as_array().expect("there are plans");
        ids.extend(plans.iter().map(|plan| plan["plan_id"].clone()));
    }
    assert_eq!(ids.len(), 15);
    let mut unique = ids.clone();
    unique.sort_by_key(Value::to_string);
    unique.dedup();
    assert_eq!(unique.len(), 15, "{ids:?}");
}

#[test]
fn a_folder_that_exists_is_left_alone() {
    let author = Author::new();
    fs::create_dir(author.folder().join("my-cache")).expect("the test made the folder");
    author.write("my-cache/precious", "mine");

    let ran = author.types(&["new", "my-cache", "--lang", "templates"]);

    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.errors.contains("already exists"), "{ran:?}");
    assert_eq!(files(&author.folder().join("my-cache")).len(), 1);
}

#[test]
fn a_name_that_cannot_be_is_refused_and_nothing_is_made() {
    let author = Author::new();
    for name in ["My_Cache", "test", "x", "-x"] {
        let ran = author.types(&["new", "--template", "--", name]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.errors.contains(&format!("`{name}`")), "{ran:?}");
    }
    let ran = author.types(&["new", "my-cache", "--sdk", "."]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.errors.contains("is not the SDK"), "{ran:?}");
    assert_eq!(files(author.folder()), Vec::<std::path::PathBuf>::new());
}

/// Placeholders are words between @ signs.
fn has_placeholder(text: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    text.split('@').any(is_name)
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("it is a folder");
    entries
        .map(|entry| entry.expect("it can be read").path())
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
