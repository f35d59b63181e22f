use std::fs;

use secrecy::ExposeSecret;
use tempfile::NamedTempFile;

use odb_clients::uaa::Grant;
use odb_rollout::FailureBudget;

use super::*;

fn errors<T: std::fmt::Debug>(read: Result<Loaded<T>, InvalidConfig>) -> Vec<String> {
    let findings = read.unwrap_err().findings;
    findings.iter().map(ToString::to_string).collect()
}

fn warnings<T>(loaded: &Loaded<T>) -> Vec<String> {
    loaded.warnings.iter().map(ToString::to_string).collect()
}

fn fleet(source: &str) -> Result<Loaded<Fleet>, InvalidConfig> {
    parse(Path::new("c.yml"), source, &FILES.fleet, fleet::read)
}

fn register(source: &str) -> Result<Loaded<RegisterBroker>, InvalidConfig> {
    parse(
        Path::new("c.yml"),
        source,
        &FILES.register_broker,
        register_broker,
    )
}

fn deletion(source: &str) -> Result<Loaded<Deletion>, InvalidConfig> {
    parse(Path::new("c.yml"), source, &FILES.deletion, super::deletion)
}

/// As the job of the release renders it on a foundation without Cloud Foundry.
const FLEET_WITHOUT_CF: &str = "---
broker_api:
  url: https://broker.example.com
  authentication:
    basic: {username: broker, password: '0777'}
  tls: {ca_cert: null, disable_ssl_cert_verification: false}
maintenance_info_present: false
polling_interval: 60
attempt_interval: 30
attempt_limit: 5
request_timeout: 120
max_in_flight: 2
canaries: 0
canary_selection_params: {}
cf:
  url: null
  root_ca_cert: null
  disable_ssl_cert_verification: true
  uaa:
    url: null
    authentication:
      client_credentials: {client_id: null, client_secret: null}
      user_credentials: {username: null, password: null}
";

const CF: &str = "
cf:
  url: https://api.example.com
  root_ca_cert: null
  uaa:
    url: https://uaa.example.com
    authentication:
      client_credentials: {client_id: odb, client_secret: hunter2}
      user_credentials: {username: null, password: null}
";

#[test]
fn a_rendered_file_without_cloud_foundry_has_nulls_and_no_warnings() {
    let loaded = fleet(FLEET_WITHOUT_CF).unwrap();
    assert_eq!(warnings(&loaded), Vec::<String>::new());
    let fleet = loaded.config;
    assert!(fleet.cloud_foundry.is_none());
    assert_eq!(fleet.broker_api.password.expose_secret(), "0777");
    assert_eq!(fleet.broker_api.ca_cert, None);
    assert_eq!(fleet.polling_interval, Duration::from_mins(1));
    assert_eq!(fleet.attempt_limit.get(), 5);
    assert_eq!(fleet.request_timeout, Some(Duration::from_mins(2)));
    assert_eq!(fleet.canary_selection, []);
}

#[test]
fn a_request_timeout_of_zero_is_none() {
    let source = FLEET_WITHOUT_CF.replace("request_timeout: 120", "request_timeout: 0");
    assert_eq!(fleet(&source).unwrap().config.request_timeout, None);
}

#[test]
fn numbers_of_the_iterator_are_refused_with_their_location_and_the_go_errands_words() {
    let source = FLEET_WITHOUT_CF
        .replace("polling_interval: 60", "polling_interval: 0")
        .replace("attempt_interval: 30\n", "")
        .replace("attempt_limit: 5", "attempt_limit: -1")
        .replace("max_in_flight: 2", "max_in_flight: '2'")
        .replace("canaries: 0", "canaries: -3");
    assert_eq!(
        errors(fleet(&source)),
        [
            "c.yml:8:19: `polling_interval` is 0; the pollingInterval must be greater than zero",
            "c.yml:2:1: `attempt_interval` is missing; the attemptInterval must be greater than zero",
            "c.yml:9:16: `attempt_limit` is -1; the attempt limit must be greater than zero",
            "c.yml:11:16: `max_in_flight` is text; it must be a whole number without quotes",
            "c.yml:12:11: `canaries` is -3; the number of canaries cannot be negative",
        ]
    );
}

#[test]
fn what_a_run_may_do_beyond_the_go_errands_has_a_section_of_its_own() {
    let more = "run: {continue: true, max_failures: 5%, wave: 20, exclude: [small], answer_timeout: 0}\n\
                bosh: {url: 'https://10.0.0.6:25555'}\n";
    let loaded = fleet(&format!("{FLEET_WITHOUT_CF}{more}")).unwrap();
    assert_eq!(warnings(&loaded), Vec::<String>::new());
    let fleet = loaded.config;
    assert!(fleet.run.continues && !fleet.run.is_dry);
    assert_eq!(fleet.run.max_failures, Some(FailureBudget::Percent(5)));
    assert_eq!(fleet.run.wave, Some(20));
    assert_eq!(fleet.run.excluded, ["small"]);
    assert_eq!(fleet.run.answer_timeout, Some(Duration::ZERO));
    assert!(fleet.director.is_some());
}

#[test]
fn a_section_that_says_what_cannot_be_is_refused_as_a_whole() {
    let more =
        "run: {continue: perhaps, max_failures: many, wave: 0, health_timeout: -1, plans: small}\n";
    let reported = errors(fleet(&format!("{FLEET_WITHOUT_CF}{more}")));
    assert_eq!(reported.len(), 5);
    let budget = "`run.max_failures` is `many`; give a number of instances such as `5`, or a percentage from `0%` to `100%`";
    assert!(
        reported.iter().any(|error| error.ends_with(budget)),
        "{reported:#?}"
    );

    let source = FLEET_WITHOUT_CF.replace("max_in_flight: 2\n", "");
    let missing =
        "c.yml:2:1: `max_in_flight` is missing; the max in flight must be greater than zero";
    assert_eq!(errors(fleet(&source)), [missing]);
}

#[test]
fn a_broker_that_cannot_be_reached_is_refused_with_every_reason() {
    let source = FLEET_WITHOUT_CF
        .replace("https://broker.example.com", "''")
        .replace("password: '0777'", "pasword: hunter2");
    let errors = errors(fleet(&source));
    assert_eq!(errors.len(), 2, "{errors:?}");
    for error in &errors {
        assert!(
            error.contains(
                "the brokerUsername, brokerPassword and brokerUrl are required to function"
            ),
            "{error}"
        );
        assert!(!error.contains("hunter2"));
    }
}

#[test]
fn a_client_is_preferred_to_a_user() {
    let source = CF.replace(
        "username: null, password: null",
        "username: me, password: mine",
    );
    let source = format!("{source}\nservice_catalog: {{id: offering}}\n");
    let loaded = deletion(&source).unwrap();
    assert!(matches!(
        loaded.config.cloud_foundry.credentials,
        Grant::ClientCredentials { .. }
    ));
    assert_eq!(warnings(&loaded).len(), 1);

    let user = source.replace("client_id: odb, client_secret: hunter2", "client_id: ''");
    assert!(matches!(
        deletion(&user).unwrap().config.cloud_foundry.credentials,
        Grant::Password { .. }
    ));
}

#[test]
fn verification_is_switched_off_at_either_location() {
    let at_the_top = format!("disable_ssl_cert_verification: yes\n{CF}");
    let in_the_section = CF.replace(
        "  root_ca_cert: null",
        "  disable_ssl_cert_verification: true",
    );
    for (source, expected) in [
        (CF.to_owned(), Verification::On),
        (at_the_top, Verification::Off),
        (in_the_section, Verification::Off),
    ] {
        let source = format!("{source}\nservice_catalog: {{id: offering}}\n");
        let found = deletion(&source).unwrap().config.cloud_foundry;
        assert_eq!(found.verification, expected, "{source}");
    }
}

#[test]
fn intervals_of_a_deletion_may_be_zero_or_missing_and_not_negative() {
    let source = format!("{CF}\nservice_catalog: {{id: offering}}\npolling_interval: 0\n");
    let config = deletion(&source).unwrap().config;
    assert_eq!(config.polling_interval, Duration::ZERO);
    assert_eq!(config.polling_initial_offset, Duration::ZERO);

    let negative = source.replace("polling_interval: 0", "polling_interval: -1");
    assert_eq!(errors(deletion(&negative)).len(), 1);
}

#[test]
fn ten_instances_are_deleted_at_once_for_four_hours_unless_the_file_says_otherwise() {
    let source = format!("{CF}\nservice_catalog: {{id: offering}}\n");
    let config = deletion(&source).unwrap().config;
    assert_eq!(config.max_in_flight.get(), 10);
    assert_eq!(config.give_up_after, Duration::from_hours(4));

    let given = format!("{source}max_in_flight: 1\ngive_up_after: 90\n");
    let config = deletion(&given).unwrap().config;
    assert_eq!(config.max_in_flight.get(), 1);
    assert_eq!(config.give_up_after, Duration::from_secs(90));

    let zero = format!("{source}max_in_flight: 0\ngive_up_after: 0\n");
    assert_eq!(errors(deletion(&zero)).len(), 2);
}

#[test]
fn a_cloud_controller_that_is_missing_is_refused() {
    let source = "cf: {url: null}\nservice_catalog: {id: offering}\n";
    assert_eq!(
        errors(deletion(source)),
        ["c.yml:1:1: `cf` is missing; give `url`, `uaa.url` and credentials"]
    );
}

#[test]
fn access_to_a_plan_is_one_of_four_words_and_a_typo_revokes_no_access() {
    let with = |plan: &str| {
        register(&format!(
            "broker_name: redis\nbroker_username: broker\nbroker_password: hunter2\n\
             broker_url: https://broker.example.com\nservice_offering_id: offering\n\
             plans:\n- {{name: small, {plan}}}\n{CF}"
        ))
    };
    for (plan, expected) in [
        (
            "cf_service_access: enable, service_access_org: null",
            PlanAccess::Enable,
        ),
        ("cf_service_access: disable", PlanAccess::Disable),
        ("cf_service_access: manual", PlanAccess::Manual),
        (
            "cf_service_access: org-restricted, service_access_org: payments",
            restricted_to(&["payments"]),
        ),
        (
            "cf_service_access: Org_Restricted, service_access_orgs: [labs, payments, labs]",
            restricted_to(&["labs", "payments"]),
        ),
        (
            "cf_service_access: org-restricted, service_access_org: payments, service_access_orgs: [labs, payments]",
            restricted_to(&["payments", "labs"]),
        ),
    ] {
        let read = with(plan).unwrap();
        assert_eq!(read.config.plans[0].access, expected);
        assert_eq!(warnings(&read), [""; 0], "{plan}");
    }
    for plan in [
        "cf_service_access: enabled",
        "cf_service_access: null",
        "cf_service_access: org-restricted",
        "cf_service_access: org-restricted, service_access_orgs: []",
        "cf_service_access: [enable]",
    ] {
        assert_eq!(errors(with(plan)).len(), 1, "{plan}");
    }
    let unused = with("cf_service_access: enable, service_access_org: payments").unwrap();
    assert_eq!(warnings(&unused).len(), 1);
}

fn restricted_to(organizations: &[&str]) -> PlanAccess {
    let organizations = organizations.iter().map(|&name| name.to_owned());
    PlanAccess::OrgRestricted(organizations.collect())
}

#[test]
fn what_is_no_map_of_sections_is_refused() {
    for source in ["", "[]", "text", "cf: [unfinished"] {
        let errors = errors(deletion(source));
        assert!(errors[0].starts_with("c.yml:"), "{errors:?}");
    }
}

/// With sample values for those that `scripts/try` fills in.
fn sample() -> NamedTempFile {
    let sample = include_str!("../../../../manifests/sandbox/errands.yml");
    let mut text = sample.to_owned();
    for address in ["BROKER_URL", "CLOUD_CONTROLLER_URL", "CF_UAA_URL"] {
        text = text.replace(&format!("@{address}@"), "https://example.com");
    }
    let authority = rcgen::generate_simple_self_signed(["example.com".to_owned()])
        .unwrap()
        .cert
        .pem();
    text = text.replace("@CA_CERTIFICATE@", &authority.replace('\n', "\n      "));
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn the_sample_can_be_given_to_every_errand_and_none_warnings_on_it() {
    let sample = sample();
    let file = sample.path();
    let (register, deregister) = (RegisterBroker::load(file), DeregisterBroker::load(file));
    let (fleet, deletion) = (Fleet::load(file), Deletion::load(file));
    let broker_only = BrokerOnly::load(file);
    assert_eq!(warnings(&register.unwrap()), [""; 0]);
    assert_eq!(warnings(&deregister.unwrap()), [""; 0]);
    assert_eq!(warnings(&deletion.unwrap()), [""; 0]);
    assert_eq!(warnings(&broker_only.unwrap()), [""; 0]);
    let fleet = fleet.unwrap();
    assert_eq!(warnings(&fleet), [""; 0]);
    assert!(fleet.config.cloud_foundry.is_some());
}

#[test]
fn the_sample_is_about_the_broker_beside_it() {
    let broker: serde_json::Value = odb_adapter_sdk::yaml::from_str(include_str!(
        "../../../../manifests/sandbox/redis-broker.yml"
    ))
    .unwrap();
    let catalog = &broker["service_catalog"];
    let register = RegisterBroker::load(sample().path()).unwrap().config;
    let deletion = Deletion::load(sample().path()).unwrap().config;
    assert_eq!(catalog["id"], register.offering.as_str());
    assert_eq!(catalog["id"], deletion.offering.as_str());
    let offered = catalog["plans"].as_array().unwrap().iter();
    let offered: Vec<_> = offered.map(|plan| plan["name"].as_str().unwrap()).collect();
    let registered = register.plans.iter().map(|plan| plan.name.as_str());
    assert_eq!(registered.collect::<Vec<_>>(), offered);
}

#[test]
fn a_key_that_no_errand_knows_is_remarked_upon() {
    let loaded = fleet(&format!(
        "{FLEET_WITHOUT_CF}plans: []\ncanarys: 3\nshoes: 2\n"
    ))
    .unwrap();
    assert_eq!(
        warnings(&loaded),
        [
            "c.yml:25:1: `canarys` is not known and ignored; is `canaries` meant?",
            "c.yml:26:1: `shoes` is not known and ignored; remove it",
        ]
    );
}

#[test]
fn an_errands_secrets_are_read_from_files_and_variables() {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), "hunter2\n").unwrap();
    let with = |password: &str| {
        let source = format!(
            "broker_api: {{url: https://b.example, authentication: {{basic: {{username: b, {password}}}}}}}"
        );
        parse(Path::new("c.yml"), &source, &FILES.broker_only, broker_api)
    };

    let loaded = with(&format!("password_file: {}", file.path().display())).unwrap();
    assert_eq!(loaded.config.password.expose_secret(), "hunter2");
    assert_eq!(warnings(&loaded), Vec::<String>::new());
    // Cargo sets it for every test.
    let loaded = with("password: '${CARGO_PKG_NAME}'").unwrap();
    assert_eq!(loaded.config.password.expose_secret(), "odb-config");
    assert_eq!(
        errors(with("password: '${ODB_UNSET}'")),
        [
            "c.yml:1:86: `broker_api.authentication.basic.password` refers to the environment variable `ODB_UNSET`, which is not set; set it; use `password_file` for a secret that looks like `${ODB_UNSET}`"
        ]
    );
    assert_eq!(
        errors(with("password_file: /missing")),
        [
            "c.yml:1:91: `broker_api.authentication.basic.password_file` names a file that does not exist; give the absolute path of a file that has only the secret, at most 64 KiB of UTF-8"
        ]
    );
}
