//! Manifests survive the model, and what it makes of a plan is what the Go SDK makes of it.

use odb_adapter_sdk::manifest::{
    ConsumedLink, CustomProviderDefinition, Job, JobReleaseError, Link, LinkAlias, Manifest,
    MapInstanceGroupsError, ProvidedLink, Update, find_release_for_job, map_instance_groups,
};
use odb_adapter_sdk::protocol::{MaxInFlight, PlanInstanceGroup, PlanUpdate, ServiceRelease};
use odb_adapter_sdk::yaml;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::documents::{document, text};

#[test]
fn a_manifest_with_all_that_the_director_knows_survives() {
    let text = include_str!("full_manifest.yml");
    let manifest: Manifest = yaml::from_str(text).unwrap();
    let before: Value = yaml::from_str(text).unwrap();
    let after: Value = yaml::from_str(&yaml::to_string(&manifest).unwrap()).unwrap();
    assert_eq!(after, before);
}

#[test]
fn versions_keep_their_text() {
    let manifest: Manifest = yaml::from_str(
        "name: a\nreleases: [{name: r, version: 1.10}]\nstemcells: [{alias: s, version: 1.80}]\n",
    )
    .unwrap();
    assert_eq!(
        (
            manifest.releases[0].version.as_str(),
            manifest.stemcells[0].version.as_str()
        ),
        ("1.10", "1.80")
    );
}

#[test]
fn keys_of_free_maps_keep_their_order() {
    let text = "name: a\nreleases: []\nstemcells: []\ninstance_groups: []\ntags:\n  zebra: \"1\"\n  ant: \"2\"\nnew-in-bosh:\n  b: 1\n  a: 2\n";
    let manifest: Manifest = yaml::from_str(text).unwrap();
    assert_eq!(yaml::to_string(&manifest).unwrap(), text);
}

#[test]
fn formatting_shows_no_properties() {
    let manifest: Manifest = yaml::from_str(
        "name: a\ninstance_groups:\n- name: g\n  instances: 1\n  jobs:\n  - {name: j, properties: {password: hunter2}}\n",
    )
    .unwrap();
    assert!(!format!("{manifest:?}").contains("hunter2"));
}

#[test]
fn a_group_update_block_needs_no_max_in_flight() {
    let text = "name: a\ninstance_groups:\n- {name: g, instances: 1, update: {serial: false}}\n";
    let manifest: Manifest = yaml::from_str(text).unwrap();
    assert_eq!(
        manifest.instance_groups[0].update.as_ref().unwrap().serial,
        Some(false)
    );
}

proptest! {
    #[test]
    fn what_the_model_does_not_know_survives_at_every_level(
        extra in prop::collection::vec((text(), document()), 8),
        properties in prop::collection::vec((text(), document()), 0..4),
    ) {
        let mut manifest: Value = yaml::from_str(include_str!("full_manifest.yml")).unwrap();
        let locations = [
            "", "/releases/0", "/stemcells/0", "/instance_groups/0", "/instance_groups/0/jobs/0",
            "/instance_groups/0/jobs/0/consumes/db", "/update", "/variables/0",
        ];
        for ((key, value), location) in extra.into_iter().zip(locations) {
            let object = manifest.pointer_mut(location).unwrap().as_object_mut().unwrap();
            // A key of this kind is none that the model knows.
            object.insert(format!("unknown {key}"), value);
        }
        let job = manifest.pointer_mut("/instance_groups/0/jobs/0").unwrap().as_object_mut().unwrap();
        job.insert("properties".to_owned(), properties.into_iter().collect::<Map<_, _>>().into());

        let model: Manifest = yaml::from_str(&yaml::to_string(&manifest).unwrap()).unwrap();
        let after: Value = yaml::from_str(&yaml::to_string(&model).unwrap()).unwrap();
        prop_assert_eq!(after, manifest);
    }
}

#[test]
fn links_are_set_on_a_job() {
    let mut job = Job::new("app", "app-release");
    job.provide(
        "http",
        ProvidedLink::shared().with_alias(LinkAlias::new("app.example.internal")),
    );
    job.consume("db", Link::Set(ConsumedLink::from("postgres")));
    job.consume("cache", Link::Nil);
    let elsewhere = ConsumedLink::from_deployment("nats", "messaging");
    job.consume("queue", Link::Set(elsewhere));
    job.define_provider(CustomProviderDefinition::new("app-link", "address"));
    assert_eq!(
        serde_json::to_value(&job).unwrap(),
        json!({
            "name": "app",
            "release": "app-release",
            "provides": {"http": {"shared": true, "aliases": [{"domain": "app.example.internal"}]}},
            "consumes": {
                "cache": "nil", "db": {"from": "postgres"}, "queue": {"from": "nats", "deployment": "messaging"},
            },
            "custom_provider_definitions": [{"name": "app-link", "type": "address"}],
        })
    );
}

#[test]
fn a_job_belongs_to_the_one_release_that_provides_it() {
    let releases = [release("r1", &["a", "b"]), release("r2", &["b", "c"])];
    assert_eq!(find_release_for_job("c", &releases).unwrap().name, "r2");
    let error = find_release_for_job("d", &releases).unwrap_err();
    assert_eq!(error.to_string(), "job `d` not provided");
    let error = find_release_for_job("b", &releases).unwrap_err();
    assert_eq!(error.to_string(), "job `b` provided 2 times, by r1, r2");
}

#[test]
fn groups_of_the_plan_that_have_jobs_become_groups_of_the_manifest() {
    let releases = [release("r", &["server", "backup", "check"])];
    let mut server = group("server");
    server.persistent_disk_type = Some("10GB".to_owned());
    let mut errand = group("check");
    errand.lifecycle = Some("errand".to_owned());
    let groups = map_instance_groups(
        &[server, group("unused"), errand],
        &releases,
        "default",
        &[
            ("check", &["check"]),
            ("server", &["server", "backup"]),
            ("not-in-the-plan", &["nothing"]),
        ],
    )
    .unwrap();
    assert_eq!(
        serde_json::to_value(&groups).unwrap(),
        json!([
            {
                "name": "server", "instances": 2,
                "jobs": [{"name": "server", "release": "r"}, {"name": "backup", "release": "r"}],
                "vm_type": "small", "stemcell": "default", "persistent_disk_type": "10GB", "azs": ["z1"],
                "networks": [{"name": "net"}],
            },
            {
                "name": "check", "lifecycle": "errand", "instances": 2,
                "jobs": [{"name": "check", "release": "r"}],
                "vm_type": "small", "stemcell": "default", "azs": ["z1"], "networks": [{"name": "net"}],
            },
        ])
    );
}

#[test]
fn a_plan_without_groups_or_a_job_without_release_makes_no_manifest() {
    assert_eq!(
        map_instance_groups(&[], &[], "default", &[]).unwrap_err(),
        MapInstanceGroupsError::NoInstanceGroups
    );
    assert_eq!(
        map_instance_groups(
            &[group("server")],
            &[],
            "default",
            &[("server", &["server"])]
        )
        .unwrap_err(),
        MapInstanceGroupsError::Job(JobReleaseError::NotProvided {
            job: "server".to_owned()
        })
    );
    assert_eq!(
        map_instance_groups(&[group("server")], &[], "default", &[]).unwrap(),
        []
    );
}

#[test]
fn the_update_block_of_a_plan_goes_into_a_manifest_as_it_is() {
    let mut update = PlanUpdate::new(MaxInFlight::Count(2));
    update.canaries = 1;
    update.canary_watch_time = "1000-30000".to_owned();
    update.initial_deploy_az_update_strategy = Some("serial".to_owned());
    assert_eq!(
        serde_json::to_value(Update::from(&update)).unwrap(),
        json!({
            "canaries": 1, "canary_watch_time": "1000-30000", "max_in_flight": 2,
            "initial_deploy_az_update_strategy": "serial",
        })
    );
}

fn release(name: &str, jobs: &[&str]) -> ServiceRelease {
    ServiceRelease::new(
        name,
        "1",
        jobs.iter().map(|job| (*job).to_owned()).collect(),
    )
}

fn group(name: &str) -> PlanInstanceGroup {
    PlanInstanceGroup::new(
        name,
        "small",
        2,
        vec!["net".to_owned()],
        vec!["z1".to_owned()],
    )
}
