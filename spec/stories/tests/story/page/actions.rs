//! Actions are confirmed on the page itself, and audited.

use odb_stories::{Foundation, new_id};

use super::{confirmed, everything, follow, form, operator, token, view, with_everything};
use crate::cancelling::{hold, task_is_held};

#[tokio::test]
async fn an_action_of_another_site_or_without_its_token_is_refused_and_nothing_begins() {
    let foundation = Foundation::setup().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    let (one, other) = (broker.platform().created().await, new_id());
    let right = token(&operator, &one, "upgrade").await;
    let of_cancel = token(&operator, &one, "cancel").await;

    let with = |token: &str| form(&operator, &one, "upgrade", &format!("token={token}"));
    for (what, request) in [
        ("none", form(&operator, &one, "upgrade", "")),
        ("an invalid one", with("1.x")),
        ("that of another action", with(&of_cancel)),
        (
            "for another instance",
            form(&operator, &other, "upgrade", &format!("token={right}")),
        ),
        (
            "another origin",
            with(&right).header("Origin", "https://evil.example"),
        ),
        ("no origin", with(&right).header("Origin", "null")),
        (
            "another site",
            with(&right).header("Sec-Fetch-Site", "cross-site"),
        ),
        (
            "a too large form",
            form(&operator, &one, "upgrade", &"a".repeat(5000)),
        ),
    ] {
        let answer = operator.send(request).await;
        let expected = if what == "a too large form" { 400 } else { 403 };
        assert_eq!(answer.status, expected, "{what}: {answer:?}");
    }
    let status = broker.platform().operation_status(&one).await.json();
    assert_eq!(status["kind"], "create", "{status}");
    let request = form(&operator, &one, "recreate", &format!("token={right}"));
    operator.send(request).await.expect_status(404);

    let request = with(&right).header("Origin", broker.url());
    let request = request.header("Sec-Fetch-Site", "same-origin");
    let page = follow(&operator, &operator.send(request).await).await;
    assert!(page.contains("The upgrade has begun."), "{page}");
}

#[tokio::test]
async fn an_instance_is_upgraded_cancelled_and_deleted_and_each_action_is_audited() {
    let foundation = Foundation::setup().with_director_admin().start().await;
    let configuration = |release: &str| {
        let configuration = foundation.broker().with_password("of both brokers");
        configuration
            .with("/ui", everything())
            .with("/service_deployment/releases/0/version", release.into())
    };
    let mut old = configuration("7.4").start().await;
    let cf = foundation.cf();
    cf.register(&old).await;
    cf.run(&["create-service", "redis", "small", "orders", "--wait"])
        .await
        .succeeded();
    old.stop().await;
    let broker = configuration("7.5").start().await;
    let operator = operator(&foundation, &broker);
    let inventory = broker.platform().inventory("").await.json();
    let instance = inventory["service_instances"][0]["service_instance_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let platform = broker.platform();

    hold(&foundation, "Updating instance").await;
    let page = confirmed(&operator, &instance, "upgrade", "").await;
    let page = follow(&operator, &page).await;
    assert!(page.contains("The upgrade has begun."), "{page}");
    task_is_held(&foundation, "create deployment").await;
    let busy = view(&operator, &format!("/ui/instances/{instance}")).await;
    assert!(
        busy.contains("in progress") && busy.contains("/cancel\""),
        "{busy}"
    );
    assert!(busy.contains("http-equiv=\"refresh\""), "{busy}");
    assert!(!busy.contains("/delete\""), "it is not offered now: {busy}");

    let page = confirmed(&operator, &instance, "cancel", "").await;
    let page = follow(&operator, &page).await;
    assert!(page.contains("ends as soon as possible"), "{page}");
    foundation.control().clear_faults().await;
    platform.fails(&instance, "").await;

    let wrong = confirmed(&operator, &instance, "delete", "&name=other").await;
    assert!(
        wrong
            .expect_status(422)
            .text
            .contains("Nothing was deleted")
    );
    let begun = confirmed(&operator, &instance, "delete", "&name=orders").await;
    let begun = follow(&operator, &begun).await;
    assert!(begun.contains("The deletion has begun."), "{begun}");
    let ended = platform.end_of_operation(&instance, "").await;
    assert!(
        ["succeeded", "gone"].contains(&ended.state.as_str()),
        "{ended:?}"
    );
    let left = view(&operator, &format!("/ui/instances/{instance}")).await;
    assert!(left.contains("cf purge-service-instance orders"), "{left}");

    let audit = view(&operator, "/ui/audit").await;
    let lines: Vec<_> = broker
        .log()
        .into_iter()
        .filter(|line| line.field("target") == Some("audit"))
        .filter(|line| line.field("originator.platform") == Some("page"))
        .collect();
    let operations: Vec<_> = lines
        .iter()
        .filter_map(|line| line.field("operation"))
        .collect();
    assert_eq!(operations, ["upgrade", "cancel", "delete", "delete"]);
    for line in &lines {
        assert_eq!(line.field("originator.user"), Some("operator"));
        assert_eq!(line.field("instance.id"), Some(instance.as_str()));
        let request = line.field("request.id").unwrap();
        assert!(audit.contains(request), "{request}: {audit}");
    }
    let results: Vec<_> = lines
        .iter()
        .filter_map(|line| line.field("result"))
        .collect();
    assert_eq!(results, ["accepted", "accepted", "refused", "accepted"]);
}

#[tokio::test]
async fn a_confirmation_outlives_the_process_that_showed_it() {
    let foundation = Foundation::setup().start().await;
    let (mut broker, person) = with_everything(&foundation).await;
    let instance = broker.platform().created().await;
    let token = token(&person, &instance, "upgrade").await;
    broker.stop().await;
    broker.start_again().await;

    let request = form(&person, &instance, "upgrade", &format!("token={token}"));
    let page = follow(&person, &person.send(request).await).await;
    assert!(page.contains("The upgrade has begun."), "{page}");

    let mut ui = everything();
    ui["password"] = "another".into();
    broker.stop().await;
    let broker = foundation.broker().with("/ui", ui).start().await;
    let person = foundation.platform(broker.url(), super::OPERATOR, "another");
    let request = form(&person, &instance, "upgrade", &format!("token={token}"));
    person.send(request).await.expect_status(403);
}
