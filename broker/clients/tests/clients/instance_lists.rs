//! Service instances at the Cloud Controller: page by page, one by one, where they are, and by which names.

use std::{
    collections::BTreeSet,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard},
};

use futures_util::TryStreamExt;
use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{
        CfInstance, CfOperation, CfOperationKind, CfOperationState, InstanceQuery, LocationNames,
        OrganizationGuid,
    },
};

use crate::{
    cf::{BOTH, Cf, Version, plans},
    foundation::{Reply, Request, call},
};

/// The list of a Cloud Controller, newest instance first.
#[derive(Clone)]
struct List(Arc<Mutex<Vec<Row>>>);

#[derive(Clone)]
struct Row {
    guid: String,
    plan: &'static str,
    space: &'static str,
}

impl List {
    fn of(count: usize) -> Self {
        let rows = (0..count).rev().map(row);
        Self(Arc::new(Mutex::new(rows.collect())))
    }

    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.0.lock().unwrap()
    }

    /// In the form of the API version; a page has as many entries as requested, at most `cap`.
    fn page(&self, version: Version, request: &Request, cap: usize) -> Reply {
        let rows = self.rows();
        let rows: Vec<_> = rows
            .iter()
            .filter(|row| request.target.contains(row.plan))
            .collect();
        let (asked, number) = match version {
            Version::V3 => (parameter(request, "per_page"), parameter(request, "page")),
            Version::V2 => (
                parameter(request, "results-per-page"),
                parameter(request, "page"),
            ),
        };
        let size = asked.parse::<usize>().unwrap().min(cap);
        let number: usize = number.parse().unwrap();
        let pages = rows.len().div_ceil(size).max(1);
        let resources: Vec<_> = rows
            .iter()
            .skip((number - 1) * size)
            .take(size)
            .map(|row| row.resource(version))
            .collect();
        let (total, resources) = (rows.len(), resources.join(","));
        let included = if request.target.contains("fields") {
            INCLUDED
        } else {
            "{}"
        };
        Reply::ok(match version {
            Version::V3 => format!(
                r#"{{"pagination":{{"total_results":{total},"total_pages":{pages},"next":null}},"resources":[{resources}],"included":{included}}}"#
            ),
            Version::V2 => format!(
                r#"{{"total_results":{total},"total_pages":{pages},"next_url":null,"resources":[{resources}]}}"#
            ),
        })
    }
}

const INCLUDED: &str = r#"{"spaces":[{"guid":"space-1","name":"dev","relationships":{"organization":{"data":{"guid":"org-1"}}}}],"organizations":[{"guid":"org-1","name":"acme"}]}"#;

fn row(number: usize) -> Row {
    Row {
        guid: format!("i-{number}"),
        plan: "plan-1",
        space: "space-1",
    }
}

impl Row {
    fn resource(&self, version: Version) -> String {
        let Self { guid, plan, space } = self;
        match version {
            Version::V3 => format!(
                r#"{{"guid":"{guid}","name":"db","type":"managed","last_operation":{{"type":"create","state":"failed"}},"relationships":{{"space":{{"data":{{"guid":"{space}"}}}},"service_plan":{{"data":{{"guid":"{plan}"}}}}}}}}"#
            ),
            Version::V2 => format!(
                r#"{{"metadata":{{"guid":"{guid}"}},"entity":{{"name":"db","service_plan_guid":"{plan}","space_guid":"{space}","last_operation":{{"type":"create","state":"failed"}}}}}}"#
            ),
        }
    }
}

fn parameter(request: &Request, name: &str) -> String {
    let query = request.target.split_once('?').unwrap().1;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(key, _)| *key == name);
    found
        .unwrap_or_else(|| panic!("{query} has no {name}"))
        .1
        .to_owned()
}

/// A Cloud Controller with `list` alone, its pages no larger than `cap`.
async fn with(version: Version, list: &List, cap: usize) -> Cf {
    let list = list.clone();
    Cf::of(version, move |request| list.page(version, request, cap)).await
}

async fn listed(cf: &Cf, query: InstanceQuery) -> Result<Vec<CfInstance>, ServiceError> {
    cf.list_instances(&call(), query).try_collect().await
}

fn of_plan_1() -> InstanceQuery {
    InstanceQuery::of_plans(plans(&["plan-1"]))
}

/// The GUIDs of a list without duplicates.
fn guids(found: &[CfInstance]) -> BTreeSet<String> {
    let guids: BTreeSet<_> = found.iter().map(|found| found.guid.to_string()).collect();
    assert_eq!(guids.len(), found.len(), "an instance was given twice");
    guids
}

#[tokio::test]
async fn every_page_is_read_once_and_the_first_again_and_every_instance_given_once() {
    for (version, count, first) in [
        (
            Version::V3,
            1203,
            "GET /v3/service_instances?service_plan_guids=plan-1&order_by=-created_at&per_page=500&page=1",
        ),
        (
            Version::V2,
            203,
            "GET /v2/service_plans/plan-1/service_instances?order-direction=desc&results-per-page=100&page=1",
        ),
    ] {
        let cf = with(version, &List::of(count), usize::MAX).await;

        let found = cf.instances().await.unwrap();

        assert_eq!(guids(&found).len(), count);
        let mut lines = cf.lines();
        lines.sort();
        let page = |number| first.replace("&page=1", &format!("&page={number}"));
        assert_eq!(lines, [page(1), page(1), page(2), page(3)]);
        assert_eq!(
            found[0].last_operation,
            Some(CfOperation {
                kind: CfOperationKind::Create,
                state: CfOperationState::Failed,
            })
        );
        assert_eq!(found[0].space.as_str(), "space-1");
        assert_eq!(found[0].space_name, None);
    }
}

#[tokio::test]
async fn a_cloud_controller_may_have_smaller_pages_than_were_asked_for() {
    for version in BOTH {
        let cf = with(version, &List::of(70), 9).await;

        let found = cf.instances().await.unwrap();

        assert_eq!((guids(&found).len(), cf.lines().len()), (70, 9));
    }
}

#[tokio::test]
async fn nothing_is_asked_for_before_the_stream_is_read_and_nothing_for_no_plans() {
    let cf = with(Version::V3, &List::of(1), 10).await;

    drop(cf.list_instances(&call(), of_plan_1()));
    let none = listed(&cf, InstanceQuery::of_plans(Vec::new())).await;

    assert!(none.unwrap().is_empty());
    assert!(cf.server.lines().is_empty());
}

#[tokio::test]
async fn a_list_that_shrinks_while_it_is_read_is_read_again_and_hides_nothing() {
    for version in BOTH {
        let list = List::of(30);
        let answer = {
            let list = list.clone();
            let is_gone = Mutex::new(false);
            move |request: &Request| {
                let reply = list.page(version, request, 10);
                let mut is_gone = is_gone.lock().unwrap();
                if !*is_gone {
                    // After the first page was read, the head of the second page becomes the end of the first.
                    list.rows().remove(0);
                    *is_gone = true;
                }
                reply
            }
        };
        let cf = Cf::of(version, answer).await;

        let found = cf.instances().await.unwrap();

        assert_eq!(guids(&found).len(), 30, "the deleted one was seen before");
        assert_eq!(cf.lines().len(), 8);
    }
}

#[tokio::test]
async fn one_deleted_and_one_added_between_two_pages_hide_nothing() {
    for version in BOTH {
        let list = List::of(30);
        let answer = {
            let list = list.clone();
            let is_over = Mutex::new(false);
            move |request: &Request| {
                let reply = list.page(version, request, 10);
                let mut is_over = is_over.lock().unwrap();
                if !*is_over {
                    let mut rows = list.rows();
                    rows.remove(25);
                    rows.insert(0, row(30));
                    *is_over = true;
                }
                reply
            }
        };
        let cf = Cf::of(version, answer).await;

        let found = guids(&cf.instances().await.unwrap());

        let stayed = list.rows().iter().map(|row| row.guid.clone()).collect();
        assert!(
            found.is_superset(&stayed),
            "{:?}",
            stayed.difference(&found)
        );
    }
}

#[tokio::test]
async fn a_list_that_keeps_changing_becomes_an_error() {
    for version in BOTH {
        let list = List::of(30);
        let answer = {
            let list = list.clone();
            move |request: &Request| {
                let reply = list.page(version, request, 10);
                let mut rows = list.rows();
                let number = rows.len();
                rows.insert(0, row(number));
                reply
            }
        };
        let cf = Cf::of(version, answer).await;

        let error = cf.instances().await.unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::ListChanging { passes: 5, .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("service_instances"), "{error}");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn a_list_with_more_pages_than_can_be_right_is_not_read() {
    for version in BOTH {
        let cf = with(version, &List::of(1001), 1).await;

        let error = cf.instances().await.unwrap_err();

        assert!(matches!(error.kind, FailureKind::EndlessList), "{error:?}");
        assert_eq!(cf.lines().len(), 1);
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_read_ends_the_stream_with_an_error() {
    for version in BOTH {
        let list = List::of(30);
        let cf = Cf::of(version, move |request| {
            match parameter(request, "page").as_str() {
                "2" => Reply::status(500, "{}"),
                _ => list.page(version, request, 10),
            }
        })
        .await;

        let error = cf.instances().await.unwrap_err();

        assert!(
            matches!(error.kind, FailureKind::Refused { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn instances_are_chosen_by_plan_space_and_organization() {
    for (version, expected) in [
        (
            Version::V3,
            &[
                "GET /v3/service_instances?service_plan_guids=plan-1%2Cplan-2&space_guids=space-1%2Cspace-2\
              &organization_guids=org-1&order_by=-created_at&per_page=500&page=1",
            ][..],
        ),
        (
            Version::V2,
            &[
                "GET /v2/service_plans/plan-1/service_instances?q=space_guid+IN+space-1%2Cspace-2\
                 &q=organization_guid%3Aorg-1&order-direction=desc&results-per-page=100&page=1",
                "GET /v2/service_plans/plan-2/service_instances?q=space_guid+IN+space-1%2Cspace-2\
                 &q=organization_guid%3Aorg-1&order-direction=desc&results-per-page=100&page=1",
            ],
        ),
    ] {
        let list = List::of(2);
        // Version 3 also lists instances that are shared into a space.
        list.rows()[0].space = "space-9";
        let cf = with(version, &list, 10).await;

        let found = listed(
            &cf,
            InstanceQuery {
                plans: plans(&["plan-1", "plan-2"]),
                spaces: vec!["space-1".parse().unwrap(), "space-2".parse().unwrap()],
                organizations: vec!["org-1".parse().unwrap()],
                names: LocationNames::Left,
            },
        )
        .await
        .unwrap();

        assert_eq!(cf.lines(), expected);
        assert_eq!(guids(&found), BTreeSet::from(["i-0".to_owned()]));
    }
}

#[tokio::test]
async fn names_of_spaces_and_organizations_come_with_the_pages_of_version_3() {
    let cf = with(Version::V3, &List::of(1), 10).await;
    let query = InstanceQuery {
        names: LocationNames::Reported,
        ..of_plan_1()
    };

    let found = listed(&cf, query).await.unwrap();

    assert_eq!(
        cf.lines(),
        [
            "GET /v3/service_instances?service_plan_guids=plan-1&fields%5Bspace%5D=guid%2Cname%2Crelationships.organization\
          &fields%5Bspace.organization%5D=guid%2Cname&order_by=-created_at&per_page=500&page=1"
        ]
    );
    assert_eq!(
        locations(&found[0]),
        (Some("dev"), Some("org-1"), Some("acme"))
    );
}

#[tokio::test]
async fn names_of_spaces_and_organizations_are_asked_for_once_each_in_version_2() {
    let list = List::of(205);
    list.rows()[3].space = "space-2";
    list.rows()[4].space = "gone";
    let cf = Cf::of(Version::V2, {
        let list = list.clone();
        move |request| match request.path() {
            "/v2/spaces/space-1" => named("dev"),
            "/v2/spaces/space-2" => named("prod"),
            "/v2/spaces/gone" => Reply::status(404, r#"{"code":40004,"description":"no"}"#),
            "/v2/organizations/org-1" => named("acme"),
            _ => list.page(Version::V2, request, 100),
        }
    })
    .await;
    let query = InstanceQuery {
        names: LocationNames::Reported,
        ..of_plan_1()
    };

    let found = listed(&cf, query).await.unwrap();

    assert_eq!(guids(&found).len(), 205);
    for found in &found {
        let expected = match found.space.as_str() {
            "space-1" => (Some("dev"), Some("org-1"), Some("acme")),
            "space-2" => (Some("prod"), Some("org-1"), Some("acme")),
            _ => (None, None, None),
        };
        assert_eq!(locations(found), expected);
    }
    let lines = cf.lines();
    let distinct: BTreeSet<_> = lines.iter().collect();
    // The first page is read at the beginning and at the end.
    assert_eq!((lines.len(), distinct.len()), (8, 7), "{lines:?}");
}

fn named(name: &str) -> Reply {
    Reply::ok(format!(
        r#"{{"metadata":{{"guid":"x"}},"entity":{{"name":"{name}","organization_guid":"org-1"}}}}"#
    ))
}

fn locations(found: &CfInstance) -> (Option<&str>, Option<&str>, Option<&str>) {
    (
        found.space_name.as_deref(),
        found.organization.as_ref().map(OrganizationGuid::as_str),
        found.organization_name.as_deref(),
    )
}

#[tokio::test]
async fn many_plans_are_asked_for_in_addresses_of_bounded_length() {
    let cf = with(Version::V3, &List::of(0), 10).await;
    let many = (0..120).map(|n| format!("00000000-0000-4000-8000-{n:012}").parse().unwrap());

    let found = listed(&cf, InstanceQuery::of_plans(many.collect())).await;

    assert!(found.unwrap().is_empty());
    let lines = cf.lines();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.len() < 4000));
}

#[tokio::test]
async fn one_instance_is_found_by_its_guid_where_it_is() {
    for version in BOTH {
        let cf = Cf::of(version, move |request| match request.path() {
            "/v2/spaces/space-1" => named("dev"),
            "/v2/organizations/org-1" => named("acme"),
            _ => {
                let mut body = row(7).resource(version);
                if version == Version::V3 {
                    body.pop();
                    write!(body, r#","included":{INCLUDED}}}"#).unwrap();
                }
                Reply::ok(body)
            }
        })
        .await;

        let guid = "i-7".parse().unwrap();
        let found = cf
            .instance(&call(), &guid, LocationNames::Reported)
            .await
            .unwrap()
            .unwrap();

        assert_eq!(
            (found.guid.as_str(), found.plan.as_str()),
            ("i-7", "plan-1")
        );
        assert_eq!(
            locations(&found),
            (Some("dev"), Some("org-1"), Some("acme"))
        );
    }
}

#[tokio::test]
async fn an_instance_is_gone_only_where_the_cloud_controller_says_so_in_its_own_words() {
    for (version, gone) in [
        (
            Version::V3,
            r#"{"errors":[{"code":10010,"title":"CF-ResourceNotFound","detail":"Service instance not found"}]}"#,
        ),
        (
            Version::V2,
            r#"{"code":60004,"error_code":"CF-ServiceInstanceNotFound","description":"no"}"#,
        ),
    ] {
        for (body, is_reported) in [(gone, true), ("404 Not Found: Requested route", false)] {
            let cf = Cf::of(version, move |_| Reply::status(404, body)).await;

            let guid = "i-7".parse().unwrap();
            let found = cf.instance(&call(), &guid, LocationNames::Left).await;

            assert_eq!(
                found.is_ok_and(|found| found.is_none()),
                is_reported,
                "{body}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_user_provides_is_no_instance_of_a_broker() {
    let cf = Cf::of(Version::V3, |_| {
        Reply::ok(
            r#"{"guid":"i-7","type":"user-provided","relationships":{"space":{"data":{"guid":"s"}}}}"#,
        )
    })
    .await;

    let guid = "i-7".parse().unwrap();
    let found = cf.instance(&call(), &guid, LocationNames::Left).await;

    assert_eq!(found.unwrap(), None);
}

#[tokio::test]
async fn organizations_and_spaces_are_found_by_any_name() {
    for (version, expected) in [
        (
            Version::V3,
            [
                // A value is encoded twice.
                "GET /v3/organizations?names=a%2526b%252C%2520%25C3%25A4&per_page=5000",
                "GET /v3/spaces?names=a%2526b%252C%2520%25C3%25A4&organization_guids=org-1&per_page=5000",
            ],
        ),
        (
            Version::V2,
            [
                "GET /v2/organizations?q=name%3Aa%26b%2C+%C3%A4&results-per-page=100",
                "GET /v2/organizations/org-1/spaces?q=name%3Aa%26b%2C+%C3%A4&results-per-page=100",
            ],
        ),
    ] {
        let name = "a&b, ä";
        let cf = Cf::of(version, move |request| {
            let guid = if request.path().ends_with("spaces") {
                "space-1"
            } else {
                "org-1"
            };
            Reply::ok(match version {
                Version::V3 => format!(
                    r#"{{"pagination":{{"total_results":1,"total_pages":1,"next":null}},"resources":[{{"guid":"{guid}","name":"{name}"}}]}}"#
                ),
                Version::V2 => format!(
                    r#"{{"total_results":1,"total_pages":1,"next_url":null,"resources":[{{"metadata":{{"guid":"{guid}"}},"entity":{{"name":"{name}"}}}}]}}"#
                ),
            })
        })
        .await;

        let call = call();
        let organization = cf.organization_named(&call, name).await;
        let organization = organization.unwrap().unwrap();
        let space = cf.space_named(&call, &organization, name).await;

        assert_eq!(organization.as_str(), "org-1");
        assert_eq!(space.unwrap().unwrap().as_str(), "space-1");
        assert_eq!(cf.lines(), expected);
    }
}

#[tokio::test]
async fn an_unused_name_is_no_error() {
    for version in BOTH {
        let cf = Cf::of(version, move |_| {
            Reply::ok(match version {
                Version::V3 => {
                    r#"{"pagination":{"total_results":0,"total_pages":1,"next":null},"resources":[]}"#
                }
                Version::V2 => {
                    r#"{"total_results":0,"total_pages":1,"next_url":null,"resources":[]}"#
                }
            })
        })
        .await;

        let found = cf.organization_named(&call(), "nobody").await;

        assert_eq!(found.unwrap(), None);
    }
}
