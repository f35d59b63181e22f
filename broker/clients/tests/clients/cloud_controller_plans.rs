//! The plans of a broker and their visibility, in both versions of the Cloud Controller's API.

use std::{collections::BTreeSet, sync::Mutex};

use odb_clients::cloud_controller::{
    OfferedPlan, OrganizationGuid, PlanGuid, PlanVisibility, WantedVisibility,
};
use serde_json::{Value, json};

use crate::{
    cf::{V2, V3, resource, v2, v3},
    foundation::{Reply, Request, call},
};

fn plan() -> PlanGuid {
    "plan-1".parse().unwrap()
}

fn organizations(guids: &[&str]) -> WantedVisibility {
    let guids: BTreeSet<OrganizationGuid> =
        guids.iter().map(|guid| guid.parse().unwrap()).collect();
    WantedVisibility::Organizations(guids)
}

fn seen_by(organizations: &[(&str, Option<&str>)]) -> PlanVisibility {
    let organizations = organizations.iter().map(|(guid, name)| {
        let name = name.map(str::to_owned);
        (guid.parse().unwrap(), name)
    });
    PlanVisibility::Organizations(organizations.collect())
}

fn offered(guid: &str, offering: &str, is_active: bool, version: Option<&str>) -> OfferedPlan {
    OfferedPlan {
        guid: guid.parse().unwrap(),
        offering: offering.to_owned(),
        name: "small".to_owned(),
        unique_id: "small-id".to_owned(),
        is_active,
        maintenance_version: version.map(str::to_owned),
    }
}

#[tokio::test]
async fn the_plans_of_one_broker_are_reported_with_their_offering() {
    let cf = v3(|request| match request.path() {
        "/v3/service_offerings" => {
            let offering = |guid: &str, id: &str| {
                format!(r#"{{"guid":"{guid}","name":"redis","broker_catalog":{{"id":"{id}"}}}}"#)
            };
            let offerings = [offering("o-1", "redis-id"), offering("o-2", "kafka-id")];
            V3.page(None, 2, &offerings.join(","))
        }
        "/v3/service_plans" => {
            let plan = |guid: &str, offering: &str, available: bool, maintenance: &str| {
                format!(
                    r#"{{"guid":"{guid}","name":"small","visibility_type":"admin","available":{available},"maintenance_info":{maintenance},"broker_catalog":{{"id":"small-id"}},"relationships":{{"service_offering":{{"data":{{"guid":"{offering}"}}}}}}}}"#
                )
            };
            let plans = [
                plan("p-1", "o-2", true, r#"{"version":"1.2.0"}"#),
                plan("p-2", "o-1", false, "{}"),
                plan("p-3", "o-new", true, "{}"),
            ];
            V3.page(None, 3, &plans.join(","))
        }
        other => panic!("{other}"),
    })
    .await;

    let broker = "b-2".parse().unwrap();
    let plans = cf.plans_of_broker(&call(), &broker).await.unwrap();

    let expected = [
        offered("p-1", "kafka-id", true, Some("1.2.0")),
        offered("p-2", "redis-id", false, None),
    ];
    assert_eq!(plans, expected);
    assert_eq!(
        cf.lines(),
        [
            "GET /v3/service_offerings?service_broker_guids=b-2&per_page=5000",
            "GET /v3/service_plans?service_broker_guids=b-2&per_page=5000",
        ]
    );
}

#[tokio::test]
async fn the_plans_of_one_broker_of_an_old_foundation_are_reported_where_two_offer_the_same() {
    let cf = v2(|request| match request.path() {
        "/v2/services" => {
            let service = |guid: &str, broker: &str| {
                let entity = format!(
                    r#""label":"redis","unique_id":"redis-id","service_broker_guid":"{broker}""#
                );
                resource(guid, &entity)
            };
            let services = [service("s-1", "b-1"), service("s-2", "b-2")];
            V2.page(None, 2, &services.join(","))
        }
        "/v2/services/s-2/service_plans" => {
            let plan = |guid: &str, rest: &str| {
                let entity =
                    format!(r#""name":"small","unique_id":"small-id","public":false{rest}"#);
                resource(guid, &entity)
            };
            let plans = [
                plan(
                    "p-1",
                    r#","active":true,"maintenance_info":{"version":"1.2.0"}"#,
                ),
                plan("p-2", r#","active":false,"maintenance_info":null"#),
                // The oldest know neither.
                plan("p-3", ""),
            ];
            V2.page(None, 3, &plans.join(","))
        }
        other => panic!("{other}"),
    })
    .await;

    let broker = "b-2".parse().unwrap();
    let plans = cf.plans_of_broker(&call(), &broker).await.unwrap();

    let expected = [
        offered("p-1", "redis-id", true, Some("1.2.0")),
        offered("p-2", "redis-id", false, None),
        offered("p-3", "redis-id", true, None),
    ];
    assert_eq!(plans, expected);
    assert_eq!(
        cf.lines(),
        [
            "GET /v2/services?results-per-page=100",
            "GET /v2/services/s-2/service_plans?results-per-page=100",
        ]
    );
}

#[tokio::test]
async fn access_to_a_plan_is_reported_with_names() {
    for (body, expected) in [
        (r#"{"type":"public"}"#, PlanVisibility::Public),
        (r#"{"type":"admin"}"#, PlanVisibility::Admin),
        (
            r#"{"type":"organization","organizations":[{"guid":"o-1","name":"acme"}]}"#,
            seen_by(&[("o-1", Some("acme"))]),
        ),
        (
            r#"{"type":"space","space":{"guid":"s-1","name":"dev"}}"#,
            PlanVisibility::Space,
        ),
        (
            r#"{"type":"planet"}"#,
            PlanVisibility::Unknown("planet".to_owned()),
        ),
    ] {
        let cf = v3(move |_| Reply::ok(body)).await;

        let visibility = cf.plan_visibility(&call(), &plan()).await.unwrap();

        assert_eq!(visibility, expected);
        assert_eq!(cf.lines(), ["GET /v3/service_plans/plan-1/visibility"]);
    }
}

#[tokio::test]
async fn one_request_settles_who_sees_a_plan() {
    for (wanted, expected) in [
        (WantedVisibility::Public, json!({"type": "public"})),
        (WantedVisibility::Admin, json!({"type": "admin"})),
        (
            organizations(&["o-1", "o-2"]),
            json!({"type": "organization", "organizations": [{"guid": "o-1"}, {"guid": "o-2"}]}),
        ),
    ] {
        let cf = v3(|_| Reply::ok(r#"{"type":"public"}"#)).await;

        cf.set_plan_visibility(&call(), &plan(), &wanted)
            .await
            .unwrap();

        assert_eq!(cf.lines(), ["PATCH /v3/service_plans/plan-1/visibility"]);
        let body: Value = serde_json::from_str(&cf.server.seen().pop().unwrap().body).unwrap();
        assert_eq!(body, expected);
    }
}

/// A plan of an old foundation, as its Cloud Controller keeps it.
struct OldPlan {
    public: bool,
    organizations: BTreeSet<String>,
}

impl OldPlan {
    fn seen_by(public: bool, organizations: &[&str]) -> Mutex<Self> {
        Mutex::new(Self {
            public,
            organizations: organizations.iter().map(|&guid| guid.to_owned()).collect(),
        })
    }

    fn answer(&mut self, request: &Request) -> Reply {
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        match (request.method.as_str(), request.path()) {
            ("GET", "/v2/service_plans/plan-1") => {
                Reply::ok(resource("plan-1", &format!(r#""public":{}"#, self.public)))
            }
            ("PUT", "/v2/service_plans/plan-1") => {
                self.public = body["public"].as_bool().unwrap();
                Reply::status(201, "{}")
            }
            ("GET", "/v2/service_plan_visibilities") => {
                let all = self.organizations.iter().map(|guid| {
                    resource(
                        &format!("v-{guid}"),
                        &format!(r#""service_plan_guid":"plan-1","organization_guid":"{guid}""#),
                    )
                });
                let all: Vec<_> = all.collect();
                V2.page(None, all.len() as u64, &all.join(","))
            }
            ("POST", "/v2/service_plan_visibilities") => {
                assert!(!self.public, "a public plan has no visibilities");
                assert_eq!(body["service_plan_guid"], "plan-1");
                let guid = body["organization_guid"].as_str().unwrap();
                if self.organizations.insert(guid.to_owned()) {
                    Reply::status(201, "{}")
                } else {
                    Reply::status(
                        400,
                        r#"{"description":"taken","error_code":"CF-ServicePlanVisibilityAlreadyExists","code":260002}"#,
                    )
                }
            }
            ("DELETE", path) => {
                let guid = path.rsplit("/v-").next().unwrap();
                self.organizations.remove(guid);
                Reply::status(204, "")
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The changing requests, in order.
fn changes(lines: Vec<String>) -> Vec<String> {
    lines
        .into_iter()
        .filter(|line| !line.starts_with("GET "))
        .collect()
}

#[tokio::test]
async fn an_old_foundation_reports_who_sees_a_plan() {
    for (public, organizations, expected) in [
        (true, &["o-1"][..], PlanVisibility::Public),
        (false, &[], PlanVisibility::Admin),
        (
            false,
            &["o-1", "o-2"],
            seen_by(&[("o-1", None), ("o-2", None)]),
        ),
    ] {
        let there = OldPlan::seen_by(public, organizations);
        let cf = v2(move |request| there.lock().unwrap().answer(request)).await;

        let visibility = cf.plan_visibility(&call(), &plan()).await.unwrap();

        assert_eq!(visibility, expected);
    }
}

#[tokio::test]
async fn an_old_foundation_removes_no_access_that_stays() {
    for (public, there, wanted, expected) in [
        (
            false,
            &["o-1", "o-2"][..],
            organizations(&["o-2", "o-3"]),
            &[
                "POST /v2/service_plan_visibilities",
                "DELETE /v2/service_plan_visibilities/v-o-1",
            ][..],
        ),
        (false, &["o-1"], organizations(&["o-1"]), &[]),
        (
            true,
            &[],
            organizations(&["o-1"]),
            &[
                "PUT /v2/service_plans/plan-1",
                "POST /v2/service_plan_visibilities",
            ],
        ),
        (
            false,
            &["o-1"],
            WantedVisibility::Public,
            &[
                "PUT /v2/service_plans/plan-1",
                "DELETE /v2/service_plan_visibilities/v-o-1",
            ],
        ),
        (
            true,
            &[],
            WantedVisibility::Admin,
            &["PUT /v2/service_plans/plan-1"],
        ),
        (
            false,
            &["o-1"],
            WantedVisibility::Admin,
            &["DELETE /v2/service_plan_visibilities/v-o-1"],
        ),
    ] {
        let there = OldPlan::seen_by(public, there);
        let cf = v2(move |request| there.lock().unwrap().answer(request)).await;

        cf.set_plan_visibility(&call(), &plan(), &wanted)
            .await
            .unwrap();

        assert_eq!(changes(cf.lines()), expected, "{wanted:?}");
        let visibility = cf.plan_visibility(&call(), &plan()).await.unwrap();
        assert!(wanted.is(&visibility), "{visibility:?} {wanted:?}");
    }
}

#[tokio::test]
async fn access_that_was_given_although_the_answer_was_lost_is_given() {
    let there = OldPlan::seen_by(false, &[]);
    let lost = Mutex::new(false);
    let cf = v2(move |request| {
        let reply = there.lock().unwrap().answer(request);
        let mut lost = lost.lock().unwrap();
        if request.method == "POST" && !*lost {
            *lost = true;
            return Reply::HangUp;
        }
        reply
    })
    .await;

    cf.set_plan_visibility(&call(), &plan(), &organizations(&["o-1"]))
        .await
        .unwrap();

    assert_eq!(changes(cf.lines()).len(), 2);
}

#[tokio::test]
async fn an_organization_reports_its_name_as_long_as_it_is_there() {
    let guid: OrganizationGuid = "o-1".parse().unwrap();
    let cf = v3(|_| Reply::ok(r#"{"name":"acme"}"#)).await;
    let name = cf.organization_name(&call(), &guid).await.unwrap();
    assert_eq!(name.as_deref(), Some("acme"));
    assert_eq!(cf.lines(), ["GET /v3/organizations/o-1"]);

    let cf = v2(|_| Reply::ok(resource("o-1", r#""name":"acme""#))).await;
    let name = cf.organization_name(&call(), &guid).await.unwrap();
    assert_eq!(name.as_deref(), Some("acme"));
    assert_eq!(cf.lines(), ["GET /v2/organizations/o-1"]);

    let cf = v2(|_| {
        Reply::status(
            404,
            r#"{"description":"no","error_code":"CF-OrganizationNotFound","code":30003}"#,
        )
    })
    .await;
    let name = cf.organization_name(&call(), &guid).await.unwrap();
    assert_eq!(name, None);
}
