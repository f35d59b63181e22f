//! Having service instances deleted, by both versions of the API.

use odb_clients::{
    cloud_controller::{
        CfBinding, CfBindingKind, CfOperationKind, CfOperationState, Deletion, InstanceGuid,
    },
    http::StatusCode,
};

use crate::{
    cf::{V2, V3, resource, v2, v3},
    foundation::{Reply, call},
};

fn instance() -> InstanceGuid {
    "i-1".parse().unwrap()
}

fn job() -> Reply {
    Reply::status(202, "").with("Location", "https://api.elsewhere.example/v3/jobs/job-1")
}

fn binding(guid: &str, relationships: &str, state: &str) -> String {
    format!(
        r#"{{"guid":"{guid}","name":null,"type":"x","last_operation":{{"type":"create","state":"{state}"}},"relationships":{{"service_instance":{{"data":{{"guid":"i-1"}}}}{relationships}}}}}"#
    )
}

fn kinds(bindings: &[CfBinding]) -> Vec<(&str, &CfBindingKind)> {
    let kinds = bindings.iter();
    kinds
        .map(|binding| (binding.guid.as_str(), &binding.kind))
        .collect()
}

#[tokio::test]
async fn the_state_of_an_instance_is_reported_in_the_brokers_words() {
    let cf = v3(|_| {
        Reply::ok(
            r#"{"guid":"i-1","name":"db","type":"managed","last_operation":{"type":"delete","state":"failed","description":"no way","updated_at":"2026-01-01T00:00:00Z"}}"#,
        )
    })
    .await;

    let status = cf
        .last_operation(&call(), &instance())
        .await
        .unwrap()
        .unwrap();

    assert_eq!(
        (status.name.as_str(), status.description.as_str()),
        ("db", "no way")
    );
    let last = status.last_operation.unwrap();
    assert_eq!(
        (last.kind, last.state),
        (CfOperationKind::Delete, CfOperationState::Failed)
    );
    assert_eq!(cf.lines(), ["GET /v3/service_instances/i-1"]);
}

#[tokio::test]
async fn an_instance_of_which_nothing_is_known_is_there_anyway() {
    let cf = v3(|_| Reply::ok(r#"{"guid":"i-1","name":"db","last_operation":{}}"#)).await;

    let status = cf.last_operation(&call(), &instance()).await.unwrap();

    assert_eq!(status.unwrap().last_operation, None);
}

#[tokio::test]
async fn an_instance_is_gone_only_when_the_cloud_controller_reports_it() {
    for (status, body, is_gone) in [
        (
            404,
            r#"{"errors":[{"code":10010,"title":"CF-ResourceNotFound","detail":"Service instance not found"}]}"#,
            true,
        ),
        (
            404,
            r#"{"errors":[{"code":10000,"title":"CF-NotFound","detail":"Unknown request"}]}"#,
            false,
        ),
        (404, "404 Not Found: Requested route does not exist.", false),
        (
            403,
            r#"{"errors":[{"code":10003,"title":"CF-NotAuthorized","detail":"no"}]}"#,
            false,
        ),
    ] {
        let cf = v3(move |_| Reply::status(status, body)).await;
        let last = cf.last_operation(&call(), &instance()).await;
        let begun = cf.delete_instance(&call(), &instance()).await;
        let bindings = cf.bindings(&call(), &instance()).await;
        if is_gone {
            assert_eq!(last.unwrap(), None);
            assert_eq!(begun.unwrap(), Deletion::Done);
            assert_eq!(bindings.unwrap(), []);
        } else {
            assert_eq!(
                last.unwrap_err().status().map(|status| status.as_u16()),
                Some(status),
                "{body}"
            );
            assert!(begun.is_err() && bindings.is_err(), "{body}");
        }
    }
}

#[tokio::test]
async fn bindings_of_applications_come_before_keys_and_routes() {
    let cf = v3(|request| match request.path() {
        "/v3/service_credential_bindings" => V3.page(
            None,
            2,
            &[
                binding("key-1", "", "succeeded"),
                binding("app-1", r#","app":{"data":{"guid":"a-1"}}"#, "in progress"),
            ]
            .join(","),
        ),
        _ => V3.page(
            None,
            1,
            &binding(
                "route-1",
                r#","route":{"data":{"guid":"r-1"}}"#,
                "succeeded",
            ),
        ),
    })
    .await;

    let bindings = cf.bindings(&call(), &instance()).await.unwrap();

    let app = CfBindingKind::App("a-1".parse().unwrap());
    assert_eq!(
        kinds(&bindings),
        [
            ("app-1", &app),
            ("key-1", &CfBindingKind::Key),
            ("route-1", &CfBindingKind::Route)
        ]
    );
    let last = bindings[0].last_operation.as_ref().unwrap();
    assert_eq!(last.state, CfOperationState::InProgress);
    assert_eq!(
        cf.lines(),
        [
            "GET /v3/service_credential_bindings?service_instance_guids=i-1&per_page=5000",
            "GET /v3/service_route_bindings?service_instance_guids=i-1&per_page=5000",
        ]
    );
}

#[tokio::test]
async fn deletions_in_version_3_are_jobs_and_sent_once() {
    let cf = v3(|_| job()).await;
    let bindings = [CfBindingKind::Key, CfBindingKind::Route].map(|kind| CfBinding {
        guid: "b-1".parse().unwrap(),
        kind,
        last_operation: None,
    });

    let begun = Deletion::Job("job-1".parse().unwrap());
    for binding in &bindings {
        let deleted = cf.delete_binding(&call(), &instance(), binding).await;
        assert_eq!(deleted.unwrap(), begun);
    }
    assert_eq!(
        cf.delete_instance(&call(), &instance()).await.unwrap(),
        begun
    );
    assert_eq!(
        cf.lines(),
        [
            "DELETE /v3/service_credential_bindings/b-1",
            "DELETE /v3/service_route_bindings/b-1",
            "DELETE /v3/service_instances/i-1",
        ]
    );

    let cf = v3(|_| Reply::status(502, "<html>")).await;
    let error = cf.delete_instance(&call(), &instance()).await.unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::BAD_GATEWAY));
    assert!(error.may_have_taken_effect(), "the router does not know");
    assert_eq!(cf.lines(), ["DELETE /v3/service_instances/i-1"]);
}

#[tokio::test]
async fn shares_are_listed_and_removed_one_by_one() {
    let cf = v3(|request| match request.method.as_str() {
        "GET" => Reply::ok(r#"{"data":[{"guid":"s-1"},{"guid":"s-2"}],"links":{}}"#),
        _ => Reply::status(204, ""),
    })
    .await;

    let spaces = cf.shared_spaces(&call(), &instance()).await.unwrap();
    cf.unshare(&call(), &instance(), &spaces[1]).await.unwrap();

    let all = "/v3/service_instances/i-1/relationships/shared_spaces";
    assert_eq!(
        cf.server.lines(),
        [format!("GET {all}"), format!("DELETE {all}/s-2")]
    );
}

#[tokio::test]
async fn a_purge_calls_no_broker_and_accepts_an_instance_that_is_gone() {
    let cf = v3(|_| V3.gone()).await;
    cf.purge_instance(&call(), &instance()).await.unwrap();
    assert_eq!(cf.lines(), ["DELETE /v3/service_instances/i-1?purge=true"]);

    let cf = v2(|_| Reply::status(204, "")).await;
    cf.purge_instance(&call(), &instance()).await.unwrap();
    assert_eq!(cf.lines(), ["DELETE /v2/service_instances/i-1?purge=true"]);
}

#[tokio::test]
async fn an_old_foundation_lists_bindings_keys_and_routes_apart() {
    let cf = v2(|request| match request.path() {
        "/v2/service_instances/i-1/service_bindings" => V2.page(
            None,
            1,
            &resource(
                "app-1",
                r#""app_guid":"a-1","last_operation":{"type":"delete","state":"in progress"}"#,
            ),
        ),
        "/v2/service_instances/i-1/service_keys" => {
            V2.page(None, 1, &resource("key-1", r#""name":"mine""#))
        }
        _ => V2.page(None, 1, &resource("r-1", r#""host":"www""#)),
    })
    .await;

    let bindings = cf.bindings(&call(), &instance()).await.unwrap();

    let app = CfBindingKind::App("a-1".parse().unwrap());
    assert_eq!(
        kinds(&bindings),
        [
            ("app-1", &app),
            ("key-1", &CfBindingKind::Key),
            ("r-1", &CfBindingKind::Route)
        ]
    );
    assert_eq!(
        bindings[0].last_operation.as_ref().unwrap().kind,
        CfOperationKind::Delete
    );
    let one = "/v2/service_instances/i-1";
    assert_eq!(
        cf.lines(),
        ["service_bindings", "service_keys", "routes"]
            .map(|kind| format!("GET {one}/{kind}?results-per-page=100"))
    );
}

#[tokio::test]
async fn an_old_foundation_deletes_while_the_request_waits_or_begins_to() {
    let cf = v2(|request| match request.path() {
        "/v2/service_instances/i-1" if request.method == "DELETE" => Reply::status(
            202,
            resource("i-1", r#""name":"db","last_operation":{"type":"delete","state":"in progress"}"#),
        ),
        "/v2/service_instances/i-1" => Reply::ok(resource(
            "i-1",
            r#""name":"db","last_operation":{"type":"delete","state":"in progress","description":""}"#,
        )),
        _ => Reply::status(204, ""),
    })
    .await;
    let kinds = [
        CfBindingKind::App("a-1".parse().unwrap()),
        CfBindingKind::Key,
        CfBindingKind::Route,
    ];

    for kind in kinds {
        let binding = CfBinding {
            guid: "b-1".parse().unwrap(),
            kind,
            last_operation: None,
        };
        let deleted = cf.delete_binding(&call(), &instance(), &binding).await;
        assert_eq!(deleted.unwrap(), Deletion::Done);
    }
    assert_eq!(
        cf.delete_instance(&call(), &instance()).await.unwrap(),
        Deletion::UnderWay
    );
    let status = cf
        .last_operation(&call(), &instance())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.last_operation.unwrap().kind, CfOperationKind::Delete);
    assert_eq!(
        cf.lines(),
        [
            "DELETE /v2/apps/a-1/service_bindings/b-1",
            "DELETE /v2/service_keys/b-1",
            "DELETE /v2/service_instances/i-1/routes/b-1",
            "DELETE /v2/service_instances/i-1?accepts_incomplete=true",
            "GET /v2/service_instances/i-1",
        ]
    );

    let cf = v2(|_| V2.gone()).await;
    assert_eq!(cf.last_operation(&call(), &instance()).await.unwrap(), None);
    assert_eq!(
        cf.delete_instance(&call(), &instance()).await.unwrap(),
        Deletion::Done
    );
    assert_eq!(cf.bindings(&call(), &instance()).await.unwrap(), []);
}

#[tokio::test]
async fn an_old_foundation_that_is_asked_to_delete_what_is_shared_says_so() {
    let cf = v2(|_| {
        Reply::status(422, r#"{"description":"Service instances must be unshared before they can be deleted.","error_code":"CF-ServiceInstanceDeletionSharesExists","code":390002}"#)
    })
    .await;

    let error = cf.delete_instance(&call(), &instance()).await.unwrap_err();

    assert!(error.is_shared(), "{error:?}");
    assert!(!error.is_busy(), "waiting would not help");
}
