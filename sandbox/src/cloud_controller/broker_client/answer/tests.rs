use Call::{Bind, Deprovision, Fetch, Provision, Unbind, Update};
use actix_web::http::StatusCode;
use reqwest::Method;

use super::*;

fn raw(status: u16, body: &str) -> RawResponse {
    RawResponse {
        method: Method::PUT,
        url: "http://broker/v2/service_instances/i".into(),
        status: StatusCode::from_u16(status).unwrap(),
        retry_after: None,
        body: body.into(),
    }
}

fn answer(call: Call<'_>, status: u16, body: &str) -> Response {
    Response::of(call, Ok(raw(status, body)))
}

fn failure(call: Call<'_>, status: u16, body: &str) -> BrokerFailure {
    match answer(call, status, body) {
        Response::Failed(failure, _) => failure,
        other => panic!("not a failure: {other:?}"),
    }
}

/// One letter per meaning: done, accepted, failed, failed with mitigation.
fn meaning(answer: &Response) -> char {
    match answer {
        Response::Done(_) => 'd',
        Response::Accepted { .. } => 'a',
        Response::Failed(_, Mitigation::NotNeeded) => 'f',
        Response::Failed(_, Mitigation::Needed) => 'm',
    }
}

#[test]
fn statuses_mean_what_they_mean_to_a_cloud_controller() {
    // In the order of the calls: provision, bind, update, deprovision, unbind, fetch.
    let table = [
        (200, "{}", "dddddd"),
        (201, "{}", "ddffff"),
        (202, "{}", "aaaaaf"),
        (203, "{}", "mmffff"),
        (204, "", "mmffff"),
        (206, "{}", "mmffff"),
        (301, "", "mmffff"),
        (302, "", "mmffff"),
        (400, "{}", "ffffff"),
        (401, "{}", "ffffff"),
        (403, "{}", "ffffff"),
        (404, "{}", "ffffff"),
        (408, "{}", "ffffff"),
        (409, "{}", "ffffff"),
        (410, "{}", "mmfddf"),
        (412, "{}", "ffffff"),
        (413, "{}", "ffffff"),
        (429, "{}", "ffffff"),
        (422, r#"{"error":"ConcurrencyError"}"#, "ffffff"),
        (422, r#"{"error":"AsyncRequired"}"#, "ffffff"),
        (422, r#"{"error":"MaintenanceInfoConflict"}"#, "fmffff"),
        (422, r#"{"error":"RequiresApp"}"#, "mfffff"),
        (422, r#"{"error":"Else"}"#, "mmffff"),
        (422, "{}", "mmffff"),
        (422, "no JSON", "mmffff"),
        (500, "{}", "mmffff"),
        (502, "<html>", "mmffff"),
        (503, "{}", "mmffff"),
        (504, "", "mmffff"),
        (200, "no JSON", "ffffff"),
        (200, "[]", "ffffff"),
        (201, "no JSON", "mmffff"),
        (202, "no JSON", "mmffff"),
        (202, r#"{"operation":null}"#, "mmffff"),
        (202, r#"{"operation":7}"#, "mmffff"),
        (201, r#"{"dashboard_url":7}"#, "mdffff"),
        (200, r#"{"dashboard_url":7}"#, "fdfddf"),
        (200, r#"{"dashboard_url":null}"#, "dddddf"),
        (201, r#"{"credentials":"secret"}"#, "dmffff"),
        (200, r#"{"credentials":"secret"}"#, "dfdddf"),
        (201, r#"{"syslog_drain_url":"syslog://logs"}"#, "dmffff"),
        (201, r#"{"volume_mounts":[]}"#, "dmffff"),
        (201, r#"{"route_service_url":"http://routes"}"#, "dmffff"),
    ];
    for (status, body, expected) in table {
        let meanings: String = [Provision, Bind(&[]), Update, Deprovision, Unbind, Fetch]
            .into_iter()
            .map(|call| meaning(&answer(call, status, body)))
            .collect();
        assert_eq!(meanings, expected, "status {status} with {body}");
    }
}

#[test]
fn what_the_offering_requires_may_be_given_with_a_binding() {
    let requires: Vec<String> = ["syslog_drain", "volume_mount"].map(Into::into).into();
    let mount = r#"{"device_type":"shared","device":{"volume_id":"v"},"mode":"rw","container_dir":"/d","driver":"nfs"}"#;
    for (body, expected) in [
        (r#"{"syslog_drain_url":"syslog://logs"}"#.to_owned(), 'd'),
        (format!(r#"{{"volume_mounts":[{mount}]}}"#), 'd'),
        (
            format!(
                r#"{{"volume_mounts":[{}]}}"#,
                mount.replace("\"v\"", "\"\"")
            ),
            'm',
        ),
        (
            format!(r#"{{"volume_mounts":[{}]}}"#, mount.replace("\"rw\"", "7")),
            'm',
        ),
        (r#"{"volume_mounts":{}}"#.to_owned(), 'm'),
        (
            r#"{"route_service_url":"https://routes.example"}"#.to_owned(),
            'd',
        ),
    ] {
        assert_eq!(
            meaning(&answer(Bind(&requires), 201, &body)),
            expected,
            "{body}"
        );
    }
}

#[test]
fn silence_is_mitigated_only_if_the_broker_may_have_received_it() {
    let url = || "http://broker".to_owned();
    let cause = || "connection reset by peer".to_owned();
    let silences: [fn(String, String) -> Silence; 3] = [
        |url, _| Silence::Timeout { url },
        |url, _| Silence::Unreachable { url },
        |_, cause| Silence::Disconnected { cause },
    ];
    let meanings = |call| -> String {
        silences
            .iter()
            .map(|silence| meaning(&Response::of(call, Err(silence(url(), cause())))))
            .collect()
    };
    assert_eq!(meanings(Provision), "mff");
    assert_eq!(meanings(Bind(&[])), "mff");
    assert_eq!(meanings(Deprovision), "fff");
}

#[test]
fn texts_are_those_of_a_cloud_controller() {
    let table = [
        (
            Provision,
            500,
            r#"{"description":"out of disks"}"#,
            "Service broker error: out of disks",
        ),
        (
            Provision,
            500,
            "on fire",
            "The service broker returned an invalid response. Status Code: 500 Internal Server Error, Body: on fire",
        ),
        (
            Update,
            201,
            r#"{"description":"fine"}"#,
            "The service broker returned an invalid response. Status Code: 201 Created, Body: {\"description\":\"fine\"}",
        ),
        (
            Provision,
            403,
            "{}",
            "The service broker rejected the request. Status Code: 403 Forbidden, Body: {}",
        ),
        (
            Provision,
            401,
            "{}",
            "Authentication with the service broker failed. Double-check that the username and password are correct.",
        ),
        (
            Provision,
            408,
            "{}",
            "The request to the service broker timed out: http://broker/v2/service_instances/i",
        ),
        (Provision, 409, "{}", "Resource conflict"),
        (
            Provision,
            409,
            r#"{"description":"there already"}"#,
            "Service broker error: there already",
        ),
        (
            Provision,
            202,
            "soon",
            "The service broker returned an invalid response: expected valid JSON object in body, broker returned 'soon'",
        ),
        (
            Update,
            422,
            r#"{"error":"ConcurrencyError","description":"busy"}"#,
            "Service broker error: busy",
        ),
        (
            Deprovision,
            422,
            r#"{"error":"ConcurrencyError","description":"busy"}"#,
            "The service broker could not perform this operation in parallel with other running operations",
        ),
        (
            Update,
            422,
            r#"{"error":"MaintenanceInfoConflict","description":" "}"#,
            "The service broker did not provide a reason for this conflict, please ensure the catalog is up to date \
             and you are providing a version supported by this service plan",
        ),
    ];
    for (call, status, body, expected) in table {
        assert_eq!(failure(call, status, body).to_string(), expected);
    }
}

#[test]
fn a_long_text_is_cut() {
    let shown = |length: usize| failure(Provision, 500, &"ü".repeat(length)).to_string();
    assert!(shown(8_000).ends_with('ü'), "up to 16 KiB it stays");
    let cut = shown(9_000);
    assert!(cut.ends_with("check the broker's logs"), "{cut}");
    assert!((8_000..8_400).contains(&cut.len()), "{}", cut.len());
}
