//! Reading from the Cloud Controller of an old foundation, by version 2 of its API.

use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{ApiVersion, CloudController, InstanceGuid, PlanGuid},
    http::StatusCode,
};

use crate::{
    cloud_controller::{client_of, instances},
    foundation::{Reply, Request, Server, call, uaa},
};

/// A Cloud Controller whose version 3 is too old, and a client of it.
pub(crate) async fn old_foundation(
    uaa: &Server,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, CloudController) {
    client_of(uaa, move |request| match request.target.as_str() {
        "/" => Reply::ok(
            r#"{"links":{"cloud_controller_v3":{"href":"https://api/v3","meta":{"version":"3.76.0"}},"cloud_controller_v2":{"href":"https://api/v2","meta":{"version":"2.141.0"}}}}"#,
        ),
        "/v2/info" => Reply::ok(r#"{"name":"old","api_version":"2.141.0","osbapi_version":"2.15"}"#),
        _ => answer(request),
    })
    .await
}

/// The request lines so far, without the one for the versions.
pub(crate) fn lines(server: &Server) -> Vec<String> {
    let lines = server.lines();
    assert_eq!(lines[..2], ["GET /", "GET /v2/info"], "{lines:?}");
    lines[2..].to_vec()
}

pub(crate) fn page(next: Option<&str>, total: u64, resources: &str) -> Reply {
    let next = next.map_or("null".to_owned(), |url| format!(r#""{url}""#));
    Reply::ok(format!(
        r#"{{"total_results":{total},"total_pages":1,"prev_url":null,"next_url":{next},"resources":[{resources}]}}"#
    ))
}

pub(crate) fn resource(guid: &str, entity: &str) -> String {
    format!(
        r#"{{"metadata":{{"guid":"{guid}","url":"/v2/x","created_at":"2020-01-01T00:00:00Z","updated_at":null}},"entity":{{{entity}}}}}"#
    )
}

fn service(guid: &str, unique_id: &str) -> String {
    let url = format!("/v2/services/{guid}/service_plans");
    resource(
        guid,
        &format!(r#""label":"redis","unique_id":{unique_id},"service_plans_url":"{url}""#),
    )
}

fn plan(guid: &str, unique_id: &str) -> String {
    resource(
        guid,
        &format!(r#""name":"small","unique_id":"{unique_id}","public":true"#),
    )
}

fn plans(guids: &[&str]) -> Vec<PlanGuid> {
    guids.iter().map(|guid| guid.parse().unwrap()).collect()
}

#[tokio::test]
async fn both_versions_are_reported_where_the_newer_one_is_too_young() {
    let uaa = uaa(1199).await;
    let (server, client) = old_foundation(&uaa, |_| Reply::status(500, "")).await;

    let versions = client.api_versions(&call()).await.unwrap();

    assert_eq!(
        (versions.v3.as_deref(), versions.v2.as_deref()),
        (Some("3.76.0"), Some("2.141.0"))
    );
    assert_eq!(versions.supported().unwrap(), ApiVersion::V2);
    assert_eq!(lines(&server), Vec::<String>::new());
    assert!(uaa.seen().is_empty());
}

#[tokio::test]
async fn a_foundation_that_knows_no_root_document_is_called_by_version_2() {
    let uaa = uaa(1199).await;
    let (server, client) = client_of(&uaa, |request| match request.target.as_str() {
        "/" => Reply::status(
            404,
            r#"{"description":"Unknown request","error_code":"CF-NotFound","code":10000}"#,
        ),
        // Two parts are a version too.
        "/v2/info" => Reply::ok(r#"{"api_version":"2.57"}"#),
        _ => page(None, 0, ""),
    })
    .await;

    let found = client.plans_of_offering(&call(), "x").await.unwrap();

    assert!(found.is_empty());
    assert_eq!(lines(&server), ["GET /v2/services?results-per-page=100"]);
}

#[tokio::test]
async fn the_plans_of_all_offerings_with_a_catalog_id_are_found_page_by_page() {
    let uaa = uaa(1199).await;
    let (server, client) = old_foundation(&uaa, |request| match request.target.as_str() {
        "/v2/services?results-per-page=100" => page(
            Some("/v2/services?order-direction=asc&page=2&results-per-page=100"),
            4,
            &[
                service("service-1", r#""catalog-1""#),
                service("foreign", r#""another-owners""#),
                service("odd", "null"),
            ]
            .join(","),
        ),
        "/v2/services?order-direction=asc&page=2&results-per-page=100" => {
            page(None, 4, &service("service-2", r#""catalog-1""#))
        }
        "/v2/services/service-1/service_plans?results-per-page=100" => page(
            Some("/v2/services/service-1/service_plans?page=2&results-per-page=100"),
            2,
            &plan("plan-1", "id-1"),
        ),
        target if target.contains("service-1") => page(None, 2, &plan("plan-2", "id-2")),
        target if target.contains("service-2") => page(None, 1, &plan("plan-3", "id-1")),
        target => panic!("no request should ask for {target}"),
    })
    .await;

    let found = client
        .plans_of_offering(&call(), "catalog-1")
        .await
        .unwrap();

    let ids: Vec<_> = found
        .iter()
        .map(|plan| (plan.guid.as_str(), plan.unique_id.as_str()))
        .collect();
    assert_eq!(
        ids,
        [("plan-1", "id-1"), ("plan-2", "id-2"), ("plan-3", "id-1")]
    );
    assert_eq!(lines(&server).len(), 5);
    let request = &server.seen()[2];
    assert_eq!(request.header("authorization"), "Bearer token-1");
    assert_eq!(request.header("x-vcap-request-id"), "req-1");
}

#[tokio::test]
async fn instances_are_counted_plan_by_plan() {
    let uaa = uaa(1199).await;
    let (server, client) = old_foundation(&uaa, |request| {
        let total = if request.target.contains("plan-1") {
            7
        } else {
            0
        };
        page(None, total, "")
    })
    .await;

    let counts = client
        .count_instances(&call(), &plans(&["plan-1", "plan-2"]))
        .await
        .unwrap();

    let counts: Vec<_> = counts
        .iter()
        .map(|(plan, count)| (plan.as_str(), *count))
        .collect();
    assert_eq!(counts, [("plan-1", 7), ("plan-2", 0)]);
    let mut lines = lines(&server);
    lines.sort();
    assert_eq!(
        lines[0],
        "GET /v2/service_plans/plan-1/service_instances?results-per-page=1"
    );
}

#[tokio::test]
async fn an_expired_token_is_replaced_once() {
    let uaa = uaa(1199).await;
    let expired =
        r#"{"description":"Invalid Auth Token","error_code":"CF-InvalidAuthToken","code":1000}"#;
    let (server, client) =
        old_foundation(&uaa, move |request| match request.header("authorization") {
            "Bearer token-1" => Reply::status(401, expired),
            _ => page(None, 0, ""),
        })
        .await;

    client.plans_of_offering(&call(), "x").await.unwrap();

    assert_eq!((lines(&server).len(), uaa.seen().len()), (2, 2));
}

#[tokio::test]
async fn a_read_that_meets_a_bad_gateway_is_made_again() {
    let uaa = uaa(1199).await;
    let (server, client) = old_foundation(&uaa, {
        let bad = std::sync::atomic::AtomicBool::new(true);
        move |_| {
            if bad.swap(false, std::sync::atomic::Ordering::Relaxed) {
                Reply::status(502, "")
            } else {
                page(None, 0, "")
            }
        }
    })
    .await;

    client.plans_of_offering(&call(), "x").await.unwrap();

    assert_eq!(lines(&server).len(), 2);
}

#[tokio::test]
async fn a_rejection_is_reported_with_code_and_title() {
    let uaa = uaa(1199).await;
    let body = r#"{"description":"You are not authorized to perform the requested action","error_code":"CF-NotAuthorized","code":10003}"#;
    let (server, client) = old_foundation(&uaa, move |_| Reply::status(403, body)).await;

    let error = instances(&client).await.unwrap_err();

    assert!(
        matches!(
            error.kind,
            FailureKind::Refused {
                status: StatusCode::FORBIDDEN,
                code: Some(10_003),
                ..
            }
        ),
        "{error:?}"
    );
    let reported = error.to_string();
    assert!(
        reported.contains("CF-NotAuthorized") && reported.contains("not authorized to perform"),
        "{reported}"
    );
    assert_eq!(lines(&server).len(), 1);
}

#[tokio::test]
async fn a_list_that_goes_round_in_circles_ends() {
    let uaa = uaa(1199).await;
    let (_server, client) =
        old_foundation(&uaa, |_| page(Some("/v2/services?page=2"), 1, "")).await;

    let error = client.plans_of_offering(&call(), "x").await.unwrap_err();

    assert!(matches!(error.kind, FailureKind::EndlessList), "{error:?}");
}

#[tokio::test]
async fn an_id_is_unknown_only_if_the_cloud_controller_itself_says_so() {
    let uaa = uaa(1199).await;
    let (_server, client) = old_foundation(&uaa, |request| match request.target.as_str() {
        "/v2/service_instances/there" => Reply::ok(resource(
            "there",
            r#""service_plan_guid":"plan-1","space_guid":"space-1""#,
        )),
        "/v2/service_instances/gone" => Reply::status(
            404,
            r#"{"description":"not found","error_code":"CF-ServiceInstanceNotFound","code":60004}"#,
        ),
        _ => Reply::status(404, "404 Not Found: Requested route does not exist."),
    })
    .await;
    let known = async |ids: &[&str]| {
        let ids: Vec<_> = ids.iter().map(|id| id.parse().unwrap()).collect();
        client.known_instances(&call(), &ids).await
    };

    let found = known(&["there", "gone"]).await.unwrap();

    assert_eq!(
        found.iter().map(InstanceGuid::as_str).collect::<Vec<_>>(),
        ["there"]
    );
    let lost = known(&["gone", "elsewhere"]).await.unwrap_err();
    let ServiceError {
        kind: FailureKind::Refused { status, code, .. },
        ..
    } = lost
    else {
        panic!("it was answered: {lost}")
    };
    assert_eq!((status, code), (StatusCode::NOT_FOUND, None));
}
