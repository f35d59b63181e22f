//! Every instance is operated on, canaries first.

use odb_stories::{Errand, Foundation, InstancesApi, Order};
use serde_json::json;

use super::{BOTH, Fleet, UPGRADE, expect_summary, foundations, own_texts};

#[tokio::test]
async fn every_instance_is_operated_on_in_the_words_of_the_go_errands() {
    for setup in foundations() {
        let fleet = Fleet::on(setup, 3, |broker| broker).await;
        for (number, errand) in BOTH.into_iter().enumerate() {
            let run = fleet.run(errand, &fleet.file()).await.expect_status(0);
            assert_eq!(run.output, "", "stdout is for programs");
            let mut texts = own_texts(&run);
            if errand == UPGRADE {
                assert_eq!(texts.remove(0), "Upgrading all instances via BOSH");
            }
            let ids = &fleet.instances;
            assert_eq!(
                texts[..4],
                [
                    "STARTING OPERATION with 2 concurrent workers".to_owned(),
                    format!("Service Instances: {}", ids.join(" ")),
                    "Total Service Instances found: 3".to_owned(),
                    "Processing all instances. Attempt 1/2".to_owned(),
                ]
            );
            for (location, id) in ids.iter().enumerate() {
                let of_it: Vec<_> = texts
                    .iter()
                    .filter_map(|text| text.strip_prefix(&format!("[{id}] ")))
                    .collect();
                assert_eq!(
                    of_it[..2],
                    [
                        format!("Starting to process service instance {} of 3", location + 1),
                        "Result: operation accepted".to_owned(),
                    ],
                    "{of_it:?}"
                );
                assert!(
                    of_it[2].starts_with("Waiting for operation to complete: bosh task id "),
                    "{of_it:?}"
                );
                assert_eq!(of_it[3..], ["Result: Service Instance operation success"]);
                assert_eq!(fleet.deployments_of(location).await, number + 1);
            }
            assert_eq!(
                texts[texts.len() - 2..],
                [
                    "Progress summary: Sleep interval until next attempt: 0s; Number of successful operations so far: 3; \
                     Number of skipped operations so far: 0; Number of service instance orphans detected so far: 0; Number \
                     of deleted instances before operation could happen: 0; Number of operations in progress (to retry) so \
                     far: 0",
                    "FINISHED PROCESSING Status: SUCCESS; Summary: Number of successful operations: 3; Number of skipped \
                     operations: 0; Number of service instance orphans detected: 0; Number of deleted instances before \
                     operation could happen: 0; Number of busy instances which could not be processed: 0; Number of service \
                     instances that failed to process: 0",
                ]
            );
        }
    }
}

#[tokio::test]
async fn the_errands_have_their_own_names_and_the_go_programs_flags() {
    let fleet = Fleet::of(1).await;
    for errand in BOTH {
        let file = fleet.file().write(errand);
        let run = Errand::by_its_name(&fleet.foundation, errand)
            .with(&["-configPath", &file.display().to_string()])
            .run()
            .await
            .expect_status(0);
        expect_summary(&run, "successful operations: 1;");
    }
}

#[tokio::test]
async fn canaries_are_chosen_by_organization_and_space() {
    let fleet = Fleet::of(2).await;
    let (org, space) = ("acme", "development");
    let params = json!({ "cf_org": org, "cf_space": space });
    let file = fleet.file().with("/canary_selection_params", params);
    let run = fleet.run(UPGRADE, &file).await.expect_status(0);
    let started = format!(
        "STARTING CANARIES: 2 canaries with selection criteria: cf_org: {org}, cf_space: {space}"
    );
    assert!(own_texts(&run).contains(&started), "{run:?}");

    let nowhere = json!({ "cf_org": org, "cf_space": "nowhere" });
    let file = fleet.file().with("/canary_selection_params", nowhere);
    let run = fleet.run(UPGRADE, &file).await.expect_status(1);
    assert!(
        run.last_text().starts_with(&format!(
            "Failed to find a match to the canary selection criteria: cf_org: {org}, cf_space: nowhere"
        )),
        "{run:?}"
    );
    assert!(!run.stderr.contains("FINISHED PROCESSING"));
    assert_eq!(fleet.deployments_of(0).await, 1);

    let unknown = json!({ "cf_org": org });
    let file = fleet.file().with("/canary_selection_params", unknown);
    let run = fleet.run(UPGRADE, &file).await.expect_status(1);
    run.expect_said_last("failed to get service instances with status code: 500");
    assert_eq!(fleet.deployments_of(0).await, 1);
}

#[tokio::test]
async fn a_service_instances_api_may_know_the_instances() {
    let foundation = Foundation::bare().start().await;
    let api = InstancesApi::start().await;
    let broker = foundation.broker().with_instances_api(api.url());
    let broker = broker.start().await;
    let platform = broker.platform();
    let ids = ["one", "two"];
    for id in ids {
        let order = Order::small();
        platform.provision_to_the_end(id, &order).await;
        api.add(id, &order);
    }
    let file = odb_stories::ErrandConfiguration::of(&foundation, &broker)
        .without_cloud_controller()
        .with("/maintenance_info_present", json!(true));
    for errand in BOTH {
        let run = Errand::new(&foundation, errand)
            .configured(&file)
            .run()
            .await;
        let run = run.expect_status(0);
        expect_summary(&run, "successful operations: 2;");
    }
    for id in ids {
        let tasks = foundation
            .director()
            .tasks_of(&format!("service-instance_{id}"))
            .await;
        let deployed = tasks.iter().filter(|task| {
            !task["description"]
                .as_str()
                .unwrap()
                .starts_with("run errand")
        });
        assert_eq!(deployed.count(), 3);
    }
}
