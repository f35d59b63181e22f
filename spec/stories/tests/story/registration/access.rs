//! The access to plans.

use serde_json::json;

use super::{GENERATIONS, Scene, expect_text};

#[tokio::test]
async fn a_restricted_plan_is_seen_by_its_organization_in_either_spelling() {
    for generation in GENERATIONS {
        for spelling in ["org-restricted", "org_restricted"] {
            let scene = Scene::of(generation).await;
            let plans = [
                ("small", spelling, Some("acme")),
                ("large", "disable", None),
            ];
            let configuration = scene.configuration().with_plans(&plans);

            let run = scene.register(&configuration).await.expect_status(0);

            assert_eq!(
                scene.service_access().await,
                [
                    "redis-broker redis large admin",
                    "redis-broker redis small organization acme"
                ]
            );
            expect_text(
                &run,
                "plan `small`: access was none, is now restricted to the organization `acme`",
            );
        }
    }
}

#[tokio::test]
async fn a_plan_may_have_several_organizations_and_those_who_keep_it_never_lose_it() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        for organization in ["old", "new"] {
            scene.cf(&["create-org", organization]).await;
        }
        let of = |organizations: &[&str]| {
            scene.configuration().with(
                "/plans",
                json!([{
                    "name": "small",
                    "cf_service_access": "org-restricted",
                    "service_access_org": "acme",
                    "service_access_orgs": organizations,
                }]),
            )
        };
        scene.succeed(&of(&["old"])).await;
        let first = scene.latest_call().await;

        let run = scene.register(&of(&["new", "acme"])).await.expect_status(0);

        let access = &scene.service_access().await[1];
        let organizations = access.strip_prefix("redis-broker redis small organization ");
        let mut organizations: Vec<_> = organizations.unwrap_or(access).split(", ").collect();
        organizations.sort_unstable();
        assert_eq!(organizations, ["acme", "new"]);
        expect_text(&run, "is now restricted to the organizations `acme`, `new`");
        let expected = generation.or(
            vec![
                "PATCH /v3/service_brokers/GUID",
                "PATCH /v3/service_plans/GUID/visibility",
            ],
            // No access is revoked and granted again.
            vec![
                "PUT /v2/service_brokers/GUID",
                "POST /v2/service_plan_visibilities",
                "DELETE /v2/service_plan_visibilities/GUID",
            ],
        );
        assert_eq!(scene.changes(first).await, expected);
    }
}

#[tokio::test]
async fn the_file_wins_over_grants_by_hand_and_what_is_taken_is_reported() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        scene.cf(&["create-org", "guest"]).await;
        let plans = [("small", "org-restricted", Some("acme"))];
        let restricted = scene.configuration().with_plans(&plans);
        scene.succeed(&restricted).await;
        let by_hand = [
            "enable-service-access",
            "redis",
            "-p",
            "small",
            "-o",
            "guest",
        ];
        scene.cf(&by_hand).await;

        let run = scene.register(&restricted).await.expect_status(0);

        assert_eq!(
            scene.service_access().await[1],
            "redis-broker redis small organization acme"
        );
        expect_text(&run, "is now restricted to the organization `acme`");
        expect_text(&run, "`guest`");
    }
}

#[tokio::test]
async fn every_access_can_follow_every_other() {
    const ALL: [(&str, Option<&str>, &str); 3] = [
        ("enable", None, "public"),
        ("disable", None, "admin"),
        ("org-restricted", Some("acme"), "organization acme"),
    ];
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        // A walk that goes from each to each, including itself.
        for step in [0, 0, 1, 1, 2, 2, 0, 2, 1, 0] {
            let (access, organization, expected) = ALL[step];
            let plans = [("small", access, organization)];
            let configuration = scene.configuration().with_plans(&plans);
            scene.succeed(&configuration).await;
            let found = &scene.service_access().await[1];
            let expected = format!("redis-broker redis small {expected}");
            assert_eq!(*found, expected, "{generation:?}");
        }
    }
}

#[tokio::test]
async fn access_that_is_settled_by_hand_is_left_as_it_is() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let manual = [("small", "manual", None), ("large", "MANUAL", None)];
        let configuration = scene.configuration().with_plans(&manual);
        scene.succeed(&configuration).await;
        let by_hand = [
            "enable-service-access",
            "redis",
            "-p",
            "large",
            "-o",
            "acme",
        ];
        scene.cf(&by_hand).await;

        let run = scene.register(&configuration).await.expect_status(0);

        assert_eq!(
            scene.service_access().await,
            [
                "redis-broker redis large organization acme",
                "redis-broker redis small admin"
            ]
        );
        expect_text(&run, "plan `large`: access is unchanged");
    }
}

#[tokio::test]
async fn an_organization_that_is_not_there_is_found_out_before_anything_is_changed() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let plans = [
            ("small", "enable", None),
            ("large", "org-restricted", Some("no such, org & co")),
        ];
        let configuration = scene.configuration().with_plans(&plans);

        let run = scene.register(&configuration).await.expect_status(1);

        assert!(
            run.last_text().starts_with(
                "failed to execute register-broker: failed to find org with name \"no such, org & co\""
            ),
            "{run:?}"
        );
        assert!(scene.changes(0).await.is_empty());
    }
}

#[tokio::test]
async fn a_plan_that_the_broker_does_not_have_is_reported_before_anything_is_changed() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let plans = [("small", "enable", None), ("huge", "enable", None)];
        let configuration = scene.configuration().with_plans(&plans);

        let run = scene.register(&configuration).await.expect_status(1);

        let said = run.last_text();
        assert!(
            said.contains("planID \"huge\" not found in the catalog")
                && said.contains("`large`")
                && said.contains("`small`"),
            "{said}"
        );
        assert!(scene.service_brokers().await.is_empty());
    }
}

#[tokio::test]
async fn an_offering_that_the_broker_does_not_have_is_reported() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let configuration = scene
            .configuration()
            .with("/service_offering_id", "another-offering".into());

        let run = scene.register(&configuration).await.expect_status(1);

        run.expect_said_last("`service_offering_id`");
    }
}

#[tokio::test]
async fn a_twin_with_the_same_offering_keeps_its_access() {
    for generation in GENERATIONS {
        let scene = Scene::of(generation).await;
        let twin = scene.configuration().with("/broker_name", "twin".into());
        let closed = [("small", "disable", None), ("large", "disable", None)];
        scene.succeed(&twin.with_plans(&closed)).await;

        scene.succeed(&scene.configuration()).await;

        assert_eq!(
            scene.service_access().await,
            [
                "redis-broker redis large admin",
                "redis-broker redis small public",
                "twin redis large admin",
                "twin redis small admin",
            ]
        );
    }
}
