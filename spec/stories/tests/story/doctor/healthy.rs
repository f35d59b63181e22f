//! All is well, or only the file is wrong.

use odb_stories::{Foundation, InstancesApi, eventually};
use serde_json::{Value, json};

use super::{doctor, doctor_in, everything, examined};
use crate::TIMEOUT;

/// The subjects and properties with every feature on.
const LOOKED_AT: &[(&str, &str)] = &[
    (
        "director",
        "name connection certificate answer version features configs credentials rights clock",
    ),
    (
        "director-uaa",
        "name connection certificate answer credentials clock",
    ),
    (
        "director-credhub",
        "name connection certificate answer credentials version rights foundation clock",
    ),
    (
        "cloud-controller",
        "name connection certificate answer version rights plans clock",
    ),
    (
        "cloud-controller-uaa",
        "name connection certificate answer credentials rights clock",
    ),
    (
        "runtime-credhub",
        "name connection certificate answer credentials version rights foundation clock",
    ),
    ("service-adapter", "executable schemas"),
    ("own-certificate", "certificate"),
];

#[tokio::test]
async fn where_all_is_well_every_row_has_a_tick_and_nothing_has_been_changed() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let secrets = foundation.secrets().await;
    let before = foundation.control().broker_calls(0).await;
    assert!(before.is_empty(), "{before:?}");

    let json = examined(everything(&foundation)).await;
    let text = doctor(everything(&foundation), &[]).await;

    let report = json.report();
    assert_eq!((json.status, text.status), (0, 0), "{}", text.output);
    assert_eq!(report["format"], 1);
    assert_eq!(report["well"], true);
    assert_eq!(report["findings"], json!([]), "{}", text.output);
    let probes = report["probes"].as_array().unwrap();
    let not_asked = ["service-instances-api"];
    for probe in probes {
        let upstream = probe["upstream"].as_str().unwrap();
        let expected = if not_asked.contains(&upstream) {
            "not-asked"
        } else {
            "fine"
        };
        assert_eq!(probe["result"], expected, "{probe}");
    }
    for (upstream, wanted) in LOOKED_AT {
        for probe in wanted.split(' ') {
            let is_it = |row: &&Value| row["upstream"] == *upstream && row["probe"] == probe;
            assert!(
                probes.iter().any(|row| is_it(&row)),
                "{upstream} {probe}: {report:#}"
            );
        }
    }
    // Both forms say the same.
    for probe in probes {
        let said = probe["text"].as_str().unwrap();
        assert!(text.output.contains(said), "{said}: {}", text.output);
    }
    let calls = foundation.control().broker_calls(0).await;
    assert!(!calls.is_empty());
    for call in &calls {
        assert!(call.method == "GET" || call.is_for_a_token(), "{call:?}");
        assert!(call.status.is_some_and(|status| status < 500), "{call:?}");
    }
    let servers = [
        "director",
        "bosh-uaa",
        "credhub",
        "cloud-controller",
        "cf-uaa",
        "runtime-credhub",
    ];
    for server in servers {
        assert!(calls.iter().any(|call| call.server == server), "{server}");
    }
    for said in [&json.output, &text.output] {
        secrets.expect_none_in("the doctor's report", said);
    }
}

#[tokio::test]
async fn what_is_not_configured_is_not_asked_and_the_reason_is_reported() {
    let foundation = Foundation::setup()
        .with_director_admin()
        .with_director_user("operator", "pAss-of-the-Director")
        .without_processes()
        .start()
        .await;
    let api = InstancesApi::start().await;
    let basic = json!({ "basic": { "username": "operator", "password": "pAss-of-the-Director" } });
    let configuration = foundation
        .broker()
        .with_instances_api(api.url())
        .with("/bosh/authentication", basic)
        .with_plain_http();

    let ran = examined(configuration).await;

    assert_eq!(ran.status, 0, "{}", ran.output);
    let report = ran.report();
    for (upstream, why) in [
        ("director-uaa", "has its own users"),
        (
            "director-credhub",
            "`broker.enable_secure_manifests` is off",
        ),
        ("cloud-controller", "`cf` is not configured"),
        ("runtime-credhub", "`credhub` is not configured"),
        ("own-certificate", "`broker.tls` is not set"),
        ("service-adapter", "`broker.enable_plan_schemas` is off"),
    ] {
        let probes = report["probes"].as_array().unwrap();
        let reported = probes.iter().any(|probe| {
            let text = probe["text"].as_str().unwrap();
            probe["upstream"] == upstream && probe["result"] == "not-asked" && text.contains(why)
        });
        assert!(reported, "{upstream}: {report:#}");
    }
    let listed = report["probes"].as_array().unwrap().iter();
    let mut listed = listed.filter(|probe| probe["probe"] == "list" && probe["result"] == "fine");
    assert!(listed.next().is_some(), "{report:#}");
    // The query of an address may hold secrets.
    assert!(!ran.output.contains("service=redis"), "{}", ran.output);
    assert!(!ran.output.contains("pAss-of"), "{}", ran.output);
}

#[tokio::test]
async fn behind_a_proxy_names_are_not_looked_up_here() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let configuration = foundation
        .broker()
        .with("/bosh/url", "https://director.invalid".into());
    let arguments = ["--format", "json", "--timeout", "1"];

    let ran = doctor_in(
        configuration,
        &arguments,
        ("HTTPS_PROXY", "http://user:pAssw0rd@127.0.0.1:9"),
    )
    .await;

    let report = ran.report();
    for probe in ["name", "connection", "certificate"] {
        let probes = report["probes"].as_array().unwrap();
        let row = probes
            .iter()
            .find(|row| row["upstream"] == "director" && row["probe"] == probe);
        let row = row.unwrap_or_else(|| panic!("{probe}: {report:#}"));
        assert_eq!(row["result"], "not-asked");
        assert!(
            row["text"].as_str().unwrap().contains("`127.0.0.1:9`"),
            "{row}"
        );
    }
    let answer = (
        "director".to_owned(),
        "answer".to_owned(),
        "ODB-1101".to_owned(),
    );
    assert_eq!(ran.blamed(), [answer], "{}", ran.output);
    assert!(!ran.output.contains("pAssw0rd"), "{}", ran.output);
}

#[tokio::test]
async fn errors_of_the_file_are_reported_and_reachable_upstreams_are_still_probed() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let configuration = foundation
        .broker()
        .with("/broker/port", 70000.into())
        .with("/service_adapter/path", "/nowhere/adapter".into())
        .with(
            "/bosh/authentication/uaa/client_credentials/client_secret",
            Value::Null,
        );

    let ran = examined(configuration).await;

    assert_eq!(ran.status, 1);
    let report = ran.report();
    let faults = report["configuration"]["errors"].as_array().unwrap();
    let keys: Vec<_> = faults
        .iter()
        .map(|fault| fault["key"].as_str().unwrap())
        .collect();
    for key in [
        "broker.port",
        "service_adapter.path",
        "bosh.authentication.uaa.client_credentials.client_secret",
    ] {
        assert!(keys.contains(&key), "{keys:?}");
    }
    let result = |upstream: &str, probe: &str| {
        let probes = report["probes"].as_array().unwrap();
        let mut probes = probes.iter();
        let found = probes.find(|row| row["upstream"] == upstream && row["probe"] == probe);
        found.map(|row| row["result"].clone()).unwrap_or_default()
    };
    assert_eq!(result("director", "answer"), "not-asked");
    assert_eq!(result("service-adapter", "answer"), "not-asked");
    assert_eq!(result("cloud-controller", "plans"), "fine");
    assert_eq!(result("cloud-controller-uaa", "credentials"), "fine");
    assert_eq!(report["findings"], json!([]));
}

#[tokio::test]
async fn a_broken_root_is_reported_once_and_no_server_that_it_signs_is_called() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let broken = || {
        everything(&foundation)
            .with("/bosh/root_ca_cert", "no certificate".into())
            .with("/cf/root_ca_cert", "none either".into())
    };

    let ran = examined(broken()).await;

    assert_eq!(ran.status, 1);
    let report = ran.report();
    let faults = report["configuration"]["errors"].as_array().unwrap();
    let keys: Vec<_> = faults.iter().map(|fault| &fault["key"]).collect();
    assert_eq!(keys, ["bosh.root_ca_cert", "cf.root_ca_cert"]);
    assert_eq!(report["findings"], json!([]), "{}", ran.output);
    let probes = report["probes"].as_array().unwrap();
    for upstream in ["director", "cloud-controller", "cloud-controller-uaa"] {
        let rows = probes.iter().filter(|row| row["upstream"] == upstream);
        let reported: Vec<_> = rows.map(|row| (&row["result"], &row["text"])).collect();
        let result = json!("not-asked");
        let why = json!("not checked, because of the errors in the file");
        assert_eq!(reported, [(&result, &why)], "{upstream}: {}", ran.output);
    }
    let text = doctor(broken(), &[]).await.output;
    assert!(
        text.ends_with("doctor.yml: 2 errors, 0 warnings\n"),
        "{text}"
    );
}

#[tokio::test]
async fn an_interrupt_stops_the_doctor_immediately() {
    let foundation = Foundation::bare().with_director_admin().start().await;
    let control = foundation.control();
    let wanted = json!({ "server": "director", "effect": { "kind": "hold" } });
    let held = control.set_fault(&wanted).await;
    let file = foundation
        .broker()
        .write("doctor.yml")
        .display()
        .to_string();
    let arguments = ["doctor", "--config", &file, "--timeout", "60"];
    let mut process = foundation.broker_process_in(&arguments, &[("NO_PROXY", "*")]);
    eventually("the Director is asked", TIMEOUT, async || {
        let fault = control.fault(held.id).await;
        let waits = fault.holds > 0;
        waits
            .then_some(())
            .ok_or_else(|| "no request waits".to_owned())
    })
    .await;

    process.interrupt();

    assert_eq!(process.exit(TIMEOUT).await.code(), Some(130));
    assert_eq!(process.output(), "");
}
