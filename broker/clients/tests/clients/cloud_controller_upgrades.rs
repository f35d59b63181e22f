//! Upgrading instances through the Cloud Controller, by both versions of its API.

use odb_clients::{
    cloud_controller::{CfOperationState, CloudController, InstanceGuid, PlanGuid, Upgrading},
    http::StatusCode,
};
use serde_json::{Value, json};

use crate::{
    cf::{Cf, V2, V3, resource, v2, v3},
    foundation::{Reply, Server, call},
};

const OPERATION: &str = r#"{"type":"update","state":"failed","description":"no space"}"#;

fn instance() -> InstanceGuid {
    "i1".parse().unwrap()
}

fn plan() -> PlanGuid {
    "p1".parse().unwrap()
}

fn body_of_last(server: &Server) -> Value {
    let seen = server.seen();
    serde_json::from_str(&seen.last().unwrap().body).unwrap()
}

async fn expect_versions(cf: &CloudController) {
    let found = cf.versioned_instance(&call(), &instance()).await;
    let found = found.unwrap().unwrap();
    assert_eq!(found.plan, plan());
    assert_eq!(found.version.as_deref(), Some("1.0.0"));
    assert_eq!(
        found.last_operation.unwrap().state,
        CfOperationState::Failed
    );
    assert_eq!(found.description, "no space");
    let version = cf.version_of_plan(&call(), &plan()).await.unwrap();
    assert_eq!(version.as_deref(), Some("2.0.0"));
    let gone: InstanceGuid = "gone".parse().unwrap();
    assert_eq!(cf.versioned_instance(&call(), &gone).await.unwrap(), None);
}

#[tokio::test]
async fn instances_and_plans_report_their_versions_in_version_3() {
    let cf = v3(|request| match request.target.as_str() {
        "/v3/service_instances/i1" => Reply::ok(format!(
            r#"{{"guid":"i1","maintenance_info":{{"version":"1.0.0"}},"upgrade_available":true,"last_operation":{OPERATION},"relationships":{{"service_plan":{{"data":{{"guid":"p1"}}}},"space":{{"data":{{"guid":"s"}}}}}}}}"#
        )),
        "/v3/service_plans/p1" => {
            Reply::ok(r#"{"guid":"p1","maintenance_info":{"version":"2.0.0"}}"#)
        }
        _ => V3.gone(),
    })
    .await;
    assert!(cf.knows_maintenance_info(&call()).await.unwrap());
    expect_versions(&cf).await;
    assert_eq!(cf.lines().len(), 3);
}

#[tokio::test]
async fn instances_and_plans_report_their_versions_in_version_2() {
    let cf = v2(|request| match request.target.as_str() {
        "/v2/service_instances/i1" => Reply::ok(resource(
            "i1",
            &format!(
                r#""service_plan_guid":"p1","space_guid":"s","maintenance_info":{{"version":"1.0.0"}},"last_operation":{OPERATION}"#
            ),
        )),
        "/v2/service_plans/p1" => {
            Reply::ok(resource("p1", r#""maintenance_info":{"version":"2.0.0"}"#))
        }
        _ => V2.gone(),
    })
    .await;
    assert!(cf.knows_maintenance_info(&call()).await.unwrap());
    expect_versions(&cf).await;
    let lines = cf.server.lines();
    let of_version = lines.iter().filter(|line| *line == "GET /v2/info");
    assert_eq!(of_version.count(), 2);
}

#[tokio::test]
async fn a_cloud_controller_before_maintenance_info_says_so() {
    for (info, knows) in [
        (
            r#"{"api_version":"2.141.0","osbapi_version":"2.14"}"#,
            false,
        ),
        (r#"{"api_version":"2.141.0"}"#, false),
        (r#"{"api_version":"2.141.0","osbapi_version":"2.15"}"#, true),
    ] {
        let cf = Cf::start(move |request| match request.target.as_str() {
            "/" => Reply::ok(r#"{"links":{"cloud_controller_v3":null}}"#),
            "/v2/info" => Reply::ok(info),
            _ => Reply::status(500, ""),
        })
        .await;
        let reported = cf.knows_maintenance_info(&call()).await.unwrap();
        assert_eq!(reported, knows, "{info}");
    }
}

#[tokio::test]
async fn an_upgrade_is_taken_or_found_needless_in_version_3() {
    for (reply, expected) in [(202, Upgrading::Begun), (200, Upgrading::UpToDate)] {
        let cf = v3(move |_| Reply::status(reply, "{}").with("Location", "https://api/v3/jobs/j1"))
            .await;
        let answer = cf.upgrade_instance(&call(), &instance(), "2.0.0").await;
        assert_eq!(answer.unwrap(), expected);
        assert_eq!(cf.lines(), ["PATCH /v3/service_instances/i1"]);
        let body = json!({ "maintenance_info": { "version": "2.0.0" } });
        assert_eq!(body_of_last(&cf.server), body);
    }
}

#[tokio::test]
async fn the_last_operation_reports_what_came_of_an_upgrade_in_version_2() {
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
        let cf = v2(move |_| {
            Reply::status(
                202,
                resource("i1", &format!(r#""last_operation":{operation}"#)),
            )
        })
        .await;
        let answer = cf.upgrade_instance(&call(), &instance(), "2.0.0").await;
        assert_eq!(answer.unwrap(), expected, "{operation}");
        assert_eq!(
            cf.lines(),
            ["PUT /v2/service_instances/i1?accepts_incomplete=true"]
        );
        let body = json!({ "maintenance_info": { "version": "2.0.0" } });
        assert_eq!(body_of_last(&cf.server), body);
    }
}

#[tokio::test]
async fn a_busy_instance_is_distinguished_from_a_rejection() {
    for (status, code, is_busy) in [(409, 60016, true), (422, 390_009, false)] {
        let cf =
            v3(move |_| V3.error(status, code, "CF-Title", "what the Cloud Controller says")).await;
        let answer = cf.upgrade_instance(&call(), &instance(), "2.0.0").await;
        let error = answer.unwrap_err();
        assert_eq!(error.is_busy(), is_busy);
        assert_eq!(error.status(), StatusCode::from_u16(status).ok());
    }
}
