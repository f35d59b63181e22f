//! Reading from the Cloud Controller by either version of its API, and how the version is chosen.

use std::sync::atomic::{AtomicBool, Ordering};

use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{ApiVersion, InstanceGuid},
    http::StatusCode,
};

use crate::{
    cf::{BOTH, Cf, V2, V3, V3_ROOT, plans, resource, v2, v3},
    foundation::{Reply, call},
};

#[tokio::test]
async fn the_versions_are_public() {
    let cf = v3(|_| Reply::status(500, "")).await;

    let versions = cf.api_versions(&call()).await.unwrap();

    assert_eq!(
        (versions.v3.as_deref(), versions.v2.as_deref()),
        (Some("3.228.0"), None)
    );
    assert_eq!(versions.supported().unwrap(), ApiVersion::V3);
    assert_eq!(cf.server.lines(), ["GET /"]);
    assert!(cf.uaa.seen().is_empty());
}

#[tokio::test]
async fn the_version_is_asked_for_once_however_many_questions_follow() {
    let cf = v3(|_| V3.page(None, 0, "")).await;

    let call = call();
    let asked = [cf.client.clone(), cf.client.clone(), cf.client.clone()].map(|client| {
        let call = call.clone();
        tokio::spawn(async move { client.plans_of_offering(&call, "x").await })
    });
    for asked in asked {
        asked.await.unwrap().unwrap();
    }

    assert_eq!(cf.lines().len(), 3);
}

#[tokio::test]
async fn a_version_that_could_not_be_learned_is_asked_for_again() {
    let cf = Cf::start({
        let broken = AtomicBool::new(true);
        move |request| match request.target.as_str() {
            "/" if broken.swap(false, Ordering::Relaxed) => Reply::status(500, "oops"),
            "/" => Reply::ok(V3_ROOT),
            "/v2/info" => Reply::status(404, "V2 endpoints disabled"),
            _ => V3.page(None, 0, ""),
        }
    })
    .await;

    let error = cf.plans_of_offering(&call(), "x").await.unwrap_err();
    assert!(error.to_string().contains("oops"), "{error}");
    cf.plans_of_offering(&call(), "x").await.unwrap();

    assert_eq!(
        cf.server.lines()[..3],
        ["GET /", "GET /v2/info", "GET /"],
        "{:?}",
        cf.server.lines()
    );
}

#[tokio::test]
async fn a_foundation_with_neither_version_is_distinguished_from_one_that_does_not_answer() {
    let young = V3_ROOT.replace("3.228.0", "3.94.0");
    let cf = Cf::start(move |request| match request.target.as_str() {
        "/" => Reply::ok(young.clone()),
        // As of today's foundations, which have version 2 switched off.
        _ => Reply::ok(r#"{"api_version":"","osbapi_version":"2.15"}"#),
    })
    .await;

    let error = cf.plans_of_offering(&call(), "x").await.unwrap_err();

    assert!(
        matches!(&error.kind, FailureKind::NoUsableVersion { v3: Some(v3), v2: None } if v3 == "3.94.0"),
        "{error:?}"
    );
    assert!(cf.uaa.seen().is_empty());
}

#[tokio::test]
async fn both_versions_are_reported_where_the_newer_one_is_too_young() {
    let cf = v2(|_| Reply::status(500, "")).await;

    let versions = cf.api_versions(&call()).await.unwrap();

    assert_eq!(
        (versions.v3.as_deref(), versions.v2.as_deref()),
        (Some("3.76.0"), Some("2.141.0"))
    );
    assert_eq!(versions.supported().unwrap(), ApiVersion::V2);
    assert_eq!(cf.lines(), Vec::<String>::new());
    assert!(cf.uaa.seen().is_empty());
}

#[tokio::test]
async fn a_foundation_that_knows_no_root_document_is_called_by_version_2() {
    let cf = Cf::start(|request| match request.target.as_str() {
        "/" => Reply::status(
            404,
            r#"{"description":"Unknown request","error_code":"CF-NotFound","code":10000}"#,
        ),
        // Two parts are a version too.
        "/v2/info" => Reply::ok(r#"{"api_version":"2.57"}"#),
        _ => V2.page(None, 0, ""),
    })
    .await;

    let found = cf.plans_of_offering(&call(), "x").await.unwrap();

    assert!(found.is_empty());
    assert_eq!(cf.lines(), ["GET /v2/services?results-per-page=100"]);
}

fn plan_v3(guid: &str, catalog_id: &str) -> String {
    format!(
        r#"{{"guid":"{guid}","name":"small","visibility_type":"public","maintenance_info":{{}},"broker_catalog":{{"id":"{catalog_id}","metadata":{{}}}},"relationships":{{"service_offering":{{"data":{{"guid":"o"}}}}}}}}"#
    )
}

fn service_v2(guid: &str, unique_id: &str) -> String {
    let url = format!("/v2/services/{guid}/service_plans");
    let entity = format!(r#""label":"redis","unique_id":{unique_id},"service_plans_url":"{url}""#);
    resource(guid, &entity)
}

fn plan_v2(guid: &str, unique_id: &str) -> String {
    let entity = format!(r#""name":"small","unique_id":"{unique_id}","public":true"#);
    resource(guid, &entity)
}

#[tokio::test]
async fn the_plans_of_all_offerings_with_a_catalog_id_are_found_page_by_page() {
    let cf = v3(|request| match request.target.as_str() {
        target if target.starts_with("/v3/service_offerings") => {
            V3.page(None, 2, r#"{"guid":"offering-1"},{"guid":"offering-2"}"#)
        }
        target if target.contains("page=2") => V3.page(None, 3, &plan_v3("plan-3", "catalog-3")),
        _ => V3.page(
            Some("https://api.not.reachable/v3/service_plans?page=2&per_page=5000"),
            3,
            &format!(
                "{},{}",
                plan_v3("plan-1", "catalog-1"),
                plan_v3("plan-2", "catalog-2")
            ),
        ),
    })
    .await;

    let found = cf.plans_of_offering(&call(), "a,b").await.unwrap();

    let ids: Vec<_> = found
        .iter()
        .map(|plan| (plan.guid.as_str(), plan.unique_id.as_str()))
        .collect();
    assert_eq!(
        ids,
        [
            ("plan-1", "catalog-1"),
            ("plan-2", "catalog-2"),
            ("plan-3", "catalog-3")
        ]
    );
    assert_eq!(
        cf.lines(),
        [
            // A comma in a value is encoded twice.
            "GET /v3/service_offerings?broker_catalog_ids=a%252Cb&per_page=5000",
            "GET /v3/service_plans?service_offering_guids=offering-1%2Coffering-2&per_page=5000",
            "GET /v3/service_plans?page=2&per_page=5000",
        ]
    );
    let request = &cf.server.seen()[1];
    assert_eq!(request.header("authorization"), "Bearer token-1");
    assert_eq!(request.header("x-vcap-request-id"), "req-1");
}

#[tokio::test]
async fn the_plans_of_all_offerings_with_a_catalog_id_are_found_page_by_page_in_version_2() {
    let cf = v2(|request| match request.target.as_str() {
        "/v2/services?results-per-page=100" => V2.page(
            Some("/v2/services?order-direction=asc&page=2&results-per-page=100"),
            4,
            &[
                service_v2("service-1", r#""catalog-1""#),
                service_v2("foreign", r#""another-owners""#),
                service_v2("odd", "null"),
            ]
            .join(","),
        ),
        "/v2/services?order-direction=asc&page=2&results-per-page=100" => {
            V2.page(None, 4, &service_v2("service-2", r#""catalog-1""#))
        }
        "/v2/services/service-1/service_plans?results-per-page=100" => V2.page(
            Some("/v2/services/service-1/service_plans?page=2&results-per-page=100"),
            2,
            &plan_v2("plan-1", "id-1"),
        ),
        target if target.contains("service-1") => V2.page(None, 2, &plan_v2("plan-2", "id-2")),
        target if target.contains("service-2") => V2.page(None, 1, &plan_v2("plan-3", "id-1")),
        target => panic!("no request should ask for {target}"),
    })
    .await;

    let found = cf.plans_of_offering(&call(), "catalog-1").await.unwrap();

    let ids: Vec<_> = found
        .iter()
        .map(|plan| (plan.guid.as_str(), plan.unique_id.as_str()))
        .collect();
    assert_eq!(
        ids,
        [("plan-1", "id-1"), ("plan-2", "id-2"), ("plan-3", "id-1")]
    );
    assert_eq!(cf.lines().len(), 5);
    let request = &cf.server.seen()[2];
    assert_eq!(request.header("authorization"), "Bearer token-1");
    assert_eq!(request.header("x-vcap-request-id"), "req-1");
}

#[tokio::test]
async fn an_offering_that_is_not_there_has_no_plans() {
    let cf = v3(|_| V3.page(None, 0, "")).await;

    assert!(cf.plans_of_offering(&call(), "x").await.unwrap().is_empty());
    assert_eq!(cf.lines().len(), 1);
}

#[tokio::test]
async fn the_instances_of_several_plans_are_counted_with_one_request() {
    let cf = v3(|_| V3.page(None, 7, "")).await;

    let guids = plans(&["plan-1", "plan-2"]);
    let total = cf.count_all_instances(&call(), &guids).await.unwrap();

    assert_eq!(total, 7);
    assert_eq!(
        cf.lines(),
        ["GET /v3/service_instances?service_plan_guids=plan-1%2Cplan-2&per_page=1"]
    );
    assert_eq!(cf.count_all_instances(&call(), &[]).await.unwrap(), 0);
}

#[tokio::test]
async fn instances_are_counted_plan_by_plan() {
    for (version, first) in [
        (
            V3,
            "GET /v3/service_instances?service_plan_guids=plan-1&per_page=1",
        ),
        (
            V2,
            "GET /v2/service_plans/plan-1/service_instances?results-per-page=1",
        ),
    ] {
        let cf = Cf::of(version, move |request| {
            let total = if request.target.contains("plan-1") {
                7
            } else {
                0
            };
            version.page(None, total, "")
        })
        .await;

        let counts = cf
            .count_instances(&call(), &plans(&["plan-1", "plan-2"]))
            .await
            .unwrap();

        let counts: Vec<_> = counts
            .iter()
            .map(|(plan, count)| (plan.as_str(), *count))
            .collect();
        assert_eq!(counts, [("plan-1", 7), ("plan-2", 0)]);
        let mut lines = cf.lines();
        lines.sort();
        assert_eq!(lines[0], first);
    }
}

#[tokio::test]
async fn a_list_that_goes_round_in_circles_ends() {
    for (version, next) in [
        (V3, "/v3/service_offerings?page=2"),
        (V2, "/v2/services?page=2"),
    ] {
        let cf = Cf::of(version, move |_| version.page(Some(next), 1, "")).await;

        let error = cf.plans_of_offering(&call(), "x").await.unwrap_err();

        assert!(matches!(error.kind, FailureKind::EndlessList), "{error:?}");
    }
}

#[tokio::test]
async fn an_expired_token_is_replaced_once() {
    for version in BOTH {
        let cf = Cf::of(version, move |request| {
            match request.header("authorization") {
                "Bearer token-1" => {
                    version.error(401, 1000, "CF-InvalidAuthToken", "Invalid Auth Token")
                }
                _ => version.page(None, 0, ""),
            }
        })
        .await;

        cf.plans_of_offering(&call(), "x").await.unwrap();

        assert_eq!((cf.lines().len(), cf.uaa.seen().len()), (2, 2));
    }
}

#[tokio::test]
async fn a_read_that_meets_a_bad_gateway_is_made_again() {
    let bad = AtomicBool::new(true);
    let cf = v2(move |_| {
        if bad.swap(false, Ordering::Relaxed) {
            Reply::status(502, "")
        } else {
            V2.page(None, 0, "")
        }
    })
    .await;

    cf.plans_of_offering(&call(), "x").await.unwrap();

    assert_eq!(cf.lines().len(), 2);
}

#[tokio::test]
async fn a_rejection_is_reported_with_code_and_title() {
    for version in BOTH {
        let cf = Cf::of(version, move |_| {
            version.error(
                403,
                10003,
                "CF-NotAuthorized",
                "You are not authorized to perform it",
            )
        })
        .await;

        let error = cf.instances().await.unwrap_err();

        assert_eq!(
            (error.status(), error.code()),
            (Some(StatusCode::FORBIDDEN), Some(10_003))
        );
        let reported = error.to_string();
        assert!(
            reported.contains("CF-NotAuthorized") && reported.contains("not authorized to perform"),
            "{reported}"
        );
        assert!(!error.is_transient());
        assert_eq!(cf.lines().len(), 1);
    }
}

/// A lookup by id returns instances of all offerings, and those without a service broker.
#[tokio::test]
async fn those_of_many_ids_that_are_instances_are_found_in_lists_of_fifty() {
    let cf = v3(|request| {
        if request.target.contains("id-59") {
            V3.page(None, 1, r#"{"guid":"id-59","type":"user-provided"}"#)
        } else {
            V3.page(None, 0, "")
        }
    })
    .await;
    let ids: Vec<_> = (0..60)
        .map(|n| format!("id-{n}").parse().unwrap())
        .collect();

    let known = cf.known_instances(&call(), &ids).await.unwrap();

    assert_eq!(
        known.iter().map(InstanceGuid::as_str).collect::<Vec<_>>(),
        ["id-59"]
    );
    let asked = cf.lines();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let begin = "GET /v3/service_instances?guids=id-50%2C";
    assert!(asked[1].starts_with(begin), "{asked:?}");
    assert!(cf.known_instances(&call(), &[]).await.unwrap().is_empty());
}
#[tokio::test]
async fn an_id_is_unknown_only_if_the_cloud_controller_itself_says_so() {
    let cf = v2(|request| match request.target.as_str() {
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
        cf.known_instances(&call(), &ids).await
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
