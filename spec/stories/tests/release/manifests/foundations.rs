//! The clients that `manifests/foundation/` makes are enough for a broker, and have not more rights than the document
//! says.

use odb_stories::{
    Foundation, Order, Upstream,
    manifest::{Manifest, OpsFile, Variables, find},
    new_id,
};
use serde_json::{Value, json};

use super::{cloud_config::cloud_config, site::Site, table};

const BROKER: &str = "on-demand-broker";
const SECRETS: &str = "on-demand-broker-credhub";

const DIRECTOR: &str = include_str!("foundations/director.yml");
const CLOUD_FOUNDRY: &str = include_str!("foundations/cloud_foundry.yml");

/// A manifest with ops files of the project's over it, and what a Director makes for its variables.
fn with(manifest: &str, files: &[&str], variables: &Variables) -> Value {
    let manifest = Manifest::parse("a manifest of others", manifest).unwrap();
    let manifest = files.iter().fold(manifest, |manifest, file| {
        let file = OpsFile::of_project(&format!("manifests/foundation/{file}"));
        manifest.with_operations(&file).unwrap()
    });
    let completed = manifest.complete(variables).unwrap();
    assert!(completed.missing.is_empty(), "{:?}", completed.missing);
    assert!(completed.unused.is_empty(), "{:?}", completed.unused);
    completed.document
}

fn uaa<'m>(manifest: &'m Value, group: &str) -> &'m Value {
    let uaa = find(
        manifest,
        &format!("/instance_groups/name={group}/jobs/name=uaa"),
    );
    &uaa.unwrap()["properties"]["uaa"]
}

/// As the sandbox has them.
fn permissions(manifest: &Value, group: &str) -> Value {
    let credhub = find(
        manifest,
        &format!("/instance_groups/name={group}/jobs/name=credhub"),
    );
    let permissions = &credhub.unwrap()["properties"]["credhub"]["authorization"]["permissions"];
    let permissions = permissions.as_array().unwrap().iter();
    let permissions = permissions.map(|permission| {
        json!({
            "path": permission["path"],
            "actor": permission["actors"][0],
            "operations": permission["operations"],
        })
    });
    permissions.collect()
}

fn director() -> Value {
    let files = ["director-clients.yml", "director-credhub-client.yml"];
    // As the sandbox calls its own.
    let variables = Variables::new().with("director_name", "sandbox-director");
    with(DIRECTOR, &files, &variables)
}

fn cloud_foundry(files: &[&str]) -> Value {
    with(CLOUD_FOUNDRY, files, &Variables::new())
}

#[test]
fn each_file_gives_the_rights_that_the_document_reports() {
    let (_, table) = table::DOCUMENT
        .split_once("| file in `manifests/foundation/` |")
        .unwrap();
    let rights = |file: &str| {
        let start = format!("| `{file}` |");
        let line = table.lines().find(|line| line.starts_with(&start)).unwrap();
        line.rsplit(" | ").next().unwrap().to_owned()
    };
    let reported = |file: &str, authorities: &Value| {
        for authority in authorities.as_str().unwrap().split(',') {
            assert!(
                rights(file).contains(&format!("`{authority}`")),
                "{file}: {authority}"
            );
        }
    };
    let director = director();
    let clients = &uaa(&director, "bosh")["clients"];
    reported("director-clients.yml", &clients[BROKER]["authorities"]);
    reported(
        "director-credhub-client.yml",
        &clients[SECRETS]["authorities"],
    );
    let platform = cloud_foundry(&["cf-clients.yml", "cf-credhub-client.yml", "cf-user.yml"]);
    let clients = &uaa(&platform, "uaa")["clients"];
    reported("cf-clients.yml", &clients[BROKER]["authorities"]);
    reported("cf-credhub-client.yml", &clients[SECRETS]["authorities"]);
    let users = &uaa(&platform, "uaa")["scim"];
    let user = find(users, "/users/name=on-demand-broker").expect("there is such a user");
    reported("cf-user.yml", &user["groups"][0]);
    assert_eq!(user["groups"].as_array().unwrap().len(), 1);
}

/// Clients, users, permissions and variables of others are what the Director and Cloud Foundry live by.
#[test]
fn what_a_foundation_has_already_is_still_there() {
    let files = [
        "cf-clients.yml",
        "cf-clients-for-instances.yml",
        "cf-credhub-client.yml",
        "cf-user.yml",
    ];
    for (text, files) in [
        (
            DIRECTOR,
            &["director-clients.yml", "director-credhub-client.yml"][..],
        ),
        (CLOUD_FOUNDRY, &files),
    ] {
        let before = Manifest::parse("a manifest of others", text).unwrap();
        let after = files.iter().fold(before.clone(), |manifest, file| {
            let file = OpsFile::of_project(&format!("manifests/foundation/{file}"));
            manifest.with_operations(&file).unwrap()
        });
        assert_ne!(after, before);
        expect_kept("", before.document(), after.document());
    }
}

/// Members of maps are kept under their key, and items of lists in their order, before whatever has come.
fn expect_kept(path: &str, before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                expect_kept(&format!("{path}/{key}"), value, &after[key]);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert!(after.len() >= before.len(), "{path}");
            for (position, (value, now)) in before.iter().zip(after).enumerate() {
                expect_kept(&format!("{path}/{position}"), value, now);
            }
        }
        _ => assert_eq!(before, after, "{path}"),
    }
}

#[test]
fn the_clients_are_those_of_the_example() {
    let example = Variables::of_example();
    let director = director();
    let platform = cloud_foundry(&["cf-clients.yml", "cf-credhub-client.yml"]);
    for (clients, variables) in [
        (
            uaa(&director, "bosh"),
            ["director_client", "director_credhub_client"],
        ),
        (uaa(&platform, "uaa"), ["cf_client", "cf_credhub_client"]),
    ] {
        for variable in variables {
            let id = example.text(variable);
            assert!(clients["clients"][id].is_object(), "{variable} is {id}");
        }
    }
}

/// Secure manifests, secure bindings and clients of instances, on the networks and machines of the cloud config.
#[tokio::test]
async fn a_broker_gets_along_with_these_clients_and_this_cloud_config() {
    let director = director();
    let files = [
        "cf-clients.yml",
        "cf-clients-for-instances.yml",
        "cf-credhub-client.yml",
    ];
    let platform = cloud_foundry(&files);
    let director_clients = &uaa(&director, "bosh")["clients"];
    let platform_clients = &uaa(&platform, "uaa")["clients"];
    let foundation = Foundation::bare()
        .with("/director/cloud_config", cloud_config())
        .with_client_for(Upstream::Director, BROKER, &director_clients[BROKER])
        .with_client_for(
            Upstream::DirectorCredHub,
            SECRETS,
            &director_clients[SECRETS],
        )
        .with_client_for(Upstream::CloudController, BROKER, &platform_clients[BROKER])
        .with_client_for(
            Upstream::RuntimeCredHub,
            SECRETS,
            &platform_clients[SECRETS],
        )
        .with_permissions(
            permissions(&director, "bosh"),
            permissions(&platform, "credhub"),
        )
        .start()
        .await;
    let site = Site::of("redis.yml", &["instance-clients.yml"]);
    let adapter = foundation.adapters().script("read_input\nas_redis");
    let broker = foundation
        .broker()
        .with_adapter(&adapter)
        .with(
            "/service_catalog/plans",
            site.property("/service_catalog/plans").clone(),
        )
        .with_client_definition(site.property("/cf/uaa/client_definition").clone())
        .with_secure_manifests()
        .with_secure_bindings()
        .start()
        .await;
    let platform = broker.platform();
    let (instance, binding) = (new_id(), new_id());

    let order = Order::small().with_parameters(json!({"odb_managed_secret": "kept"}));
    platform.provision_to_the_end(&instance, &order).await;
    let bound = platform.bind_app(&instance, &binding, &new_id()).await;

    assert!(foundation.uaa_clients().find(&instance).await.is_some());
    let offering = site.property("/service_catalog/id").as_str().unwrap();
    // A Director keeps what it has generated for good.
    let folder = format!("/odb/{offering}/service-instance_{instance}");
    assert!(
        !foundation
            .bosh_credhub()
            .names_like(&folder)
            .await
            .is_empty()
    );
    assert!(
        bound.json()["credentials"]["credhub-ref"].is_string(),
        "{bound:?}"
    );

    platform
        .unbind(&instance, &binding)
        .await
        .expect_status(200);
    platform.delete_to_the_end(&instance).await;
    assert!(foundation.uaa_clients().find(&instance).await.is_none());
    assert!(
        foundation
            .bosh_credhub()
            .names_like(&folder)
            .await
            .is_empty()
    );
}
