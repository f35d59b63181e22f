//! Upgrading instances through the Cloud Controller, by both versions of its API.

use odb_clients::{
    cloud_controller::{CfOperationState, CloudController, InstanceGuid, PlanGuid, Upgrading},
    http::StatusCode,
};
use serde_json::{Value, json};

use crate::{
    cloud_controller::{client_of, cloud_controller, lines},
    cloud_controller_v2::{lines as v2_lines, old_foundation, resource},
    foundation::{Reply, Server, call, uaa},
};

const OPERATION: &str = r#"{"type":"update","state":"failed","description":"no space"}"#;

fn instance() -> InstanceGuid {
    "i1".parse().unwrap()
}

fn plan() -> PlanGuid {
    "p1".parse().unwrap()
}

fn rejection_v3(code: u64, detail: &str) -> String {
    json!({ "errors": [{ "code": code, "title": "CF-Title", "detail": detail }] }).to_string()
}

fn body_of_last(server: &Server) -> Value {
    let seen = server.seen();
    serde_json::from_str(&seen.last().unwrap().body).unwrap()
}

async fn expect_versions(client: &CloudController) {
    let found = client.versioned_instance(&call(), &instance()).await;
    let found = found.unwrap().unwrap();
    assert_eq!(found.plan, plan());
    assert_eq!(found.version.as_deref(), Some("1.0.0"));
    assert_eq!(
        found.last_operation.unwrap().state,
        CfOperationState::Failed
    );
    assert_eq!(found.description, "no space");
    let version = client.version_of_plan(&call(), &plan()).await.unwrap();
    assert_eq!(version.as_deref(), Some("2.0.0"));
    let gone: InstanceGuid = "gone".parse().unwrap();
    assert_eq!(
        client.versioned_instance(&call(), &gone).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn instances_and_plans_report_their_versions_in_version_3() {
    let uaa = uaa(1199).await;
    let (server, client) = cloud_controller(&uaa, |request| match request.target.as_str() {
        "/v3/service_instances/i1" => Reply::ok(format!(
            r#"{{"guid":"i1","maintenance_info":{{"version":"1.0.0"}},"upgrade_available":true,"last_operation":{OPERATION},"relationships":{{"service_plan":{{"data":{{"guid":"p1"}}}},"space":{{"data":{{"guid":"s"}}}}}}}}"#
        )),
        "/v3/service_plans/p1" => {
            Reply::ok(r#"{"guid":"p1","maintenance_info":{"version":"2.0.0"}}"#)
        }
        _ => Reply::status(404, rejection_v3(10010, "Service instance not found")),
    })
    .await;
    assert!(client.knows_maintenance_info(&call()).await.unwrap());
    expect_versions(&client).await;
    assert_eq!(lines(&server).len(), 3);
}

#[tokio::test]
async fn instances_and_plans_report_their_versions_in_version_2() {
    let uaa = uaa(1199).await;
    let (server, client) = old_foundation(&uaa, |request| match request.target.as_str() {
        "/v2/service_instances/i1" => Reply::ok(resource(
            "i1",
            &format!(
                r#""service_plan_guid":"p1","space_guid":"s","maintenance_info":{{"version":"1.0.0"}},"last_operation":{OPERATION}"#
            ),
        )),
        "/v2/service_plans/p1" => {
            Reply::ok(resource("p1", r#""maintenance_info":{"version":"2.0.0"}"#))
        }
        _ => Reply::status(
            404,
            r#"{"description":"gone","error_code":"CF-ServiceInstanceNotFound","code":60004}"#,
        ),
    })
    .await;
    assert!(client.knows_maintenance_info(&call()).await.unwrap());
    expect_versions(&client).await;
    assert!(v2_lines(&server).contains(&"GET /v2/info".to_owned()));
}

#[tokio::test]
async fn a_cloud_controller_before_maintenance_info_says_so() {
    let uaa = uaa(1199).await;
    for (info, knows) in [
        (
            r#"{"api_version":"2.141.0","osbapi_version":"2.14"}"#,
            false,
        ),
        (r#"{"api_version":"2.141.0"}"#, false),
        (r#"{"api_version":"2.141.0","osbapi_version":"2.15"}"#, true),
    ] {
        let (_server, client) = client_of(&uaa, move |request| match request.target.as_str() {
            "/" => Reply::ok(r#"{"links":{"cloud_controller_v3":null}}"#),
            "/v2/info" => Reply::ok(info),
            _ => Reply::status(500, ""),
        })
        .await;
        let reported = client.knows_maintenance_info(&call()).await.unwrap();
        assert_eq!(reported, knows, "{info}");
    }
}

#[tokio::test]
async fn an_upgrade_is_taken_or_found_needless_in_version_3() {
    let uaa = uaa(1199).await;
    for (reply, expected) in [(202, Upgrading::Begun), (200, Upgrading::UpToDate)] {
        let (server, client) = cloud_controller(&uaa, move |_| {
            Reply::status(reply, "{}").with("Location", "https://api/v3/jobs/j1")
        })
        .await;
        let answer = client.upgrade_instance(&call(), &instance(), "2.0.0").await;
        assert_eq!(answer.unwrap(), expected);
        assert_eq!(lines(&server), ["PATCH /v3/service_instances/i1"]);
        let body = json!({ "maintenance_info": { "version": "2.0.0" } });
        assert_eq!(body_of_last(&server), body);
    }
}

#[tokio::test]
async fn the_last_operation_reports_what_came_of_an_upgrade_in_version_2() {
    let uaa = uaa(1199).await;
    let failed = Upgrading::Failed {
        description: "no".to_owned(),
    };
    let unknown = |state: &str| Upgrading::Unknown {
        state: state.to_owned(),
    };
    for (operation, expected) in [
        (r#"{"state":"in progress"}"#, Upgrading::Begun),
        (r#"{"state":"succeeded"}"#, Upgrading::UpToDate),
        (r#"{"state":"failed","description":"no"}"#, failed),
        (r#"{"state":"strange"}"#, unknown("strange")),
        ("null", unknown("")),
    ] {
        let (server, client) = old_foundation(&uaa, move |_| {
            Reply::status(
                202,
                resource("i1", &format!(r#""last_operation":{operation}"#)),
            )
        })
        .await;
        let answer = client.upgrade_instance(&call(), &instance(), "2.0.0").await;
        assert_eq!(answer.unwrap(), expected, "{operation}");
        assert_eq!(
            v2_lines(&server),
            ["PUT /v2/service_instances/i1?accepts_incomplete=true"]
        );
        let body = json!({ "maintenance_info": { "version": "2.0.0" } });
        assert_eq!(body_of_last(&server), body);
    }
}

#[tokio::test]
async fn a_busy_instance_is_distinguished_from_a_rejection() {
    let uaa = uaa(1199).await;
    for (status, code, is_busy) in [(409, 60016, true), (422, 390_009, false)] {
        let (_server, client) = cloud_controller(&uaa, move |_| {
            Reply::status(status, rejection_v3(code, "what the Cloud Controller says"))
        })
        .await;
        let answer = client.upgrade_instance(&call(), &instance(), "2.0.0").await;
        let error = answer.unwrap_err();
        assert_eq!(error.is_busy(), is_busy);
        assert_eq!(error.status(), StatusCode::from_u16(status).ok());
    }
}
