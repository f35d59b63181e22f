//! Reading from the Cloud Controller by version 3 of its API, and how the version is chosen.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::TryStreamExt;
use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{
        ApiVersion, CfInstance, CloudController, InstanceGuid, InstanceQuery, PlanGuid,
    },
    http::{StatusCode, Trust},
    uaa::{Grant, TokenSource},
};

use crate::foundation::{Reply, Request, Server, call, limits, uaa};

/// `/` of a Cloud Controller with version 3 alone.
const V3_ROOT: &str = r#"{"links":{"self":{"href":"https://api"},"cloud_controller_v3":{"href":"https://api/v3","meta":{"version":"3.228.0"}},"cloud_controller_v2":null,"credhub":null}}"#;

/// A Cloud Controller with version 3 alone, and a client of it.
pub(crate) async fn cloud_controller(
    uaa: &Server,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, CloudController) {
    client_of(uaa, move |request| match request.target.as_str() {
        "/" => Reply::ok(V3_ROOT),
        _ => answer(request),
    })
    .await
}

/// A Cloud Controller that answers so, and a client of it.
pub(crate) async fn client_of(
    uaa: &Server,
    answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, CloudController) {
    let server = Server::start(answer).await;
    let trust = Trust::only(&format!("{}{}", server.certificate, uaa.certificate)).unwrap();
    let grant = Grant::Password {
        username: "admin".to_owned(),
        password: "pAssw0rd".into(),
    };
    let tokens = TokenSource::connect(&uaa.url, &trust, grant, limits()).unwrap();
    let client = CloudController::connect(&server.url, &trust, tokens, limits()).unwrap();
    (server, client)
}

/// The request lines so far, without the one for the version.
pub(crate) fn lines(server: &Server) -> Vec<String> {
    let mut lines = server.lines();
    assert_eq!(
        lines.remove(0),
        "GET /",
        "the version is asked for once, first"
    );
    lines
}

pub(crate) fn page(next: Option<&str>, total: u64, resources: &str) -> Reply {
    let next = next.map_or("null".to_owned(), |href| format!(r#"{{"href":"{href}"}}"#));
    Reply::ok(format!(
        r#"{{"pagination":{{"total_results":{total},"total_pages":1,"first":{{"href":"x"}},"last":{{"href":"x"}},"next":{next},"previous":null}},"resources":[{resources}]}}"#
    ))
}

fn plan(guid: &str, catalog_id: &str) -> String {
    format!(
        r#"{{"guid":"{guid}","name":"small","visibility_type":"public","maintenance_info":{{}},"broker_catalog":{{"id":"{catalog_id}","metadata":{{}}}},"relationships":{{"service_offering":{{"data":{{"guid":"o"}}}}}}}}"#
    )
}

/// The instances of `plan-1`.
pub(crate) async fn instances(client: &CloudController) -> Result<Vec<CfInstance>, ServiceError> {
    let query = InstanceQuery::of_plans(plans(&["plan-1"]));
    client.list_instances(&call(), query).try_collect().await
}

#[tokio::test]
async fn the_instances_of_several_plans_are_counted_with_one_request() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |_| page(None, 7, "")).await;

    let guids = plans(&["plan-1", "plan-2"]);
    let total = client.count_all_instances(&call(), &guids).await.unwrap();

    assert_eq!(total, 7);
    assert_eq!(
        lines(&server),
        ["GET /v3/service_instances?service_plan_guids=plan-1%2Cplan-2&per_page=1"]
    );
    assert_eq!(client.count_all_instances(&call(), &[]).await.unwrap(), 0);
}

fn plans(guids: &[&str]) -> Vec<PlanGuid> {
    guids.iter().map(|guid| guid.parse().unwrap()).collect()
}

#[tokio::test]
async fn the_versions_are_public() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |_| Reply::status(500, "")).await;

    let versions = client.api_versions(&call()).await.unwrap();

    assert_eq!(
        (versions.v3.as_deref(), versions.v2.as_deref()),
        (Some("3.228.0"), None)
    );
    assert_eq!(versions.supported().unwrap(), ApiVersion::V3);
    assert_eq!(server.lines(), ["GET /"]);
    assert!(uaa.seen().is_empty());
}

#[tokio::test]
async fn the_version_is_asked_for_once_however_many_questions_follow() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |_| page(None, 0, "")).await;

    let call = call();
    let asked = [client.clone(), client.clone(), client].map(|client| {
        let call = call.clone();
        tokio::spawn(async move { client.plans_of_offering(&call, "x").await })
    });
    for asked in asked {
        asked.await.unwrap().unwrap();
    }

    assert_eq!(lines(&server).len(), 3);
}

#[tokio::test]
async fn a_version_that_could_not_be_learned_is_asked_for_again() {
    let uaa = uaa(1199).await;
    let (server, client) = client_of(&uaa, {
        let broken = AtomicBool::new(true);
        move |request| match request.target.as_str() {
            "/" if broken.swap(false, Ordering::Relaxed) => Reply::status(500, "oops"),
            "/" => Reply::ok(V3_ROOT),
            "/v2/info" => Reply::status(404, "V2 endpoints disabled"),
            _ => page(None, 0, ""),
        }
    })
    .await;

    let error = client.plans_of_offering(&call(), "x").await.unwrap_err();
    assert!(error.to_string().contains("oops"), "{error}");
    client.plans_of_offering(&call(), "x").await.unwrap();

    assert_eq!(
        server.lines()[..3],
        ["GET /", "GET /v2/info", "GET /"],
        "{:?}",
        server.lines()
    );
}

#[tokio::test]
async fn a_foundation_with_neither_version_is_distinguished_from_one_that_does_not_answer() {
    let uaa = uaa(1199).await;
    let young = V3_ROOT.replace("3.228.0", "3.94.0");
    let (_server, client) = client_of(&uaa, move |request| match request.target.as_str() {
        "/" => Reply::ok(young.clone()),
        // As of today's foundations, which have version 2 switched off.
        _ => Reply::ok(r#"{"api_version":"","osbapi_version":"2.15"}"#),
    })
    .await;

    let error = client.plans_of_offering(&call(), "x").await.unwrap_err();

    assert!(
        matches!(&error.kind, FailureKind::NoUsableVersion { v3: Some(v3), v2: None } if v3 == "3.94.0"),
        "{error:?}"
    );
    assert!(uaa.seen().is_empty());
}

#[tokio::test]
async fn the_plans_of_all_offerings_with_a_catalog_id_are_found_page_by_page() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |request| match request.target.as_str() {
        target if target.starts_with("/v3/service_offerings") => {
            page(None, 2, r#"{"guid":"offering-1"},{"guid":"offering-2"}"#)
        }
        target if target.contains("page=2") => page(None, 3, &plan("plan-3", "catalog-3")),
        _ => page(
            Some("https://api.not.reachable/v3/service_plans?page=2&per_page=5000"),
            3,
            &format!(
                "{},{}",
                plan("plan-1", "catalog-1"),
                plan("plan-2", "catalog-2")
            ),
        ),
    })
    .await;

    let found = client.plans_of_offering(&call(), "a,b").await.unwrap();

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
        lines(&server),
        [
            // A comma in a value is encoded twice.
            "GET /v3/service_offerings?broker_catalog_ids=a%252Cb&per_page=5000",
            "GET /v3/service_plans?service_offering_guids=offering-1%2Coffering-2&per_page=5000",
            "GET /v3/service_plans?page=2&per_page=5000",
        ]
    );
    let request = &server.seen()[1];
    assert_eq!(request.header("authorization"), "Bearer token-1");
    assert_eq!(request.header("x-vcap-request-id"), "req-1");
}

#[tokio::test]
async fn an_offering_that_is_not_there_has_no_plans() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |_| page(None, 0, "")).await;

    assert!(
        client
            .plans_of_offering(&call(), "x")
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(lines(&server).len(), 1);
}

#[tokio::test]
async fn instances_are_counted_plan_by_plan() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |request| {
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
        "GET /v3/service_instances?service_plan_guids=plan-1&per_page=1"
    );
}

#[tokio::test]
async fn a_list_that_goes_round_in_circles_ends() {
    let uaa = uaa(1199).await;
    let (_server, client) =
        cloud_controller(&uaa, |_| page(Some("/v3/service_offerings?page=2"), 1, "")).await;

    let error = client.plans_of_offering(&call(), "x").await.unwrap_err();

    assert!(matches!(error.kind, FailureKind::EndlessList), "{error:?}");
}

#[tokio::test]
async fn an_expired_token_is_replaced_once() {
    let uaa = uaa(1199).await;
    let expired =
        r#"{"errors":[{"code":1000,"title":"CF-InvalidAuthToken","detail":"Invalid Auth Token"}]}"#;
    let (server, client) =
        cloud_controller(&uaa, move |request| match request.header("authorization") {
            "Bearer token-1" => Reply::status(401, expired),
            _ => page(None, 0, ""),
        })
        .await;

    instances(&client).await.unwrap();

    assert_eq!((lines(&server).len(), uaa.seen().len()), (2, 2));
}

#[tokio::test]
async fn a_rejection_is_reported_with_code_and_title() {
    let uaa = uaa(1199).await;
    let body = r#"{"errors":[{"code":10003,"title":"CF-NotAuthorized","detail":"You are not authorized"}]}"#;
    let (server, client) = cloud_controller(&uaa, move |_| Reply::status(403, body)).await;

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
    assert!(error.to_string().contains("CF-NotAuthorized"));
    assert!(!error.is_transient());
    assert_eq!(lines(&server).len(), 1);
}

/// A lookup by id returns instances of all offerings, and those without a service broker.
#[tokio::test]
async fn those_of_many_ids_that_are_instances_are_found_in_lists_of_fifty() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |request| {
        if request.target.contains("id-59") {
            page(None, 1, r#"{"guid":"id-59","type":"user-provided"}"#)
        } else {
            page(None, 0, "")
        }
    })
    .await;
    let ids: Vec<_> = (0..60)
        .map(|n| format!("id-{n}").parse().unwrap())
        .collect();

    let known = client.known_instances(&call(), &ids).await.unwrap();

    assert_eq!(
        known.iter().map(InstanceGuid::as_str).collect::<Vec<_>>(),
        ["id-59"]
    );
    let asked = lines(&server);
    assert_eq!(asked.len(), 2, "{asked:?}");
    let begin = "GET /v3/service_instances?guids=id-50%2C";
    assert!(asked[1].starts_with(begin), "{asked:?}");
    assert!(
        client
            .known_instances(&call(), &[])
            .await
            .unwrap()
            .is_empty()
    );
}
