//! What the page shows.

use odb_stories::{Fault, Foundation, Order, eventually};
use serde_json::json;

use super::{view, with_everything};
use crate::TIMEOUT;

#[tokio::test]
async fn instances_are_listed_by_name_and_filtered() {
    let foundation = Foundation::setup().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    let empty = view(&operator, "/ui").await;
    assert!(
        empty.contains("There are no service instances yet"),
        "{empty}"
    );
    let cf = foundation.cf();
    cf.register(&broker).await;
    for (name, plan) in [("orders", "small"), ("sessions", "large")] {
        let order = ["create-service", "redis", plan, name, "--wait"];
        cf.run(&order).await.succeeded();
    }

    // The first list is shown for ten seconds.
    let all = eventually("both are listed", TIMEOUT, async || {
        let all = view(&operator, "/ui").await;
        all.contains(">sessions</a>")
            .then_some(all.clone())
            .ok_or(all)
    })
    .await;
    assert!(all.contains(">orders</a>"), "{all}");
    assert!(
        all.contains("create succeeded") && all.contains("up to date"),
        "{all}"
    );
    for (query, shown, hidden) in [
        ("q=ORD", "orders", "sessions"),
        ("plan=large", "sessions", "orders"),
        ("state=failed", "No instance matches", "orders</a>"),
    ] {
        let text = view(&operator, &format!("/ui?{query}")).await;
        assert!(text.contains(shown), "{query}: {text}");
        assert!(!text.contains(&format!(">{hidden}")), "{query}: {text}");
    }
    for wrong in ["state=nosuch", "page=0", "page=x"] {
        let answer = operator.manage(&format!("/ui?{wrong}")).await;
        let text = &answer.expect_status(400).text;
        assert!(text.contains("ODB-2003"), "{wrong}: {text}");
    }
    let unknown_plan = view(&operator, "/ui?plan=nosuch").await;
    assert!(
        unknown_plan.contains("No instance matches"),
        "{unknown_plan}"
    );
}

#[tokio::test]
async fn an_instance_shows_its_operation_and_what_an_upgrade_would_change_without_secrets() {
    let (foundation, mut broker) = Foundation::setup().start_with_broker().await;
    let order = Order::small().with_parameters(json!({ "maxclients": 77 }));
    let instance = odb_stories::new_id();
    broker
        .platform()
        .provision_to_the_end(&instance, &order)
        .await;
    broker.stop().await;
    let larger = foundation.broker().with("/ui", super::everything()).with(
        "/service_catalog/plans/0/instance_groups/0/vm_type",
        "large".into(),
    );
    let broker = larger.start().await;
    let operator = super::operator(&foundation, &broker);

    let path = format!("/ui/instances/{instance}");
    let text = view(&operator, &path).await;
    for shown in [
        "Provisioning",
        "Deploy",
        "task <code>",
        "outdated",
        "this broker",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let changes = view(&operator, &format!("{path}/changes")).await;
    assert!(changes.contains("VMs are recreated in"), "{changes}");
    assert!(changes.contains("<ins>large</ins>"), "{changes}");
    let secrets = broker.secrets();
    for text in [text, changes] {
        secrets.expect_none_in("the page", &text);
    }
}

#[tokio::test]
async fn rollouts_quotas_health_and_audit_lines_are_shown() {
    let foundation = Foundation::setup().start().await;
    let configuration = foundation.broker().with_plan_limit(4);
    let broker = configuration.with("/ui", super::everything()).start().await;
    let operator = super::operator(&foundation, &broker);
    let cf = foundation.cf();
    cf.register(&broker).await;
    cf.run(&["create-service", "redis", "small", "orders", "--wait"])
        .await
        .succeeded();
    let empty = view(&operator, "/ui/rollouts").await;
    assert!(empty.contains("odb rollout start"), "{empty}");

    let begun = json!({ "kind": "upgrade", "holder": "process 4711 on jumpbox" });
    broker.platform().begin_run(&begun).await.expect_status(201);
    let rollouts = view(&operator, "/ui/rollouts").await;
    for shown in [
        "process 4711 on jumpbox",
        "1 of 1 instances done",
        "odb rollout stop",
    ] {
        assert!(rollouts.contains(shown), "{shown}: {rollouts}");
    }
    let quotas = view(&operator, "/ui/quotas").await;
    assert!(quotas.contains("25 %"), "{quotas}");
    let health = view(&operator, "/ui/health").await;
    for shown in [
        "The broker is ready",
        "Cloud Controller",
        "Certificates by expiry",
        "bosh.root_ca_cert",
        "own certificate",
    ] {
        assert!(health.contains(shown), "{shown}: {health}");
    }
    let audit = view(&operator, "/ui/audit").await;
    for shown in ["provision", "accepted", "begin-run", "cloudfoundry"] {
        assert!(audit.contains(shown), "{shown}: {audit}");
    }
    broker
        .secrets()
        .expect_none_in("the page", &(rollouts + &quotas + &health + &audit));
}

#[tokio::test]
async fn the_rest_is_shown_while_an_upstream_is_down() {
    let foundation = Foundation::setup().start().await;
    let (broker, operator) = with_everything(&foundation).await;
    foundation.cf().register(&broker).await;
    let instance = broker.platform().created().await;
    let down = Fault::of("cloud-controller", "GET").answers(500);
    foundation.control().set(down.times(10_000)).await;

    let list = view(&operator, "/ui").await;
    assert!(list.contains("The instances cannot be listed"), "{list}");
    assert!(list.contains("ODB-4002"), "{list}");
    let shown = view(&operator, &format!("/ui/instances/{instance}")).await;
    assert!(shown.contains("cannot be read completely"), "{shown}");
    assert!(
        shown.contains("Provisioning"),
        "the operation is there: {shown}"
    );
    let cancel = view(&operator, &format!("/ui/instances/{instance}/cancel")).await;
    assert!(cancel.contains("Cancel the operation on"), "{cancel}");
    let quotas = view(&operator, "/ui/quotas").await;
    assert!(quotas.contains("cannot be counted"), "{quotas}");
    let health = view(&operator, "/ui/health").await;
    assert!(
        health.contains("The broker cannot work as configured"),
        "{health}"
    );
    assert!(
        health.contains("ODB-1103") && health.contains("Remedy"),
        "{health}"
    );
}
