//! Apps are bound, keys are made.

use serde_json::json;

use super::{
    instance, marketplace,
    terminal::{delete, get, post},
};

#[tokio::test]
async fn apps_are_bound_and_keys_are_made() {
    let (platform, _broker, _, mut user) = marketplace().await;
    platform.instance("small", "db").await;
    let app =
        json!({"name": "web", "relationships": {"space": {"data": {"guid": platform.space}}}});
    assert_eq!(platform.developer.post("/v3/apps", &app).await.status, 201);
    let bindings = "/v3/service_credential_bindings";
    let binding = json!({
        "type": "app", "parameters": {"role": "reader"},
        "relationships": {"app": {"data": {"guid": "{app}"}}, "service_instance": {"data": {"guid": "{instance}"}}},
    });
    let key = json!({
        "type": "key", "name": "k", "relationships": {"service_instance": {"data": {"guid": "{instance}"}}},
    });
    let web = || {
        get("/v3/apps?names=web&page=1&per_page=1&space_guids={space}")
            .keeps("app", "/resources/0/guid")
    };

    user.plays(
        "cf bind-service web db -c …",
        [
            instance("db"),
            web(),
            post(bindings, binding.clone()).in_a_job(),
            post(bindings, binding).with_status(422).reads(
                "/errors/0/detail",
                "The app is already bound to the service instance",
            ),
        ],
    )
    .await;
    user.plays(
        "cf unbind-service web db",
        [
            instance("db"),
            web(),
            get("/v3/service_credential_bindings?app_guids={app}&service_instance_guids={instance}&type=app")
                .reads("/resources/0/relationships/app/data/guid", "{app}")
                .keeps("binding", "/resources/0/guid"),
            delete("/v3/service_credential_bindings/{binding}").in_a_job(),
        ],
    )
    .await;
    user.plays(
        "cf create-service-key db k",
        [
            instance("db"),
            post(bindings, key.clone()).in_a_job(),
            post(bindings, key).with_status(422).reads(
                "/errors/0/detail",
                "The binding name is invalid. Key binding names must be unique. The service instance already has a key \
                 binding with name 'k'.",
            ),
        ],
    )
    .await;
    user.plays(
        "cf service-keys db; cf service-key db k",
        [
            get("/v3/service_credential_bindings?per_page=5000&service_instance_guids={instance}&type=key")
                .reads("/resources/0/name", "k"),
            get("/v3/service_credential_bindings?names=k&page=1&per_page=1&service_instance_guids={instance}&type=key")
                .keeps("key", "/resources/0/guid"),
            get("/v3/service_credential_bindings/{key}/details")
                .reads("/credentials/password", "s3cr3t"),
        ],
    )
    .await;
    user.plays(
        "cf delete-service-key db k -f",
        [
            instance("db"),
            get("/v3/service_credential_bindings?names=k&page=1&per_page=1&service_instance_guids={instance}&type=key"),
            delete("/v3/service_credential_bindings/{key}").in_a_job(),
        ],
    )
    .await;
}
