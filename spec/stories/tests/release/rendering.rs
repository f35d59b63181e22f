//! A broker's files: smallest, and those of the manifest of the contract, with its errands.

use odb_stories::{
    Errand,
    release::{Jobs, RenderedDeployment},
};
use serde_json::{Value, json};

use super::samples::{Machine, broker, errand, rendered_contract, smallest};

/// Errands with what their files must have beside a broker, each with a key of the file that is read as a boolean.
const ERRANDS: [(&str, &str); 8] = [
    ("register-broker", "/cf/disable_ssl_cert_verification"),
    ("deregister-broker", "/disable_ssl_cert_verification"),
    (
        "upgrade-all-service-instances",
        "/broker_api/tls/disable_ssl_cert_verification",
    ),
    (
        "recreate-all-service-instances",
        "/broker_api/tls/disable_ssl_cert_verification",
    ),
    (
        "delete-all-service-instances",
        "/disable_ssl_cert_verification",
    ),
    (
        "delete-all-service-instances-and-deregister-broker",
        "/disable_ssl_cert_verification",
    ),
    (
        "orphan-deployments",
        "/broker_api/tls/disable_ssl_cert_verification",
    ),
    (
        "service-metrics-adapter",
        "/broker_api/tls/disable_ssl_cert_verification",
    ),
];

#[test]
fn the_release_has_the_jobs_of_the_go_release_and_one_for_adapters() {
    let mut expected = ERRANDS.map(|(job, _)| job).to_vec();
    expected.extend(["broker", "service-adapters"]);
    expected.sort_unstable();
    assert_eq!(Jobs::of_project().names(), expected);
}

#[test]
fn the_smallest_broker_renders_and_passes_the_check() {
    let machine = Machine::new();
    let rendered = broker(smallest())
        .render()
        .unwrap_or_else(|rejection| panic!("{rejection}"));
    machine.put(&rendered);
    machine.expect_no_findings();

    let process = &rendered.document("config/bpm.yml")["processes"][0];
    assert_eq!(process["name"], "broker");
    assert_eq!(
        process["executable"],
        "/var/vcap/packages/on-demand-broker/bin/on-demand-broker"
    );
    assert_eq!(
        process["args"],
        json!([
            "serve",
            "--config",
            "/var/vcap/jobs/broker/config/broker.yml"
        ])
    );
    assert_eq!(
        process["unsafe"]["unrestricted_volumes"],
        json!([{
            "path": "/var/vcap/packages/odb-service-adapter/bin/service-adapter",
            "allow_executions": true,
            "mount_only": true,
            "writable": false,
        }])
    );
    // 512 connections, 64 adapters, and what else is open.
    assert_eq!(process["limits"], json!({ "open_files": 2560 }));
    assert_eq!(rendered.file("certs/broker.crt").trim(), "");
    assert_eq!(rendered.file("certs/broker.key").trim(), "");
}

#[test]
fn a_manifest_for_the_go_release_needs_another_release_name_and_nothing_else() {
    let machine = Machine::new();
    let deployment = rendered_contract();
    machine.vm.apply(&deployment);
    machine.expect_no_findings();
    expect_contract(&deployment);
}

fn expect_contract(deployment: &RenderedDeployment) {
    let document = deployment.job("broker").document("config/broker.yml");
    let tls = &document["broker"]["tls"];
    assert_eq!(tls["cert_file"], "/var/vcap/jobs/broker/certs/broker.crt");
    assert_eq!(tls["key_file"], "/var/vcap/jobs/broker/certs/broker.key");
    let director = &document["bosh"]["authentication"];
    assert_eq!(
        *director,
        json!({ "uaa": { "client_credentials": {
            "client_id": "lumen_broker", "client_secret": "value-of-lumen_bosh_secret",
        } } })
    );
    assert_eq!(
        document["credhub"]["api_url"],
        "https://credhub.service.cf.internal:8844"
    );
    assert_eq!(document["credhub"]["client_id"], "lumen_cf_credhub");
    assert_eq!(document["bosh_credhub"]["url"], "https://10.0.0.6:8844/");
    let catalog = &document["service_catalog"];
    assert_eq!(catalog["metadata"]["costTier"], "internal");
    assert_eq!(
        catalog["global_quotas"]["resources"]["memory_gb"]["limit"],
        400
    );
    let replicated = &catalog["plans"][1];
    assert_eq!(
        replicated["lifecycle_errands"],
        json!({ "pre_delete": [{ "name": "last-snapshot" }] }),
        "an errand that is disabled is left out"
    );
    assert_eq!(
        replicated["binding_with_dns"][0]["properties"]["status"],
        "healthy"
    );
    assert_eq!(
        document["service_deployment"]["stemcells"][0]["version"],
        "1.860"
    );

    let volumes = &deployment.job("broker").document("config/bpm.yml")["processes"][0]["unsafe"];
    assert_eq!(
        volumes["unrestricted_volumes"][1]["path"],
        "/var/vcap/jobs/lumen-adapter/config"
    );

    let registration = deployment
        .job("register-broker")
        .document("config/config.yml");
    assert_eq!(registration["broker_url"], "https://lumen.sys.example.org");
    assert_eq!(
        registration["plans"],
        json!([
            { "name": "single", "cf_service_access": "enable" },
            { "name": "replicated", "cf_service_access": "org-restricted", "service_access_org": "payments" },
        ])
    );
    let upgrade = deployment
        .job("upgrade-all-service-instances")
        .document("config/config.yml");
    assert_eq!(upgrade["maintenance_info_present"], true);
    assert_eq!(
        upgrade["canary_selection_params"],
        json!({ "cf_org": "platform", "cf_space": "canaries" })
    );
    // No `broker_uri` is given to deletions, which do not ask the broker; `delete-all…` knows it by its offering.
    let deletion = deployment
        .job("delete-all-service-instances")
        .document("config/config.yml");
    assert_eq!(
        deletion["service_catalog"]["id"],
        "5c1c2f0e-7d0e-4f0f-9d6a-6f1f0c7f8a11"
    );
}

/// With an error in each file, the errand reports only that one, before its first request.
#[tokio::test]
async fn the_errands_take_the_files_that_their_jobs_render() {
    let machine = Machine::new();
    let deployment = rendered_contract();
    for (job, pointer) in ERRANDS {
        let mut document = deployment.job(job).document("config/config.yml");
        let flag = document.pointer_mut(pointer);
        *flag.unwrap_or_else(|| panic!("`{job}` has no {pointer}")) = json!("perhaps");
        expect_one_error(&machine, job, &document, pointer).await;
    }
}

/// Including what only our errands support.
#[tokio::test]
async fn the_errands_take_what_the_go_release_does_not_have() {
    let machine = Machine::new();
    let mut offered = smallest();
    offered["service_catalog"]["plans"][0]["cf_service_access"] = json!("org-restricted");
    offered["service_catalog"]["plans"][0]["service_access_orgs"] = json!(["payments", "platform"]);
    let run = json!({
        "continue": true, "retry_failed": true, "dry_run": true, "max_failures": "2%", "health_gate": true, "wave": 20,
        "health_timeout": 900, "answer_timeout": 60, "plans": ["single"], "organizations": ["platform"],
        "spaces": ["canaries"], "instances": ["5c1c2f0e-7d0e-4f0f-9d6a-6f1f0c7f8a11"], "exclude": ["payments"],
    });
    for (job, pointer) in ERRANDS {
        let properties = json!({
            "broker_name": "lumen", "run": run, "max_in_flight": 3, "give_up_after_seconds": 600, "canaries": 2,
        });
        let rendered = errand(job, properties, &offered).render();
        let rendered = rendered.unwrap_or_else(|rejection| panic!("{rejection}"));
        let mut document = rendered.document("config/config.yml");
        if job == "register-broker" {
            assert_eq!(
                document["plans"][0]["service_access_orgs"],
                json!(["payments", "platform"])
            );
        }
        if job.starts_with("upgrade") || job.starts_with("recreate") {
            assert_eq!(document["run"], run, "{job}");
        }
        assert!(
            document.pointer(pointer).is_some(),
            "`{job}` has no {pointer}"
        );
        *document.pointer_mut(pointer).expect("it is there") = json!("perhaps");
        expect_one_error(&machine, job, &document, pointer).await;
    }
}

async fn expect_one_error(machine: &Machine, job: &str, document: &Value, pointer: &str) {
    let name = match job {
        "service-metrics-adapter" => "collect-service-metrics",
        name => name,
    };
    let file = machine.folder().join(format!("{job}.yml"));
    std::fs::write(&file, document.to_string()).expect("the test made the folder");
    let file = file.display().to_string();
    let run = Errand::alone(machine.folder(), name);
    let run = if name.contains("deregister") {
        run.with(&["--config", &file, "--broker-name", "lumen"])
    } else {
        run.with(&["--config", &file])
    };
    let run = run.run().await.expect_status(1);
    let key = pointer.trim_start_matches('/').replace('/', ".");
    assert_eq!(run.texts().len(), 1, "{job}: {}", run.stderr);
    assert!(run.last_text().contains(&key), "{job}: {}", run.stderr);
}
