//! The developer's commands for a service instance.

use serde_json::json;

use super::{
    instance, marketplace,
    terminal::{delete, get, patch, post},
};
use crate::broker::{Route, catalog};

#[expect(
    clippy::too_many_lines,
    reason = "one session at the command line, in its order"
)]
#[tokio::test]
async fn a_service_is_found_ordered_shown_changed_and_deleted() {
    let (_platform, _broker, _, mut user) = marketplace().await;
    let shown = "/v3/service_instances?fields[service_plan]=name,guid\
         &fields[service_plan.service_offering]=name,guid,description,tags,documentation_url\
         &fields[service_plan.service_offering.service_broker]=name,guid\
         &fields[space]=name,guid&fields[space.organization]=name,guid\
         &names=db&page=1&per_page=1&space_guids={space}";
    let order = json!({
        "type": "managed", "name": "db", "tags": ["blue"], "parameters": {"maxclients": 10},
        "relationships": {"space": {"data": {"guid": "{space}"}}, "service_plan": {"data": {"guid": "{plan}"}}},
    });

    let marketplace = "/v3/service_plans?available=true&fields[service_offering.service_broker]=name,guid\
         &include=service_offering&per_page=5000&space_guids={space}";
    user.plays(
        "cf marketplace",
        [
            get(marketplace)
                .reads("/pagination/total_results", 2)
                .reads("/included/service_offerings/0/name", "redis")
                .keeps("broker", "/included/service_brokers/0/guid"),
            // Both plans are of the one broker.
            get(marketplace).reads(
                "/included/service_brokers",
                json!([{"guid": "{broker}", "name": "redis-broker"}]),
            ),
        ],
    )
    .await;
    user.plays(
        "cf create-service redis large db -t blue -c …",
        [
            get("/v3/service_plans?names=large&service_offering_names=redis")
                .reads("/pagination/total_results", 1)
                .keeps("plan", "/resources/0/guid"),
            post("/v3/service_instances", order.clone()).in_a_job(),
        ],
    )
    .await;
    user.plays(
        "cf create-service, once more",
        [post("/v3/service_instances", order)
            .with_status(422)
            .reads("/errors/0/detail", "The service instance name is taken: db")],
    )
    .await;
    user.plays(
        "cf services",
        [
            get("/v3/service_instances?fields[service_plan]=guid,name,relationships.service_offering\
                 &fields[service_plan.service_offering]=guid,name,relationships.service_broker\
                 &fields[service_plan.service_offering.service_broker]=guid,name\
                 &order_by=name&per_page=5000&space_guids={space}")
            .reads("/resources/0/name", "db")
            .reads("/resources/0/tags", json!(["blue"]))
            .keeps("instance", "/resources/0/guid")
            .keeps("offering", "/included/service_offerings/0/guid")
            .keeps("of_plan", "/included/service_plans/0/relationships/service_offering/data/guid"),
            get("/v3/service_credential_bindings?include=app&service_instance_guids={instance},other")
                .reads("/included", json!({"apps": []})),
        ],
    )
    .await;
    user.plays(
        "cf service db",
        [
            get(shown)
                .reads("/included/spaces/0/name", "development")
                .reads("/included/organizations/0/name", "acme")
                .reads("/included/service_plans", json!([{"guid": "{plan}", "name": "large"}]))
                .reads("/included/service_offerings/0/tags", json!(["cache"]))
                .reads("/included/service_brokers/0/name", "redis-broker")
                .reads("/resources/0/last_operation/type", "create")
                .reads("/resources/0/last_operation/state", "succeeded")
                .reads("/resources/0/maintenance_info", json!({}))
                .reads("/resources/0/upgrade_available", false)
                .keeps("began", "/resources/0/last_operation/created_at")
                .keeps("ended", "/resources/0/last_operation/updated_at"),
            get("/v3/feature_flags/service_instance_sharing").reads("/enabled", false),
            get("/v3/service_offerings/{offering}")
                .reads("/guid", "{of_plan}")
                .reads("/shareable", false),
            get("/v3/service_instances/{instance}/relationships/shared_spaces\
                 ?fields[space]=guid,name,relationships.organization&fields[space.organization]=guid,name")
            .reads("/data", json!([])),
            get("/v3/service_credential_bindings?include=app&service_instance_guids={instance}&type=app")
                .reads("/resources", json!([])),
        ],
    )
    .await;
    user.plays(
        "cf service db --params",
        [
            instance("db"),
            get("/v3/service_instances/{instance}/parameters")
                .with_status(400)
                .reads("/errors/0/code", 120_004)
                .reads(
                    "/errors/0/detail",
                    "This service does not support fetching service instance parameters.",
                ),
        ],
    )
    .await;
    user.plays(
        "cf update-service db -c …; cf update-service db -t red; cf rename-service",
        [
            instance("db"),
            patch(
                "/v3/service_instances/{instance}",
                json!({"parameters": {"maxclients": 20}}),
            )
            .in_a_job(),
            patch("/v3/service_instances/{instance}", json!({"tags": ["red"]}))
                .reads("/tags", json!(["red"])),
            patch("/v3/service_instances/{instance}", json!({"name": "store"}))
                .reads("/name", "store"),
        ],
    )
    .await;
    user.plays(
        "cf update-service store -p small",
        [
            get("/v3/service_instances?fields[service_plan.service_offering]=name,guid\
                 &fields[service_plan.service_offering.service_broker]=name&names=store&page=1&per_page=1\
                 &space_guids={space}")
            .reads("/included/service_brokers", json!([{"name": "redis-broker"}]))
            .keeps("offering", "/included/service_offerings/0/guid"),
            get("/v3/service_plans?names=small&service_offering_guids={offering}")
                .keeps("plan", "/resources/0/guid"),
            patch("/v3/service_instances/{instance}", json!({"relationships": {"service_plan": {"data": {"guid": "{plan}"}}}})).in_a_job(),
            get("/v3/service_plans?service_instance_guids={instance}").reads("/resources/0/name", "small"),
        ],
    )
    .await;
    user.plays(
        "cf delete-service store -f; cf delete-service store -f",
        [
            instance("store"),
            delete("/v3/service_instances/{instance}").in_a_job(),
            get("/v3/service_instances?names=store&page=1&per_page=1&space_guids={space}")
                .reads("/resources", json!([])),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_upgrade_is_ordered_by_the_version_of_the_plan() {
    let (platform, broker, _, mut user) = marketplace().await;
    platform.instance("small", "db").await;
    let mut catalog = catalog();
    catalog["services"][0]["plans"][0]["maintenance_info"]["version"] = json!("1.3.0");
    broker.answers(Route::Catalog, 200, catalog);
    let answer = platform.update_broker(&broker).await;
    platform.admin.completed(&answer).await;

    user.plays(
        "cf upgrade-service db -f",
        [
            instance("db")
                .reads("/resources/0/upgrade_available", true)
                .keeps("plan", "/resources/0/relationships/service_plan/data/guid"),
            get("/v3/service_plans/{plan}").reads("/maintenance_info/version", "1.3.0"),
            patch(
                "/v3/service_instances/{instance}",
                json!({"maintenance_info": {"version": "1.3.0"}}),
            )
            .in_a_job(),
            instance("db").reads("/resources/0/upgrade_available", false),
        ],
    )
    .await;
}
