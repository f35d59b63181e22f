//! Each of three manifests: those of this project, and that of a user of the Go release.

use std::process::Command;

use odb_stories::Foundation;

use super::site::{Plan, Site};

/// The adapter of another owner, at the place where the Go release looks for it.
const ADAPTER: &str = r#"#!/bin/bash
exec /var/vcap/packages/service-adapters/bin/redis-service-adapter "$@"
"#;

#[tokio::test]
async fn all_jobs_of_three_manifests_are_rendered_and_the_broker_of_each_comes_up_and_goes_down() {
    // The Go user's manifest has a plan for one organization.
    let setup = Foundation::bare().with_another_location("payments", "shop");
    let site = Site::of_the_tarball(setup.start().await).await;
    let adapter = "packages/odb-service-adapter/bin/service-adapter";
    site.vm.write_executable(adapter, ADAPTER);
    let foundation = &site.foundation;
    let plans = [
        (
            Plan::of_project("redis", foundation),
            ["redis", "small", "large"],
        ),
        (
            Plan::of_project("kafka", foundation),
            ["kafka", "single", "cluster"],
        ),
        (
            Plan::of_a_go_user(foundation),
            ["lumen-cache", "single", "replicated"],
        ),
    ];
    for (plan, [service, first, second]) in plans {
        site.apply(&plan);
        // The Go user has an adapter of his own, which is not here.
        let adapter = if service == "lumen-cache" {
            "off"
        } else {
            "on"
        };
        let check = Command::new(
            site.vm
                .root()
                .join("packages/on-demand-broker/bin/on-demand-broker"),
        )
        .args(["check", "--adapter", adapter, "--config"])
        .arg(site.vm.root().join("jobs/broker/config/broker.yml"))
        .output()
        .unwrap();
        assert!(check.status.success(), "{service}: {check:?}");

        site.start_broker().await;
        let catalog = site.platform(&plan).catalog().await;
        let offering = catalog.expect_status(200).json()["services"][0].clone();
        assert_eq!(
            [
                &offering["name"],
                &offering["plans"][0]["name"],
                &offering["plans"][1]["name"]
            ],
            [service, first, second]
        );
        site.errand("register-broker").await.expect_success();
        let marketplace = foundation.cf().run(&["marketplace"]).await.succeeded();
        assert!(marketplace.contains(service), "{marketplace}");
        site.errand("upgrade-all-service-instances")
            .await
            .expect_success();
        site.errand("orphan-deployments").await.expect_success();
        site.errand("deregister-broker").await.expect_success();
        site.drain().await;
        assert_eq!(site.vm.processes("broker"), Vec::new());
    }
}
