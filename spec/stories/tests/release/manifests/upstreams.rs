//! Jobs of other releases are given what their templates cannot do without.

use odb_stories::manifest::find;
use serde_json::Value;

use super::{
    site::Site,
    table::{self, BASES},
};

/// The properties that have to be given to a job, and the ops file that brings it. They are those without a default in
/// the jobs' `spec` that their templates read
/// (<https://github.com/cloudfoundry/loggregator-agent-release/tree/main/docs>,
/// <https://github.com/cloudfoundry/service-metrics-release/blob/main/jobs/service-metrics/spec>,
/// <https://github.com/cloudfoundry/routing-release/blob/develop/jobs/route_registrar/spec>).
const REQUIRED: [(&str, &str, &[&str]); 4] = [
    (
        "monitoring.yml",
        "loggregator_agent",
        &[
            "loggregator/tls/ca_cert",
            "loggregator/tls/agent/cert",
            "loggregator/tls/agent/key",
            "metrics/ca_cert",
            "metrics/cert",
            "metrics/key",
            "metrics/server_name",
        ],
    ),
    (
        "monitoring.yml",
        "prom_scraper",
        &[
            "scrape/tls/ca_cert",
            "scrape/tls/cert",
            "scrape/tls/key",
            "metrics/ca_cert",
            "metrics/cert",
            "metrics/key",
            "metrics/server_name",
        ],
    ),
    (
        "service-metrics.yml",
        "service-metrics",
        &[
            "service_metrics/origin",
            "service_metrics/source_id",
            "service_metrics/mount_paths/0",
            "service_metrics/tls/ca_cert",
            "service_metrics/tls/cert",
            "service_metrics/tls/key",
            "service_metrics/tls/server_name",
        ],
    ),
    (
        "route-registrar.yml",
        "route_registrar",
        &[
            "nats/tls/client_cert",
            "nats/tls/client_key",
            "route_registrar/routes/0/name",
            "route_registrar/routes/0/uris/0",
            "route_registrar/routes/0/tls_port",
            "route_registrar/routes/0/server_cert_domain_san",
            "route_registrar/routes/0/registration_interval",
        ],
    ),
];

#[test]
fn jobs_of_other_releases_have_all_that_they_need() {
    for base in BASES {
        for (file, job, required) in REQUIRED {
            let site = Site::of(base, &[file]);
            let job = site.job(job);
            let properties =
                &job.unwrap_or_else(|| panic!("{file} brings no such job"))["properties"];
            for path in required {
                let given = find(properties, &format!("/{path}"));
                let is_given = given.is_some_and(|value| !value.is_null() && *value != "");
                assert!(is_given, "{file} gives no `{path}`");
            }
        }
    }
}

/// The scraper verifies that name, with the authority of all of its targets.
#[test]
fn what_is_scraped_has_certificates_for_the_names_that_are_verified() {
    for (file, job) in [
        ("monitoring.yml", "loggregator_agent"),
        ("monitoring.yml", "prom_scraper"),
        ("service-metrics.yml", "service-metrics"),
    ] {
        // Before variables have their values.
        let manifest = table::base("redis.yml").with_operations(&table::operations(file));
        let manifest = manifest.unwrap_or_else(|error| panic!("{file}: {error}"));
        let job = format!("/instance_groups/name=broker/jobs/name={job}/properties");
        let properties = manifest.at(&job).expect("the file brings the job");
        let endpoint = [
            &properties["metrics"],
            &properties["service_metrics"]["tls"],
        ];
        let endpoint = endpoint.into_iter().find(|it| it.is_object());
        let endpoint = endpoint.unwrap_or_else(|| panic!("{job} has no endpoint"));
        let server = text(&endpoint["server_name"]);
        let certificate = text(&endpoint["cert"]);
        let variable = certificate
            .strip_prefix("((")
            .and_then(|name| name.strip_suffix(".certificate))"));
        let variable = variable.unwrap_or_else(|| panic!("{job}: `{certificate}`"));
        assert_eq!(text(&endpoint["ca_cert"]), format!("(({variable}.ca))"));
        assert_eq!(
            text(&endpoint["key"]),
            format!("(({variable}.private_key))")
        );
        let options = manifest.at(&format!("/variables/name={variable}/options"));
        let options = options.unwrap_or_else(|| panic!("`{variable}` is not generated"));
        assert_eq!(text(&options["ca"]), "((metric_scraper_ca_name))");
        assert_eq!(text(&options["common_name"]), server);
        assert_eq!(text(&options["alternative_names"][0]), server);
        assert_eq!(text(&options["extended_key_usage"][0]), "server_auth");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
