//! Nothing of a client is left behind, and no secret is lost, whatever fails on the way.

use odb_stories::{Fault, Foundation, Order, client_definition, eventually, new_id};
use serde_json::json;

use super::{
    BREAKABLE, NOTING, WITH_DASHBOARD, change, defined, deployed_secret, expect_no_client,
    fail_task, kill_when_the_client_is_made, lose_deployments, refuse_deployments, renamed,
    reported_secret, set_fault, without_time,
};
use crate::{TIMEOUT, history_of_an_order};

#[tokio::test]
async fn a_client_that_cannot_be_deleted_yet_is_not_forgotten() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let (control, instance) = (foundation.control(), new_id());
    platform.create(&instance).await;
    let down = json!({
        "server": "cf-uaa",
        "requests": { "method": "DELETE", "path": format!("/oauth/clients/{instance}") },
        "effect": { "kind": "answer", "status": 503 },
    });
    let down = control.set_fault(&down).await.id;

    let token = platform.deprovision(&instance).await.accepted();
    eventually("the deletion comes to the client", TIMEOUT, async || {
        let set = control.fault(down).await;
        if set.has_struck() {
            Ok(())
        } else {
            Err(format!("{set:?}"))
        }
    })
    .await;
    let poll = platform.last_operation(&instance, &token).await;
    assert_eq!(poll.expect_status(200).json()["state"], "in progress");
    control.clear_faults().await;

    let ended = platform.end_of_operation(&instance, &token).await;
    assert_ne!(ended.state, "failed", "{ended:?}");
    assert_eq!(clients.find(&instance).await, None);
}

#[tokio::test]
async fn a_silent_uaa_keeps_nothing_else_where_clients_are_not_defined() {
    let foundation = Foundation::start_with_director_admin().await;
    let instance = defined(&foundation, WITH_DASHBOARD)
        .makes_an_instance()
        .await;
    let control = foundation.control();
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_request_budget(9)
        .start()
        .await;
    let path = format!("/deployments/service-instance_{instance}");
    for path in [path.clone(), format!("{path}/**")] {
        let missing = r#"{"code":70000,"description":"gone"}"#;
        control
            .set(Fault::of("director", &path).says(404, missing))
            .await;
    }
    control
        .set(Fault::of("cf-uaa", "/**").holds("before"))
        .await;

    let gone = broker.platform().deprovision(&instance).await;

    gone.expect_status(410);
    assert_eq!(foundation.director().record(&instance).await, None);
    control.clear_faults().await;
}

#[tokio::test]
async fn an_order_that_fails_on_the_way_leaves_no_client() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, BREAKABLE).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let (control, before) = (foundation.control(), clients.ids().await);
    let fault_file = foundation.folder().join("broken");
    std::fs::write(&fault_file, "").expect("the test made the folder");

    let answer = platform.provision(&new_id(), &Order::small()).await;
    answer.expect_status(500);
    assert_eq!(clients.ids().await, before, "the adapter has failed");

    std::fs::remove_file(&fault_file).expect("it is there");
    let instance = new_id();
    refuse_deployments(&control).await;
    let answer = platform.provision(&instance, &Order::small()).await;
    answer.expect_status(500);
    assert_eq!(clients.ids().await, before, "the Director has refused");

    let refused = json!({ "kind": "answer", "status": 400, "body": r#"{"error":"invalid_client","error_description":"no such thing"}"# });
    let redirect = json!({ "method": "PUT", "path": "/oauth/clients/*" });
    set_fault(&control, "cf-uaa", redirect, refused).await;
    let answer = platform.provision(&instance, &Order::small()).await;
    let reported = answer.expect_status(500).description();
    assert!(!reported.contains("no such thing"), "{reported}");
    let lines = broker.log_of_request(&answer.request_id());
    assert!(
        lines
            .iter()
            .any(|line| line.mentions("ODB-4009") && line.mentions("no such thing"))
    );
    assert_eq!(clients.ids().await, before, "UAA has refused the dashboard");

    platform.create(&instance).await;
    let history = foundation.director().history().await;
    assert_eq!(history, history_of_an_order(&instance));
}

#[tokio::test]
async fn an_update_that_fails_on_the_way_leaves_the_client_as_it_was() {
    let foundation = Foundation::start_with_director_admin().await;
    let instance = defined(&foundation, BREAKABLE).makes_an_instance().await;
    let clients = foundation.uaa_clients();
    let before = without_time(clients.client(&instance).await);
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(renamed())
        .start()
        .await;
    let platform = broker.platform();
    let fault_file = foundation.folder().join("broken");
    std::fs::write(&fault_file, "").expect("the test made the folder");

    let answer = platform.update(&instance, &change(150)).await;
    answer.expect_status(500);
    assert_eq!(without_time(clients.client(&instance).await), before);
    std::fs::remove_file(&fault_file).expect("it is there");
    refuse_deployments(&foundation.control()).await;
    let answer = platform.update(&instance, &change(150)).await;
    answer.expect_status(500);

    assert_eq!(without_time(clients.client(&instance).await), before);
    platform.update_to_the_end(&instance, &change(150)).await;
    assert_eq!(clients.client(&instance).await["name"], "renamed");
}

#[tokio::test]
async fn a_submission_that_never_arrived_takes_the_client_back_when_that_is_known() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, WITH_DASHBOARD)
        .with_timing("lost_answer_in_seconds", 1)
        .start()
        .await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let (control, instance) = (foundation.control(), new_id());
    lose_deployments(&control).await;

    let token = platform.order(&instance).await;
    assert!(
        clients.find(&instance).await.is_some(),
        "it may be deployed at this moment"
    );
    platform.fails(&instance, &token).await;
    assert_eq!(clients.find(&instance).await, None);
    control.clear_faults().await;

    platform.create(&instance).await;
}

#[tokio::test]
async fn an_update_that_never_arrived_leaves_the_client_as_it_was() {
    let foundation = Foundation::start_with_director_admin().await;
    let instance = defined(&foundation, WITH_DASHBOARD)
        .makes_an_instance()
        .await;
    let clients = foundation.uaa_clients();
    let before = without_time(clients.client(&instance).await);
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(renamed())
        .with_timing("lost_answer_in_seconds", 1)
        .start()
        .await;
    let platform = broker.platform();
    lose_deployments(&foundation.control()).await;

    let token = platform.update(&instance, &change(150)).await.accepted();
    assert_eq!(clients.client(&instance).await["name"], "renamed");
    platform.fails(&instance, &token).await;

    assert_eq!(without_time(clients.client(&instance).await), before);
}

#[tokio::test]
async fn an_update_that_is_cancelled_before_it_arrived_leaves_client_and_memory_as_they_were() {
    let foundation = Foundation::start_with_director_admin().await;
    let mut previous = defined(&foundation, WITH_DASHBOARD).start().await;
    let (clients, director, instance) = (foundation.uaa_clients(), foundation.director(), new_id());
    previous.platform().create(&instance).await;
    previous.stop().await;
    let client = without_time(clients.client(&instance).await);
    let record = director.record(&instance).await;
    let mut broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(renamed())
        .with_timing("lost_answer_in_seconds", 1)
        .start()
        .await;
    let (platform, control) = (broker.platform().clone(), foundation.control());
    lose_deployments(&control).await;
    let look = json!({ "method": "GET", "path": "/tasks" });
    let untold = json!({ "kind": "answer", "status": 503 });
    set_fault(&control, "director", look, untold).await;
    let token = platform.update(&instance, &change(150)).await.accepted();

    platform.cancel(&instance).await.expect_status(202);
    let written = director.record(&instance).await.expect("it is in progress");
    assert!(written["cancelled_by"].is_string(), "{written}");
    control.clear_faults().await;
    platform.fails(&instance, &token).await;
    assert_eq!(without_time(clients.client(&instance).await), client);
    assert_eq!(director.record(&instance).await, record);
    broker.kill();
    broker.start_again().await;
    let status = platform.operation_status(&instance).await.json();
    assert_eq!(
        (&status["kind"], &status["state"]),
        (&json!("create"), &json!("succeeded")),
        "{status}"
    );
}

#[tokio::test]
async fn a_lost_answer_of_the_uaa_costs_nothing() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let control = foundation.control();
    for moment in ["before", "after"] {
        let instance = new_id();
        for requests in [
            "POST /oauth/clients",
            "GET /oauth/clients/*",
            "PUT /oauth/clients/*",
            "DELETE /oauth/clients/*",
        ] {
            control
                .set(Fault::of("cf-uaa", requests).drops(moment).times(1))
                .await;
        }

        platform.create(&instance).await;

        let secret = deployed_secret(&foundation, &instance).await;
        assert!(clients.knows(&instance, &secret).await, "{moment}");
        platform.delete_to_the_end(&instance).await;
        assert_eq!(clients.find(&instance).await, None, "{moment}");
    }
}

#[tokio::test]
async fn a_killed_broker_leaves_no_unknown_client_or_secret() {
    let foundation = Foundation::start_with_director_admin().await;
    let mut broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, clients) = (broker.platform().clone(), foundation.uaa_clients());
    let (repeated, abandoned) = (new_id(), new_id());
    for instance in [&repeated, &abandoned] {
        kill_when_the_client_is_made(&foundation, &mut broker, instance).await;
        assert!(clients.find(instance).await.is_some());
    }

    platform.create(&repeated).await;
    platform.deprovision(&abandoned).await.expect_status(410);

    let secret = deployed_secret(&foundation, &repeated).await;
    assert!(clients.knows(&repeated, &secret).await);
    assert_eq!(clients.find(&abandoned).await, None);
    platform.delete_to_the_end(&repeated).await;
    assert_eq!(clients.find(&repeated).await, None);
}

#[tokio::test]
async fn a_client_whose_update_has_failed_gets_another_secret_that_arrives() {
    let foundation = Foundation::start_with_director_admin().await;
    let instance = foundation
        .broker()
        .with_adapter(&foundation.adapters().script(WITH_DASHBOARD))
        .makes_an_instance()
        .await;
    let clients = foundation.uaa_clients();
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(client_definition())
        .start()
        .await;
    let platform = broker.platform();
    fail_task(
        &foundation.control(),
        &instance,
        json!({ "place": "start" }),
    )
    .await;

    let token = platform.update(&instance, &change(150)).await.accepted();
    platform.fails(&instance, &token).await;
    assert!(
        clients.find(&instance).await.is_some(),
        "the instance may be using it"
    );
    platform.update_to_the_end(&instance, &change(150)).await;

    let secret = deployed_secret(&foundation, &instance).await;
    assert!(clients.knows(&instance, &secret).await);
    platform.update_to_the_end(&instance, &change(200)).await;
    assert_eq!(deployed_secret(&foundation, &instance).await, secret);
}

#[tokio::test]
async fn a_secret_that_may_be_in_use_works_until_another_one_has_arrived() {
    let foundation = Foundation::start_with_director_admin().await;
    let instance = foundation
        .broker()
        .with_adapter(&foundation.adapters().script(NOTING))
        .makes_an_instance()
        .await;
    let clients = foundation.uaa_clients();
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(client_definition())
        .start()
        .await;
    let (platform, control) = (broker.platform(), foundation.control());
    fail_task(&control, &instance, json!({ "place": "start" })).await;
    let token = platform.update(&instance, &change(150)).await.accepted();
    platform.fails(&instance, &token).await;
    let in_use = reported_secret(&foundation);
    assert!(clients.knows(&instance, &in_use).await);

    let fault_file = foundation.folder().join("broken");
    std::fs::write(&fault_file, "").expect("the test made the folder");
    let refused = platform.update(&instance, &change(150)).await;
    refused.expect_status(500);
    assert!(clients.knows(&instance, &in_use).await, "bad parameters");
    std::fs::remove_file(&fault_file).expect("it is there");
    refuse_deployments(&control).await;
    let refused = platform.update(&instance, &change(150)).await;
    refused.expect_status(500);
    assert!(clients.knows(&instance, &in_use).await, "not taken");

    platform.update_to_the_end(&instance, &change(150)).await;
    let secret = deployed_secret(&foundation, &instance).await;
    assert_eq!(reported_secret(&foundation), secret);
    assert!(clients.knows(&instance, &secret).await);
    assert!(!clients.knows(&instance, &in_use).await, "it is replaced");
}

#[tokio::test]
async fn without_the_right_to_change_secrets_a_client_is_replaced_after_the_adapter_has_agreed() {
    let rights = ["cloud_controller.admin", "clients.read", "clients.write"];
    let foundation = Foundation::setup()
        .with_director_admin()
        .with_broker_rights(&rights)
        .start()
        .await;
    let instance = foundation
        .broker()
        .with_adapter(&foundation.adapters().script(NOTING))
        .makes_an_instance()
        .await;
    let broker = foundation
        .broker()
        .with_adapter(&foundation.folder().join("adapter"))
        .with_client_definition(json!({ "authorized_grant_types": "client_credentials" }))
        .start()
        .await;
    let (platform, control) = (broker.platform(), foundation.control());
    fail_task(&control, &instance, json!({ "place": "start" })).await;
    let token = platform.update(&instance, &change(150)).await.accepted();
    platform.fails(&instance, &token).await;
    let clients = foundation.uaa_clients();
    let in_use = reported_secret(&foundation);
    let fault_file = foundation.folder().join("broken");
    std::fs::write(&fault_file, "").expect("the test made the folder");

    let refused = platform.update(&instance, &change(150)).await;
    refused.expect_status(500);
    assert!(clients.knows(&instance, &in_use).await, "bad parameters");
    std::fs::remove_file(&fault_file).expect("it is there");
    platform.update_to_the_end(&instance, &change(150)).await;

    let secret = deployed_secret(&foundation, &instance).await;
    assert_ne!(secret, in_use);
    assert!(clients.knows(&instance, &secret).await);
}

#[tokio::test]
async fn a_failing_errand_leaves_a_deployed_secret_valid() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, NOTING).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let (control, instance) = (foundation.control(), new_id());
    let errand = json!({ "place": "step", "stage": "Running errand" });
    fail_task(&control, &instance, errand).await;
    let token = platform.order(&instance).await;
    platform.fails(&instance, &token).await;
    let secret = deployed_secret(&foundation, &instance).await;

    platform.update_to_the_end(&instance, &change(150)).await;

    assert_eq!(deployed_secret(&foundation, &instance).await, secret);
    assert!(clients.knows(&instance, &secret).await);
}

#[tokio::test]
async fn a_foreign_client_is_neither_adopted_nor_deleted() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let instance = "another-owner";
    let theirs = json!({
        "client_id": instance, "client_secret": "theirs", "authorities": ["uaa.resource"],
        "authorized_grant_types": ["client_credentials"],
    });
    clients.create(&theirs).await;

    let taken = platform.provision(instance, &Order::small()).await;
    taken.expect_status(409);
    platform.deprovision(instance).await.expect_status(410);

    assert!(clients.knows(instance, "theirs").await);
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn a_client_created_after_its_request_ended_is_removed() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, WITH_DASHBOARD)
        .with_request_budget(2)
        .start()
        .await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let (control, instance) = (foundation.control(), new_id());
    let made_and_not_reported = json!({ "kind": "hold", "moment": "after" });
    let requests = json!({ "method": "POST", "path": "/oauth/clients" });
    set_fault(&control, "cf-uaa", requests, made_and_not_reported).await;

    let answer = platform.provision(&instance, &Order::small()).await;

    answer.expect_status(429);
    expect_no_client(&clients, &instance).await;
    control.clear_faults().await;
    foundation.director().expect_untouched().await;
}

#[tokio::test]
async fn a_client_that_may_still_arrive_is_looked_for_although_the_next_attempt_is_refused() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, WITH_DASHBOARD).start().await;
    let (platform, control) = (broker.platform(), foundation.control());
    let instance = new_id();
    let make = json!({ "method": "POST", "path": "/oauth/clients" });
    let lost = json!({ "kind": "drop", "moment": "before" });
    set_fault(&control, "cf-uaa", make.clone(), lost).await;
    let refused = json!({
        "server": "cf-uaa", "requests": make, "after": 1,
        "effect": { "kind": "answer", "status": 400 },
    });
    control.set_fault(&refused).await;

    let answer = platform.provision(&instance, &Order::small()).await;

    answer.expect_status(500);
    let path = format!("/oauth/clients/{instance}");
    eventually("the client is looked for", TIMEOUT, async || {
        let calls = control.broker_calls(0).await;
        let looks = calls
            .iter()
            .filter(|call| call.method == "GET" && call.path == path);
        // Once between the two attempts.
        match looks.count() {
            0 | 1 => Err(format!("{calls:?}")),
            _ => Ok(()),
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_is_in_use_survives_an_end_that_the_uaa_was_not_reported() {
    let foundation = Foundation::start_with_director_admin().await;
    let broker = defined(&foundation, BREAKABLE).start().await;
    let (platform, clients) = (broker.platform(), foundation.uaa_clients());
    let (control, instance) = (foundation.control(), new_id());
    let untold = json!({
        "server": "cf-uaa",
        "requests": { "method": "PUT", "path": "/oauth/clients/*" },
        "effect": { "kind": "answer", "status": 400 },
        // The dashboard is requested first.
        "after": 1,
    });
    control.set_fault(&untold).await;
    platform.create(&instance).await;
    control.clear_faults().await;
    let secret = deployed_secret(&foundation, &instance).await;
    platform.update_to_the_end(&instance, &change(150)).await;
    platform.update_to_the_end(&instance, &change(160)).await;
    assert_eq!(deployed_secret(&foundation, &instance).await, secret);
    let fault_file = foundation.folder().join("broken");
    std::fs::write(&fault_file, "").expect("the test made the folder");

    let refused = platform.update(&instance, &change(170)).await;

    refused.expect_status(500);
    assert!(clients.knows(&instance, &secret).await);
}
