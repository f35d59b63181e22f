//! The effect of each ops file shows in the Director's result.

use serde_json::{Value, json};

use super::{site::Site, table};

/// The errands that ask the broker.
const WITH_QUESTION: [&str; 3] = [
    "upgrade-all-service-instances",
    "recreate-all-service-instances",
    "orphan-deployments",
];

#[test]
fn a_base_uses_https_and_its_errands_trust_it() {
    for base in table::BASES {
        let site = Site::of(base, &[]);
        let broker = site.broker();
        let certificate = "/var/vcap/jobs/broker/certs/broker.crt";
        assert_eq!(broker["broker"]["tls"]["cert_file"], certificate);
        let name = base.strip_suffix(".yml").unwrap();
        let url = format!("https://q-s0.broker.services.{name}-broker.bosh:8080");
        assert_eq!(site.errand("register-broker")["broker_url"], url);
        for errand in WITH_QUESTION {
            let trusted = &site.errand(errand)["broker_api"]["tls"]["ca_cert"];
            assert!(
                trusted.as_str().unwrap().starts_with("-----BEGIN"),
                "{errand}"
            );
        }
        let client = &broker["bosh"]["authentication"]["uaa"]["client_credentials"]["client_id"];
        assert_eq!(client, "on-demand-broker");
        let client = &broker["cf"]["uaa"]["authentication"]["client_credentials"]["client_id"];
        assert_eq!(client, "on-demand-broker");
    }
}

#[test]
fn every_ops_file_does_what_it_is_for() {
    for line in table::lines() {
        let file = line.file.as_str();
        let base = if line.goes_with("redis.yml") {
            "redis.yml"
        } else {
            "kafka.yml"
        };
        let (before, after) = (Site::of(base, &[]), Site::of(base, &[file]));
        assert!(!is_done(file, &before), "{file}: it is so without it");
        assert!(is_done(file, &after), "{file}: {:#}", after.broker());
    }
}

/// Whether a deployment shows what the file is for.
fn is_done(file: &str, site: &Site) -> bool {
    let broker = site.broker();
    let jobs = site.jobs_of("broker").unwrap();
    match file {
        "errands-on-own-vms.yml" => WITH_QUESTION.iter().all(|errand| {
            site.jobs_of(errand) == Some(vec!["bpm", errand]) && !jobs.contains(errand)
        }),
        "bpm-from-runtime-config.yml" => !jobs.contains(&"bpm"),
        "shared-authority.yml" => {
            let trusted = &site.errand("orphan-deployments")["broker_api"]["tls"]["ca_cert"];
            let made = site.manifest["variables"].to_string();
            made.contains("/services/tls_ca")
                && !made.contains("is_ca")
                && trusted.as_str().is_some_and(|trusted| !trusted.is_empty())
        }
        "director-basic.yml" => {
            let director = &broker["bosh"]["authentication"];
            director["basic"]["username"] == "on-demand-broker"
                && director["uaa"]["client_credentials"]["client_id"].is_null()
        }
        "cf-user.yml" => {
            let is_user = |cf: &Value| {
                let user = &cf["uaa"]["authentication"];
                user["user_credentials"]["username"] == "on-demand-broker"
                    && user["client_credentials"]["client_id"].is_null()
            };
            is_user(&broker["cf"]) && is_user(&site.errand("register-broker")["cf"])
        }
        "secure-manifests.yml" => {
            let adapter = site.rendered.job("service-adapters");
            let adapter = adapter.document("config/redis.yml");
            broker["broker"]["enable_secure_manifests"] == true
                && adapter["secure_manifests_enabled"] == true
                && broker["bosh_credhub"]["url"] == "https://10.0.0.6:8844"
        }
        "secure-bindings.yml" => {
            let credhub = &broker["credhub"];
            credhub["api_url"] == "https://credhub.service.cf.internal:8844"
                && credhub["client_id"] == "on-demand-broker-credhub"
        }
        "plan-schemas.yml" => broker["broker"]["enable_plan_schemas"] == true,
        "service-instances-api.yml" => {
            let url = "https://instances.example.org/service_instances";
            broker["service_instances_api"]["url"] == url
        }
        "instance-clients.yml" => {
            broker["cf"]["uaa"]["client_definition"]["authorities"] == "uaa.resource"
        }
        "telemetry.yml" => broker["broker"]["enable_telemetry"] == true,
        "page.yml" => {
            let page = &broker["ui"];
            page["enabled"] == true
                && page["password"]
                    .as_str()
                    .is_some_and(|word| !word.is_empty())
        }
        "route-registrar.yml" => {
            let route = "redis-broker.sys.example.org";
            let made = site.manifest["variables"].to_string();
            jobs.contains(&"route_registrar")
                && made.contains(route)
                && site.errand("register-broker")["broker_url"] == format!("https://{route}")
        }
        "service-metrics.yml" => {
            let indicators = site.rendered.job("broker");
            let indicators = indicators.document("config/indicators.yml");
            let metrics = site.job("service-metrics");
            jobs.contains(&"service-metrics-adapter")
                && metrics.is_some_and(|metrics| {
                    let source = &metrics["properties"]["service_metrics"]["source_id"];
                    *source == indicators["metadata"]["labels"]["source_id"]
                })
        }
        "monitoring.yml" => {
            let scraped = site.rendered.job("broker");
            let scraped = scraped.document("config/prom_scraper_config.yml");
            jobs.contains(&"prom_scraper") && scraped["server_name"] == "localhost"
        }
        "without-cf.yml" => {
            broker["broker"]["disable_cf_startup_checks"] == true
                && !jobs
                    .iter()
                    .any(|job| job.contains("register") || job.contains("delete"))
        }
        "trusted-certs.yml" => {
            broker["bosh"]["root_ca_cert"].is_null() && broker["cf"]["root_ca_cert"].is_null()
        }
        "plain-http.yml" => {
            let address = site.errand("orphan-deployments");
            let address = address["broker_api"]["url"].as_str().unwrap();
            broker["broker"]["tls"].is_null() && address.starts_with("http://")
        }
        other => is_done_to_the_plans(other, &broker["service_catalog"]),
    }
}

/// The same for what shows in the catalog, in its first plan above all.
fn is_done_to_the_plans(file: &str, catalog: &Value) -> bool {
    let plan = &catalog["plans"][0];
    match file {
        "dns-bindings.yml" => plan["binding_with_dns"][0]["link_provider"] == "redis",
        "lifecycle-errands.yml" => {
            has_errands(plan, "health-check", "cleanup-data")
                && plan["lifecycle_errands"]["post_deploy"][0]["instances"].is_null()
                && plan["instance_groups"][1]["lifecycle"] == "errand"
        }
        "colocated-errands.yml" => {
            has_errands(plan, "health-check", "cleanup-data")
                && plan["lifecycle_errands"]["post_deploy"][0]["instances"]
                    == json!(["redis-server/0"])
                && plan["instance_groups"].as_array().unwrap().len() == 1
        }
        "kafka-lifecycle-errands.yml" => plan["instance_groups"][2]["name"] == "smoke_tests",
        "kafka-colocated-errands.yml" => {
            let errand = &plan["lifecycle_errands"]["post_deploy"][0];
            errand["instances"] == json!(["kafka_server/0"])
        }
        "quotas.yml" => {
            let all = &catalog["global_quotas"]["service_instance_limit"];
            *all == 60 && plan["quotas"]["service_instance_limit"] == 50
        }
        other => panic!("the purpose of `{other}` is not listed here"),
    }
}

fn has_errands(plan: &Value, post_deploy: &str, pre_delete: &str) -> bool {
    let errands = &plan["lifecycle_errands"];
    errands["post_deploy"][0]["name"] == post_deploy
        && errands["pre_delete"][0]["name"] == pre_delete
}
