//! The adapter hangs for one instance.

use std::fs;

use odb_stories::{Foundation, Order, ProcessTable, eventually, new_id};
use serde_json::json;

use crate::TIMEOUT;

/// Hangs, with a child of its own that hangs too, for the instance that the file `victim` names.
const HANGING: &str = r#"read_input
if [[ $input == *"service-instance_$(<"$folder/victim")"* ]]; then
  (exec -a "$folder/child-of-adapter" sleep 86400) &
  echo "$$" >>"$folder/entered"
  wait
fi
as_redis"#;

/// Does nothing for the instance that the file `victim` names until the file `gate` is there.
const HELD: &str = r#"read_input
if [[ $call == generate-manifest && $input == *"service-instance_$(<"$folder/victim")"* ]]; then
  echo "$$" >>"$folder/entered"
  until [[ -e $folder/gate ]]; do sleep 0.05; done
fi
as_redis"#;

#[tokio::test]
async fn while_one_adapter_hangs_31_other_orders_are_answered() {
    let foundation = Foundation::bare().start().await;
    let (adapters, victim) = (foundation.adapters(), new_id());
    fs::write(foundation.folder().join("victim"), &victim).unwrap();
    let broker = foundation
        .broker()
        .with_quotas(
            json!({ "service_instance_limit": 40 }),
            json!({ "service_instance_limit": 40 }),
            json!({}),
        )
        .with_adapter(&adapters.script(HELD))
        .start()
        .await;
    let platform = broker.platform().clone();
    let request = platform.provision_request(&victim, &Order::small());
    let hanging = tokio::spawn({
        let platform = platform.clone();
        async move { platform.send(request).await }
    });
    eventually("the adapter hangs", TIMEOUT, async || {
        (adapters.at_gate() == 1)
            .then_some(())
            .ok_or_else(|| "not yet".to_owned())
    })
    .await;

    let others: Vec<_> = (0..31)
        .map(|_| {
            let platform = platform.clone();
            tokio::spawn(async move { platform.provision(&new_id(), &Order::small()).await })
        })
        .collect();
    for other in others {
        other.await.unwrap().accepted();
    }

    assert!(!hanging.is_finished(), "it was to hang");
    adapters.open_gate();
    hanging.await.unwrap().accepted();
}

#[tokio::test]
async fn a_hanging_adapter_delays_no_other_request_and_is_stopped_at_its_timeout() {
    let foundation = Foundation::start().await;
    let (adapters, director) = (foundation.adapters(), foundation.director());
    let (victim, other) = (new_id(), new_id());
    fs::write(foundation.folder().join("victim"), &victim).unwrap();
    let broker = foundation
        .broker()
        .with_adapter(&adapters.script(HANGING))
        .with_request_budget(12)
        .start()
        .await;
    let platform = broker.platform().clone();
    let request = platform.provision_request(&victim, &Order::small());

    let hanging = tokio::spawn({
        let platform = platform.clone();
        async move { platform.send(request).await }
    });
    eventually("the adapter hangs", TIMEOUT, async || {
        (adapters.at_gate() == 1)
            .then_some(())
            .ok_or_else(|| "not yet".to_owned())
    })
    .await;
    platform.create(&other).await;
    assert!(!hanging.is_finished(), "the other order waited for it");

    let answer = hanging.await.unwrap();
    answer.expect_status(429);
    let retry_after: u32 = answer.header("retry-after").parse().unwrap();
    assert!(retry_after > 0);
    assert!(answer.description().contains("Try again"), "{answer:?}");
    let other = format!("service-instance_{other}");
    assert_eq!(director.deployments().await, [other]);
    assert_eq!(director.record(&victim).await, None);
    let folder = foundation.folder().join("adapter").display().to_string();
    let child = foundation.folder().join("child-of-adapter");
    eventually("adapter and child are gone", TIMEOUT, async || {
        let table = ProcessTable::look();
        let mut left = table.with_argument(&folder);
        left.extend(table.with_argument(&child.display().to_string()));
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    })
    .await;
    let table = ProcessTable::look();
    let left = table.adapters_of(broker.id());
    assert!(left.is_empty(), "{left:#?}");
    let reported = broker.log_of_request(&answer.request_id());
    let cause = "did not answer `generate-manifest` in time";
    assert!(
        reported.iter().any(|line| line.mentions(cause)),
        "{reported:#?}"
    );
}
