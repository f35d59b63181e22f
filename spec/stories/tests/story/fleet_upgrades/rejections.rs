//! The run cannot begin.

use serde_json::json;

use super::{BOTH, Fleet, UPGRADE};

#[tokio::test]
async fn without_a_list_nothing_is_touched() {
    let fleet = Fleet::of(1).await;
    let file = fleet.file().with(
        "/broker_api/authentication/basic/password",
        json!("not-the-password"),
    );
    for errand in BOTH {
        let run = fleet.run(errand, &file).await.expect_status(1);
        let wanted = if errand == UPGRADE {
            "error listing service instances: failed to get service instances with status code: 401"
        } else {
            "could not read the version of the BOSH director from the broker: HTTP response status: 401"
        };
        assert!(run.last_text().starts_with(wanted), "{run:?}");
        assert!(!run.stderr.contains("FINISHED PROCESSING"));
        assert!(
            !run.stderr.contains("not-the-password"),
            "no password is printed: {run:?}"
        );
    }
    assert_eq!(fleet.deployments_of(0).await, 0);
}
