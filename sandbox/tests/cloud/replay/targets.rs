//! Organizations and spaces.

use serde_json::{Value, json};

use super::terminal::{Terminal, get, post};
use crate::platform::Platform;

#[tokio::test]
async fn targets_are_found_by_name_and_listed() {
    let platform = Platform::start().await;
    let mut user = Terminal::of(&platform, &platform.developer);

    user.plays(
        "cf login -o -s",
        [
            get("/v3/organizations?names=acme&page=1&per_page=1")
                .reads("/resources/0/guid", "{org}"),
            get("/v3/spaces?names=development&organization_guids={org}&page=1&per_page=1")
                .reads("/resources/0/guid", "{space}"),
        ],
    )
    .await;
    user.plays(
        "cf login",
        [
            get("/v3/organizations?order_by=name").reads("/pagination/total_results", 1),
            get("/v3/spaces?order_by=name&organization_guids={org}")
                .reads("/pagination/total_results", 1),
        ],
    )
    .await;
}

#[tokio::test]
async fn organizations_and_spaces_are_made_with_roles_for_their_maker() {
    let platform = Platform::start().await;
    let mut admin = Terminal::of(&platform, &platform.admin);
    let me = json!({"data": {"username": "admin", "origin": "uaa"}});
    let in_space = json!({"user": me, "space": {"data": {"guid": "{new_space}"}}});
    let in_org = json!({"user": me, "organization": {"data": {"guid": "{new_org}"}}});
    let role = |kind: &str, relationships: &Value, status| {
        let body = json!({"type": kind, "relationships": relationships});
        post("/v3/roles", body).with_status(status)
    };

    let org = json!({"name": "new", "suspended": false});
    admin
        .plays(
            "cf create-org",
            [post("/v3/organizations", org)
                .reads("/suspended", false)
                .keeps("new_org", "/guid")],
        )
        .await;
    let space =
        json!({"name": "s", "relationships": {"organization": {"data": {"guid": "{new_org}"}}}});
    admin
        .plays(
            "cf create-space",
            [
                post("/v3/spaces", space).keeps("new_space", "/guid"),
                role("organization_user", &in_org, 201).reads("/type", "organization_user"),
                role("space_manager", &in_space, 201)
                    .reads("/relationships/space/data/guid", "{new_space}"),
                role("organization_user", &in_org, 422).reads(
                    "/errors/0/detail",
                    "User 'admin' already has 'organization_user' role in organization 'new'.",
                ),
                role("space_developer", &in_space, 201),
            ],
        )
        .await;
}
