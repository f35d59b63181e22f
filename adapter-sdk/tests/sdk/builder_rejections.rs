//! Errors that prevent a manifest, reported before a Director finds them.

use odb_adapter_sdk::manifest::{JobBuilder, JobProperty, ManifestBuilder};
use odb_adapter_sdk::protocol::{
    GenerateManifest, LifecycleErrand, LifecycleErrands, MaxInFlight, Percentage, PlanUpdate,
    ServiceRelease,
};

use crate::calls::{create, create_of, group};

const PORT: JobProperty = JobProperty::new("server", "server", "/service/port");

#[test]
fn what_the_plan_or_the_releases_lack_is_named() {
    let call = create_of(vec![group("server"), group("check")]);
    let error = |builder: ManifestBuilder<'_>| builder.build().unwrap_err().to_string();
    let new = || ManifestBuilder::new(&call);
    assert_eq!(
        error(
            new()
                .instance_group("broker", ["server"])
                .instance_group("zoo", ["server"])
        ),
        "the plan needs instance groups `broker`, `zoo` and has instance groups `server`, `check`"
    );
    assert_eq!(
        error(new().instance_group("server", ["sever"])),
        "job `sever` not provided"
    );
    assert_eq!(
        error(new().instance_group("server", [JobBuilder::new("server").from_release("other")])),
        "release `other` does not provide job `server`; add the job to its list"
    );
    assert_eq!(
        error(
            new()
                .instance_group("server", ["server"])
                .instance_group("server", ["exporter"])
        ),
        "the adapter asks for instance group `server` twice"
    );
    assert_eq!(
        error(
            new()
                .instance_group("server", ["exporter"])
                .property(PORT, 1)
        ),
        "no job for property `/service/port` of job `server` in instance group `server`"
    );
    assert_eq!(
        error(
            new()
                .instance_group("server", ["server"])
                .change_instance_group("sever", |_| ())
        ),
        "the adapter changes instance group `sever`, which it does not ask for"
    );
    let blocked = JobBuilder::new("server")
        .property("/a", "text")
        .property("/a/b", 1);
    assert_eq!(
        error(new().instance_group("server", [blocked])),
        "could not set a property of job `server`"
    );
    assert_eq!(
        error(new().instance_group("server", [JobBuilder::new("server").properties(7)])),
        "the properties of job `server` do not make a map"
    );
}

#[test]
fn a_job_of_two_releases_is_taken_from_the_one_that_is_named() {
    let mut call = create();
    let second = ServiceRelease::new("fork", "1", vec!["server".to_owned()]);
    call.service_deployment.releases.push(second);
    let built = |job: JobBuilder| {
        ManifestBuilder::new(&call)
            .instance_group("server", [job])
            .build()
    };
    let error = built(JobBuilder::new("server")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "job `server` provided 2 times, by service, fork"
    );
    let manifest = built(JobBuilder::new("server").from_release("fork")).unwrap();
    assert_eq!(manifest.instance_groups[0].jobs[0].release, "fork");
}

#[test]
fn what_a_director_or_the_broker_would_refuse_is_refused_at_once() {
    let error = |change: fn(&mut GenerateManifest)| {
        let mut call = create();
        change(&mut call);
        let builder = ManifestBuilder::new(&call).instance_group("server", ["server"]);
        builder.build().unwrap_err().to_string()
    };
    assert_eq!(
        error(|call| call.plan.instance_groups[0].networks.clear()),
        "instance group `server` of the plan has no network"
    );
    assert_eq!(
        error(|call| call.plan.instance_groups[0].lifecycle = Some("errant".to_owned())),
        "instance group `server` of the plan has lifecycle `errant`; give `service` or `errand`"
    );
    assert_eq!(
        error(|call| call.service_deployment.releases[0].version = "latest".to_owned()),
        "release `service` has version `latest`; give an exact one"
    );
    assert_eq!(
        error(|call| call.service_deployment.stemcells[0].version = "1.latest".to_owned()),
        "stemcell `default` has version `1.latest`; give an exact one"
    );
    assert_eq!(
        error(|call| {
            let share = Percentage::try_from("about 25% or so".to_owned()).unwrap();
            call.plan.update = Some(PlanUpdate::new(MaxInFlight::Percentage(share)));
        }),
        "`max_in_flight` of the update block is `about 25% or so`; give a number or a share such as `25%`"
    );
    assert_eq!(
        error(|call| call.service_deployment.stemcells.clear()),
        "no stemcell at all; the service deployment has none"
    );
}

fn with_errands(errands: LifecycleErrands) -> GenerateManifest {
    let mut call = create_of(vec![group("server"), group("check")]);
    call.plan.lifecycle_errands = errands;
    call
}

fn colocated(name: &str, instance: &str) -> LifecycleErrand {
    LifecycleErrand::colocated(name, vec![instance.to_owned()])
}

#[test]
fn a_lifecycle_errand_that_could_not_run_is_found_before_the_deployment() {
    let own = with_errands(LifecycleErrands::new(
        vec![LifecycleErrand::new("check")],
        vec![],
    ));
    let server = |call| ManifestBuilder::new(call).instance_group("server", ["server"]);
    assert_eq!(
        server(&own).build().unwrap_err().to_string(),
        "lifecycle errand `check` of the plan is nowhere in the manifest: give it an instance \
         group, or put it onto one with `instances`"
    );
    let manifest = server(&own)
        .errand_group("check", ["check"])
        .build()
        .unwrap();
    assert_eq!(
        manifest.instance_groups[1].lifecycle.as_deref(),
        Some("errand")
    );
    let of_that_name = server(&own).errand_group("check", ["backup"]).build();
    assert!(of_that_name.is_ok(), "{of_that_name:?}");
    assert!(server(&own).errand_from_elsewhere("check").build().is_ok());

    let put = with_errands(LifecycleErrands::new(
        vec![],
        vec![colocated("check", "server/0")],
    ));
    let not_there = "lifecycle errand `check` of the plan is not a job of instance group `server`, \
                     where the plan puts it";
    let elsewhere = server(&put).errand_group("check", ["check"]).build();
    assert_eq!(elsewhere.unwrap_err().to_string(), not_there);
    let manifest = server(&put).colocate_errands().build().unwrap();
    let jobs: Vec<_> = manifest.instance_groups[0]
        .jobs
        .iter()
        .map(|job| &job.name)
        .collect();
    assert_eq!(jobs, ["server", "check"]);
}
