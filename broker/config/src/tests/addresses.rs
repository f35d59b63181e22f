//! Addresses of upstreams: an unusable one is an error, and secrets in an address are never shown.

use super::*;

/// A configuration with every upstream. The addresses are `@BOSH`, `@API` and so on.
fn template() -> String {
    minimal()
        .replace("  port: 8080\n", "  port: 8080\n  enable_secure_manifests: true\n")
        .replace("https://director.example", "'@BOSH'")
        .replace("https://api.example", "'@API'")
        .replace("https://uaa.example", "'@UAA'")
        .replace(
            "service_adapter:\n",
            "service_instances_api: {url: '@INSTANCES'}\n\
             credhub: {api_url: '@CREDHUB', client_id: odb, client_secret: hunter2}\n\
             bosh_credhub:\n  url: '@STORE'\n  authentication: {uaa: {client_credentials: {client_id: odb, client_secret: hunter2}}}\n\
             service_adapter:\n",
        )
}

fn everywhere(address: &str) -> String {
    ["BOSH", "API", "UAA", "INSTANCES", "CREDHUB", "STORE"]
        .iter()
        .fold(template(), |source, location| {
            source.replace(&format!("@{location}"), address)
        })
}

#[test]
fn an_unusable_address_is_an_error_in_every_section() {
    for address in [
        "https://host:99999",
        "not a host",
        "https://",
        "https://admin:hunter2@host",
        "https://hunter2@host/?q=hunter2",
        "https://[hunter2]",
    ] {
        let found = findings(&everywhere(address));

        let keys: Vec<_> = found
            .iter()
            .filter_map(|error| error.split('`').nth(1))
            .collect();
        assert_eq!(
            keys,
            [
                "bosh.url",
                "bosh_credhub.url",
                "cf.url",
                "cf.uaa.url",
                "service_instances_api.url",
                "credhub.api_url"
            ],
            "{address}"
        );
        for error in found {
            assert!(error.contains(" is not a valid address: "));
            assert!(error.contains("; give `https://HOST:PORT`"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}

#[test]
fn only_the_director_is_taken_with_any_scheme() {
    let found = findings(&everywhere("ftp://host"));

    assert_eq!(found.len(), 5, "{found:?}");
    assert!(!found.iter().any(|error| error.contains("`bosh.url`")));
}

#[test]
fn an_address_may_be_a_host_alone_or_have_a_port_a_path_and_a_query() {
    for address in [
        "host",
        "10.0.0.6:25555",
        "http://host",
        "https://[::1]:8844",
        " https://host/path?q=1 ",
    ] {
        let loaded = parse(&everywhere(address)).unwrap();
        assert_eq!(loaded.config.bosh.url.as_written(), address);
    }
}

#[test]
fn an_address_is_shown_without_its_query() {
    let config = parse(&everywhere("https://host:1/path?token=hunter2#hunter2"))
        .unwrap()
        .config;

    let cf = config.cloud_foundry.unwrap();
    for address in [
        &config.bosh.url,
        &config.bosh_credhub.unwrap().url,
        &cf.url,
        &cf.uaa_url,
        &config.service_instances_api.unwrap().url,
        &config.runtime_credhub.unwrap().url,
    ] {
        assert_eq!(address.to_string(), "https://host:1/path");
        assert_eq!(format!("{address:?}"), "Address(\"https://host:1/path\")");
    }
}

#[test]
fn quotas_are_not_blamed_for_a_wrong_address_of_whom_they_are_counted_at() {
    let source = without_cf(&minimal()).replace(
        "    description: One VM\n",
        "    description: One VM\n    quotas: {service_instance_limit: 3}\n",
    );
    let source = format!("{source}service_instances_api: {{url: 'https://host:99999'}}\n");

    let found = findings(&source);

    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("`service_instances_api.url`"),
        "{found:?}"
    );
}
