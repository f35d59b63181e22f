//! The stand-in renders jobs as a Director does. The jobs here are independent of the release.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Deployment, DeploymentRejection, Jobs, Link, Rendering, overlay, render_all};

const TELLER: &str = "
name: teller
templates:
  out.erb: config/out.json
  run.erb: bin/run
provides:
- {name: teller, type: teller, properties: [port, tls.certificate, users, password]}
properties:
  port: {default: 8080}
  password: {description: no default}
  tls.certificate: {}
  users: {default: [nobody]}
  metadata.title: {default: untitled}
  switch: {default: false}
  section: {}
";

const OUT: &str = r#"<%
  seen = { "port" => p("port"), "first" => p(%w[absent port]), "fallback" => p("absent", 5), "switch" => p("switch") }
  if_p("port", "password") { |port, password| seen["both"] = [port, password] }.else { seen["both"] = "not both" }
  if_p("absent") { seen["chain"] = 1 }.else_if_p("users") { |users| seen["chain"] = users }.else { seen["chain"] = 3 }
  seen["raw"] = raw_properties
  seen["object"] = properties.metadata.title
  seen["where"] = [spec.deployment, spec.name, name, spec.index, index, spec.address, spec.networks.services.ip, spec.bootstrap]
-%>
<%= JSON.generate(seen) -%>
"#;

const ASKER: &str = "
name: asker
templates:
  out.erb: config/out.json
consumes:
- {name: teller, type: teller}
- {name: vault, type: vault, optional: true}
properties: {}
";

const ASK: &str = r#"<%
  teller = link("teller")
  seen = { "port" => teller.p("port"), "users" => teller.p("users"), "unlisted" => teller.p("switch", "not listed") }
  seen["addresses"] = teller.instances.map(&:address)
  seen["together"] = teller.address
  teller.if_p("password") { |it| seen["password"] = it }.else { seen["password"] = "none" }
  if_link("vault") { |vault| seen["vault"] = vault.p("url") }.else { seen["vault"] = "none" }
-%>
<%= JSON.generate(seen) %>
"#;

fn release() -> (TempDir, Jobs) {
    let folder = tempfile::tempdir().unwrap();
    write_job(
        folder.path(),
        "teller",
        TELLER,
        &[("out.erb", OUT), ("run.erb", "#!/bin/sh\n")],
    );
    write_job(folder.path(), "asker", ASKER, &[("out.erb", ASK)]);
    let jobs = Jobs::in_folder(folder.path());
    (folder, jobs)
}

fn write_job(release: &Path, name: &str, specification: &str, templates: &[(&str, &str)]) {
    let folder = release.join(name);
    fs::create_dir_all(folder.join("templates")).unwrap();
    fs::write(folder.join("spec"), specification).unwrap();
    fs::write(folder.join("monit"), "").unwrap();
    for (file, text) in templates {
        fs::write(folder.join("templates").join(file), text).unwrap();
    }
}

fn rendered(rendering: Rendering) -> Value {
    let rendered = rendering.render().unwrap();
    serde_json::from_str(rendered.file("config/out.json")).unwrap()
}

#[test]
fn a_job_sees_what_is_declared_and_defaults_where_nothing_is_given() {
    let (_folder, jobs) = release();
    let given = json!({
        "password": "a",
        "undeclared": 1,
        "metadata": { "title": null, "undeclared": 2 },
        "section": { "anything": [{ "goes": true }] },
    });

    let seen = rendered(jobs.rendering("teller").properties(given));

    assert_eq!(
        seen,
        json!({
            "port": 8080,
            "first": 8080,
            "fallback": 5,
            "switch": false,
            "both": [8080, "a"],
            "chain": ["nobody"],
            "raw": {
                "port": 8080,
                "password": "a",
                "tls": { "certificate": null },
                "users": ["nobody"],
                "metadata": { "title": "untitled" },
                "switch": false,
                "section": { "anything": [{ "goes": true }] },
            },
            "object": "untitled",
            "where": ["lumen-broker", "broker", "broker", 0, 0, "10.0.16.4", "10.0.16.4", true],
        })
    );
}

#[test]
fn every_template_that_refuses_reports_its_line_and_the_directors_words() {
    let (folder, _) = release();
    let specification = "
name: refuser
templates: {a.erb: a, b.erb: b, c.erb: c, d.erb: d}
properties: {section.key: {}}
";
    let templates = [
        ("a.erb", "one\n<%= p('absent') %>"),
        ("b.erb", "<% raise 'not like this' %>"),
        ("c.erb", "<%= link('nobody').p('x') %>"),
        ("d.erb", "fine"),
    ];
    write_job(folder.path(), "refuser", specification, &templates);
    let jobs = Jobs::in_folder(folder.path());
    let flat = json!({ "section": "flat" });

    let mut outcomes = render_all([
        jobs.rendering("refuser"),
        jobs.rendering("refuser").properties(flat),
        jobs.rendering("asker"),
        jobs.rendering("teller"),
    ])
    .into_iter();

    let mut rejection = || outcomes.next().unwrap().unwrap_err().to_string();
    assert_eq!(
        rejection(),
        "could not render job `refuser`: `a.erb`, line 2: Can't find property '[\"absent\"]'; \
         `b.erb`, line 1: not like this; `c.erb`, line 1: Can't find link 'nobody'"
    );
    assert_eq!(
        rejection(),
        "could not render job `refuser`: Property 'section.key' expects a hash, but received 'String'"
    );
    assert_eq!(
        rejection(),
        "could not render job `asker`: Failed to resolve link 'teller' with type 'teller' from job 'asker'"
    );
    assert!(outcomes.next().unwrap().is_ok());
}

#[test]
fn a_link_reports_what_its_provider_lists_and_nothing_else() {
    let (_folder, jobs) = release();
    let given = json!({ "port": 9, "switch": true });
    let teller = Link::provided_by(&jobs, "teller", "teller", &given)
        .with_instance("tellers", "10.0.0.1")
        .with_instance("tellers", "10.0.0.2")
        .with_address("tellers.bosh");
    let vault = Link::with_properties(&json!({ "url": "https://vault" }));
    let asker = jobs.rendering("asker").link("teller", &teller);

    let seen = rendered(asker.clone());
    assert_eq!(
        seen,
        json!({
            "port": 9,
            "users": ["nobody"],
            "unlisted": "not listed",
            "addresses": ["10.0.0.1", "10.0.0.2"],
            "together": "tellers.bosh",
            "password": "none",
            "vault": "none",
        })
    );
    let seen = rendered(asker.link("vault", &vault));
    assert_eq!(seen["vault"], "https://vault");
}

#[test]
fn a_manifest_is_rendered_with_links_found_named_and_refused() {
    let (_folder, jobs) = release();
    let vault = Link::with_properties(&json!({ "url": "https://vault" }));
    let deploy = |manifest: &Value| {
        Deployment::of(manifest)
            .with_jobs(jobs.clone())
            .with_link_of("cf", "vault", vault.clone())
            .with_address("tellers", "127.0.0.5")
            .render()
    };
    let mut manifest = json!({
        "name": "bank",
        "instance_groups": [
            {
                "name": "tellers",
                "instances": 2,
                "azs": ["z1", "z2"],
                "networks": [{ "name": "services" }],
                "jobs": [
                    { "name": "teller", "release": "on-demand-broker", "properties": { "password": "a" } },
                    { "name": "bpm", "release": "bpm" },
                ],
            },
            {
                "name": "askers",
                "instances": 1,
                "networks": [{ "name": "services" }],
                "jobs": [{
                    "name": "asker",
                    "release": "on-demand-broker",
                    "consumes": { "vault": { "from": "vault", "deployment": "cf" } },
                }],
            },
        ],
    });

    let bank = deploy(&manifest).unwrap();
    let groups = bank.instances().iter();
    let groups = groups.map(|instance| (instance.group(), instance.index(), instance.jobs().len()));
    assert_eq!(
        groups.collect::<Vec<_>>(),
        [("tellers", 0, 1), ("tellers", 1, 1), ("askers", 0, 1)]
    );
    let asker = bank.job("asker").document("config/out.json");
    assert_eq!(asker["password"], "a");
    assert_eq!(asker["addresses"], json!(["127.0.0.5", "127.0.0.5"]));
    assert_eq!(asker["vault"], "https://vault");

    // Written out, under another name, refused, and what cannot be resolved.
    let mut reported = |consumes: Value, provides: Value| {
        manifest["instance_groups"][0]["jobs"][0]["provides"] = provides;
        manifest["instance_groups"][1]["jobs"][0]["consumes"] = consumes;
        deploy(&manifest)
    };
    let written = json!({ "instances": [{ "address": "elsewhere" }], "properties": { "port": 1, "users": [] } });
    let bank = reported(json!({ "teller": written }), Value::Null).unwrap();
    let asker = bank.job("asker").document("config/out.json");
    assert_eq!(
        (&asker["addresses"], &asker["vault"]),
        (&json!(["elsewhere"]), &json!("none"))
    );

    let alias = json!({ "teller": { "as": "cashier" } });
    let bank = reported(json!({ "teller": { "from": "cashier" } }), alias.clone()).unwrap();
    assert_eq!(bank.job("asker").document("config/out.json")["port"], 8080);

    for (consumes, provides) in [
        (json!({ "teller": { "from": "teller" } }), alias),
        (json!({}), json!({ "teller": "nil" })),
        (
            json!({ "vault": { "from": "vault", "deployment": "other" } }),
            Value::Null,
        ),
    ] {
        let rejection = reported(consumes, provides).unwrap_err();
        assert!(
            matches!(rejection, DeploymentRejection::Link { .. }),
            "{rejection}"
        );
    }
    let rejection = reported(json!({ "teller": "nil" }), Value::Null).unwrap_err();
    assert!(
        matches!(rejection, DeploymentRejection::Job(_)),
        "{rejection}"
    );

    manifest["features"] = json!({ "use_dns_addresses": true });
    manifest["instance_groups"][1]["jobs"][0]["consumes"] = Value::Null;
    let by_name = Deployment::of(&manifest).with_jobs(jobs.clone()).render();
    let asker = by_name.unwrap().job("asker").document("config/out.json");
    assert_eq!(
        asker["addresses"][1],
        "id-of-tellers-1.tellers.services.bank.bosh"
    );
    assert_eq!(asker["together"], "q-s0.tellers.services.bank.bosh");

    manifest["instance_groups"][1]["jobs"][0]["name"] = "outsider".into();
    let rejection = deploy(&manifest).unwrap_err().to_string();
    assert_eq!(
        rejection,
        "release `on-demand-broker` has no job `outsider`, which instance group `askers` has"
    );
}

#[test]
fn files_are_written_for_a_machine_with_another_root_and_scripts_can_be_run() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, _) = release();
    let templates = [("run.erb", "exec /var/vcap/packages/x \"$@\"\n")];
    let specification = "{name: runner, templates: {run.erb: bin/run}, properties: {}}";
    write_job(folder.path(), "runner", specification, &templates);
    let root = folder.path().join("root");

    let runner = Jobs::in_folder(folder.path())
        .rendering("runner")
        .render()
        .unwrap();
    assert_eq!(runner.files().count(), 2, "`monit` and the script");
    runner.relocated(&root).write_to(&root.join("jobs/runner"));

    let script = root.join("jobs/runner/bin/run");
    let text = fs::read_to_string(&script).unwrap();
    assert_eq!(text, format!("exec {}/packages/x \"$@\"\n", root.display()));
    let mode = |path: &str| {
        fs::metadata(root.join("jobs/runner").join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode("bin/run"), mode("monit")), (0o750, 0o640));
}

#[test]
fn laying_over_merges_members_and_takes_away_with_null() {
    let mut below = json!({ "a": { "b": 1, "c": 2 }, "d": [1, 2] });
    overlay(
        &mut below,
        &json!({ "a": { "b": null, "e": 3 }, "d": [3], "f": { "g": 1 } }),
    );
    assert_eq!(
        below,
        json!({ "a": { "c": 2, "e": 3 }, "d": [3], "f": { "g": 1 } })
    );
}
