//! The client of an instance from its creation to its deletion.

use odb_stories::{Fault, Foundation, LogLine, Order, TaskFault, client_definition, new_id};
use serde_json::{Value, json};

use super::{
    PLACEHOLDER, WITH_DASHBOARD, change, defined, deployed_secret, expect_no_client, members,
    refuse_deployments, reported, set,
};

#[tokio::test]
async fn an_instance_gets_a_client_whose_secret_its_adapter_alone_is_reported() {
    let foundation = Foundation::start().await;
    let broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let instance = platform.created().await;

    let space = foundation.space();
    let (reads, writes) = (format!("svc.{space}.read"), format!("svc.{space}.write"));
    let reported = &reported(&foundation)[0];
    assert_eq!(reported["client_id"], instance.as_str());
    assert_eq!(reported["name"], "cache", "as its user calls the instance");
    assert_eq!(members(&reported["scopes"]), set(&["openid", &reads]));
    assert_eq!(members(&reported["authorities"]), set(&[&writes]));
    assert_eq!(
        members(&reported["authorized_grant_types"]),
        set(&["client_credentials", "authorization_code", "refresh_token"])
    );
    assert_eq!(reported["redirect_uri"], PLACEHOLDER);
    assert_eq!(reported["allowpublic"], "false");
    let secret = reported["client_secret"].as_str().expect("it is text");
    assert_eq!(secret.len(), 32, "{secret}");
    assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert!(clients.knows(&instance, secret).await);
    assert_eq!(deployed_secret(&foundation, &instance).await, secret);

    let client = clients.client(&instance).await;
    assert_eq!(members(&client["scope"]), set(&["openid", &reads]));
    assert_eq!(members(&client["authorities"]), set(&[&writes]));
    let dashboard = format!("https://dashboard.example/{instance}");
    assert_eq!(members(&client["redirect_uri"]), set(&[&dashboard]));
    assert_eq!(client["name"], "cache");

    let record = foundation.director().record(&instance).await;
    let record = record.expect("it is recorded").to_string();
    let log: String = broker.log().iter().map(LogLine::text).collect();
    for text in [record, log] {
        assert!(!text.contains(secret), "the secret is in {text}");
    }
}

#[tokio::test]
async fn a_user_sees_nothing_of_the_client() {
    let foundation = Foundation::start().await;
    let broker = defined(&foundation, WITH_DASHBOARD)
        .with("/broker/enable_fetch_instance", true.into())
        .start()
        .await;
    let (platform, instance) = (broker.platform(), new_id());
    let ordered = platform.provision(&instance, &Order::small()).await;
    let token = ordered.accepted();
    let ended = platform.end_of_operation(&instance, &token).await;
    let fetched = platform.fetch(&instance).await;
    let poll = platform.last_operation(&instance, &token).await;

    let secret = deployed_secret(&foundation, &instance).await;
    for text in [&ordered.text, &fetched.text, &poll.text] {
        for hidden in [secret.as_str(), "client_", "uaa", "odb_"] {
            assert!(!text.contains(hidden), "`{hidden}` is in {text}");
        }
    }
    assert_eq!(ended.state, "succeeded", "{ended:?}");
}

#[tokio::test]
async fn an_update_finds_the_client_keeps_its_secret_and_changes_it_to_what_is_defined_today() {
    let foundation = Foundation::start().await;
    let mut previous = defined(&foundation, WITH_DASHBOARD).start().await;
    let (clients, instance) = (foundation.uaa_clients(), new_id());
    previous.platform().create(&instance).await;
    let secret = deployed_secret(&foundation, &instance).await;
    previous.stop().await;
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(json!({
            "scopes": "svc.ODB_SPACE_GUID.all",
            "authorized_grant_types": "client_credentials,authorization_code",
        }))
        .start()
        .await;

    broker
        .platform()
        .update_to_the_end(&instance, &change(150))
        .await;

    let scope = format!("svc.{}.all", foundation.space());
    let reported = reported(&foundation).pop().expect("it was asked");
    assert_eq!(reported["client_secret"], "", "UAA does not give it back");
    assert_eq!(reported["scopes"], scope.as_str());
    assert_eq!(reported["authorities"], "uaa.none");
    let client = clients.client(&instance).await;
    assert_eq!(members(&client["scope"]), set(&[&scope]));
    assert_eq!(members(&client["authorities"]), set(&["uaa.none"]));
    assert_eq!(client["name"], "cache");
    assert_eq!(deployed_secret(&foundation, &instance).await, secret);
    assert!(clients.knows(&instance, &secret).await);
}

#[tokio::test]
async fn an_upgrade_makes_the_client_of_an_instance_that_has_none() {
    let foundation = Foundation::start().await;
    let mut previous = foundation
        .broker()
        .with_adapter(&foundation.adapters().script(WITH_DASHBOARD))
        .start()
        .await;
    let (clients, instance) = (foundation.uaa_clients(), new_id());
    previous.platform().create(&instance).await;
    assert_eq!(clients.find(&instance).await, None);
    previous.stop().await;
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(client_definition())
        .start()
        .await;
    let platform = broker.platform();

    // An upgrade may come without the instance's space.
    platform.upgrade_to_the_end(&instance, Value::Null).await;
    assert_eq!(clients.find(&instance).await, None);
    assert_eq!(reported(&foundation).last(), Some(&Value::Null));
    let context = json!({ "space_guid": foundation.space(), "instance_name": "store" });
    platform.upgrade_to_the_end(&instance, context).await;

    let client = clients.client(&instance).await;
    assert_eq!(client["name"], "store");
    let scope = format!("svc.{}.read", foundation.space());
    assert_eq!(members(&client["scope"]), set(&["openid", &scope]));
    let secret = deployed_secret(&foundation, &instance).await;
    assert!(clients.knows(&instance, &secret).await);

    // Values that the operator's request does not have stay unchanged.
    platform.upgrade_to_the_end(&instance, Value::Null).await;
    assert_eq!(clients.client(&instance).await["name"], "store");
    let kept = clients.client(&instance).await;
    assert_eq!(members(&kept["scope"]), set(&["openid", &scope]));
    assert_eq!(deployed_secret(&foundation, &instance).await, secret);
}

#[tokio::test]
async fn a_client_that_is_not_defined_any_more_goes_when_the_change_has_succeeded() {
    let foundation = Foundation::start().await;
    let instance = defined(&foundation, WITH_DASHBOARD)
        .makes_an_instance()
        .await;
    let clients = foundation.uaa_clients();
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .start()
        .await;
    let platform = broker.platform();
    refuse_deployments(&foundation.control()).await;

    let refused = platform.update(&instance, &change(150)).await;
    refused.expect_status(500);
    assert!(clients.find(&instance).await.is_some(), "nothing changes");
    platform.update_to_the_end(&instance, &change(150)).await;

    expect_no_client(&clients, &instance).await;
    let reported = reported(&foundation).pop().expect("it was asked");
    assert_eq!(reported, Value::Null);
}

#[tokio::test]
async fn a_deletion_takes_the_client_along() {
    let foundation = Foundation::start().await;
    let broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let before = clients.ids().await;
    let (with_errand, vanished) = (new_id(), new_id());
    for instance in [&with_errand, &vanished] {
        platform.create(instance).await;
    }

    platform.delete_to_the_end(&with_errand).await;
    assert_eq!(clients.find(&with_errand).await, None);

    // The deployment was deleted outside of the broker.
    foundation
        .control()
        .set(
            Fault::of(
                "director",
                &format!("GET /deployments/service-instance_{vanished}"),
            )
            .says(404, r#"{"code":70000,"description":"gone"}"#),
        )
        .await;
    foundation
        .control()
        .set(
            Fault::of(
                "director",
                &format!("POST /deployments/service-instance_{vanished}/errands/*/runs"),
            )
            .says(404, r#"{"code":70000,"description":"gone"}"#),
        )
        .await;
    platform.deprovision(&vanished).await.expect_status(410);
    assert_eq!(clients.ids().await, before);
}

#[tokio::test]
async fn a_repeated_order_does_not_touch_the_client() {
    let foundation = Foundation::start().await;
    let broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let (control, instance) = (foundation.control(), new_id());
    control
        .set_task(TaskFault::at_start().of(&instance).holds())
        .await;
    let token = platform.order(&instance).await;
    let before = clients.client(&instance).await;

    let again = platform.provision(&instance, &Order::small()).await;
    assert_eq!(again.accepted(), token);
    platform
        .provision(&instance, &change(7))
        .await
        .expect_status(409);
    assert_eq!(clients.client(&instance).await, before);
    control.clear_faults().await;

    platform.succeeds(&instance, &token).await;
    let settled = clients.client(&instance).await;
    let repeated = platform.provision(&instance, &Order::small()).await;
    repeated.expect_status(200);
    assert_eq!(clients.client(&instance).await, settled);
}

#[tokio::test]
async fn public_and_implicit_clients_have_no_secret_of_their_own() {
    for (definition, secret) in [
        (
            json!({ "authorized_grant_types": "authorization_code", "allowpublic": true }),
            "-",
        ),
        (json!({ "authorized_grant_types": "implicit" }), ""),
    ] {
        let foundation = Foundation::start().await;
        let broker = defined(&foundation, WITH_DASHBOARD)
            .with_client_definition(definition)
            .start()
            .await;
        broker.platform().created().await;

        let reported = &reported(&foundation)[0];
        assert_eq!(reported["client_secret"], secret);
        assert_eq!(reported["redirect_uri"], PLACEHOLDER);
        assert_eq!(reported["allowpublic"], (secret == "-").to_string());
    }
}

#[tokio::test]
async fn a_missing_right_to_administer_clients_is_reported_at_the_start_and_not_by_a_user() {
    let foundation = Foundation::setup()
        .with_broker_rights(&["cloud_controller.admin", "clients.write"])
        .start()
        .await;
    let configuration = foundation
        .broker()
        .with_client_definition(client_definition());

    let log = crate::start_up_checks::failing_start(&foundation, configuration).await;

    assert!(log.contains("ODB-1119"), "{log}");
    assert!(log.contains("clients.admin"), "{log}");
}

#[tokio::test]
async fn a_broker_without_a_definition_asks_nothing_of_the_uaa_but_tokens() {
    let (foundation, broker) = Foundation::setup().start_with_broker().await;
    let platform = broker.platform();

    let instance = platform.created().await;
    platform.update_to_the_end(&instance, &change(150)).await;
    platform.delete_to_the_end(&instance).await;

    let calls = foundation.control().broker_calls(0).await;
    let asked: Vec<_> = calls
        .iter()
        .filter(|call| call.server == "cf-uaa" && !call.is_for_a_token())
        .collect();
    assert!(asked.is_empty(), "{asked:#?}");
}
