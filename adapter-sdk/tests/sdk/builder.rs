//! A manifest out of a call.

use odb_adapter_sdk::manifest::{
    Addon, ConsumedLink, CustomProviderDefinition, Features, FreeMap, Job, JobBuilder, JobProperty,
    Manifest, ManifestBuilder, ManifestBuilderError, ProvidedLink, StemcellChoice, Update,
    Variable,
};
use odb_adapter_sdk::protocol::{MaxInFlight, PlanUpdate, Stemcell};
use odb_adapter_sdk::yaml;
use proptest::prelude::*;
use serde_json::json;

use crate::calls::{create, create_of, group};

const PORT: JobProperty = JobProperty::new("server", "server", "/service/port");

#[test]
fn a_manifest_has_all_that_a_director_asks_for() {
    let call = create();
    let manifest = ManifestBuilder::new(&call)
        .instance_group("server", ["server"])
        .build()
        .unwrap();
    assert_eq!(
        serde_json::to_value(&manifest).unwrap(),
        json!({
            "name": "service-instance_1",
            "releases": [{"name": "service", "version": "1.2"}],
            "stemcells": [{"alias": "default", "os": "ubuntu-jammy", "version": "1.80"}],
            "instance_groups": [{
                "name": "server", "instances": 2, "jobs": [{"name": "server", "release": "service"}],
                "vm_type": "small", "stemcell": "default", "azs": ["z1"], "networks": [{"name": "net"}],
            }],
            "update": {
                "canaries": 1, "canary_watch_time": "30000-240000", "update_watch_time": "30000-240000",
                "max_in_flight": 1,
            },
        })
    );
}

#[test]
fn groups_keep_the_order_of_the_plan_and_others_are_omitted() {
    let call = create_of(vec![group("backup"), group("unknown"), group("server")]);
    let builder = ManifestBuilder::new(&call)
        .instance_group("server", ["server", "exporter"])
        .optional_instance_group("backup", ["backup"])
        .optional_instance_group("standby", ["server"]);
    assert_eq!(builder.groups_left_out().collect::<Vec<_>>(), ["unknown"]);
    let manifest = builder.build().unwrap();
    let names: Vec<_> = manifest
        .instance_groups
        .iter()
        .map(|group| &group.name)
        .collect();
    assert_eq!(names, ["backup", "server"]);
    let jobs: Vec<_> = manifest.instance_groups[1]
        .jobs
        .iter()
        .map(|job| &job.name)
        .collect();
    assert_eq!(jobs, ["server", "exporter"]);
}

#[test]
fn jobs_are_given_properties_and_links() {
    let call = create();
    let server = JobBuilder::new("server")
        .properties(json!({"service": {"name": "n"}}))
        .property("/service/a~1b", 1)
        .property_if_some("/service/none", None::<u8>)
        .provide("server", ProvidedLink::shared())
        .provide_nothing("admin")
        .consume("peer", ConsumedLink::from("server"))
        .consume_nothing("cache")
        .define_provider(CustomProviderDefinition::new("server-link", "address"));
    let manifest = ManifestBuilder::new(&call)
        .instance_group("server", [server])
        .optional_instance_group("standby", ["server"])
        .property(PORT, 6379)
        .property(
            JobProperty::new("standby", "server", "/a"),
            "left out with its group",
        )
        .build()
        .unwrap();
    assert_eq!(
        serde_json::to_value(&manifest.instance_groups[0].jobs[0]).unwrap(),
        json!({
            "name": "server", "release": "service",
            "provides": {"admin": "nil", "server": {"shared": true}},
            "consumes": {"cache": "nil", "peer": {"from": "server"}},
            "custom_provider_definitions": [{"name": "server-link", "type": "address"}],
            "properties": {"service": {"name": "n", "a/b": 1, "port": 6379}},
        })
    );
}

#[test]
fn groups_and_the_whole_can_be_changed_and_added_to() {
    let call = create();
    let manifest = ManifestBuilder::new(&call)
        .instance_group("server", ["server"])
        .change_instance_group("server", |group| {
            group.env = Some(FreeMap::from_iter([(
                "persistent_disk_fs".to_owned(),
                "xfs".into(),
            )]));
        })
        .change_update(|update| update.serial = Some(false))
        .variable(Variable::new("password", "password"))
        .tag("product", "service")
        .features(Features {
            use_dns_addresses: Some(true),
            ..Features::default()
        })
        .addon(Addon {
            name: "a".to_owned(),
            jobs: vec![Job::new("exporter", "service")],
            ..Addon::default()
        })
        .build()
        .unwrap();
    let manifest = serde_json::to_value(&manifest).unwrap();
    let at = |pointer: &str| manifest.pointer(pointer).unwrap().clone();
    assert_eq!(at("/instance_groups/0/env/persistent_disk_fs"), "xfs");
    assert_eq!(at("/update/serial"), false);
    assert_eq!(
        at("/variables"),
        json!([{"name": "password", "type": "password"}])
    );
    assert_eq!(at("/tags"), json!({"product": "service"}));
    assert_eq!(at("/features"), json!({"use_dns_addresses": true}));
    assert_eq!(at("/addons/0/jobs/0/name"), "exporter");
}

#[test]
fn the_update_block_is_the_plans_with_gaps_filled_or_a_default() {
    let mut call = create();
    let mut update = PlanUpdate::new(MaxInFlight::Count(3));
    update.canary_watch_time = "1-2".to_owned();
    call.plan.update = Some(update);
    let built = ManifestBuilder::new(&call)
        .instance_group("server", ["server"])
        .build()
        .unwrap();
    assert_eq!(
        serde_json::to_value(built.update).unwrap(),
        json!({
            "canaries": 0, "canary_watch_time": "1-2", "update_watch_time": "30000-240000", "max_in_flight": 3,
        })
    );

    call.plan.update = None;
    let incomplete = Update {
        canaries: Some(2),
        ..Update::default()
    };
    let error = ManifestBuilder::new(&call)
        .instance_group("server", ["server"])
        .default_update(incomplete)
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the update block lacks `canary_watch_time`"
    );
}

#[test]
fn a_stemcell_is_chosen_by_operating_system_or_name() {
    let mut call = create();
    let mut fips = Stemcell::new("ubuntu-jammy", "1.80");
    fips.name = Some("jammy-fips".to_owned());
    call.service_deployment.stemcells.push(fips);
    call.service_deployment
        .stemcells
        .push(Stemcell::new("windows2019", "7"));
    let built = |stemcell: StemcellChoice| {
        ManifestBuilder::new(&call)
            .stemcell("os", stemcell)
            .instance_group("server", ["server"])
            .build()
            .map(|manifest| serde_json::to_value(&manifest.stemcells).unwrap())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        built(StemcellChoice::First),
        Ok(json!([{"alias": "os", "os": "ubuntu-jammy", "version": "1.80"}]))
    );
    assert_eq!(
        built(StemcellChoice::Name("jammy-fips".to_owned())),
        Ok(json!([{"alias": "os", "version": "1.80", "name": "jammy-fips"}]))
    );
    assert_eq!(
        built(StemcellChoice::Os("windows2019".to_owned())),
        Ok(json!([{"alias": "os", "os": "windows2019", "version": "7"}]))
    );
    assert_eq!(
        built(StemcellChoice::Os("ubuntu-noble".to_owned())).unwrap_err(),
        "no stemcell of operating system `ubuntu-noble`; the service deployment has \
         `ubuntu-jammy/1.80`, `jammy-fips/1.80`, `windows2019/7`"
    );
    assert!(
        built(StemcellChoice::Os("ubuntu-jammy".to_owned()))
            .unwrap_err()
            .starts_with("there is more than one stemcell of operating system `ubuntu-jammy`")
    );
}

#[test]
fn several_stemcells_are_distinguished_by_their_aliases() {
    let mut call = create_of(vec![group("server"), group("backup")]);
    call.service_deployment
        .stemcells
        .push(Stemcell::new("windows2019", "7"));
    let built = |alias: &'static str| {
        ManifestBuilder::new(&call)
            .stemcell("linux", StemcellChoice::First)
            .stemcell("windows", StemcellChoice::Os("windows2019".to_owned()))
            .instance_group("server", ["server"])
            .instance_group("backup", ["backup"])
            .change_instance_group("backup", move |group| alias.clone_into(&mut group.stemcell))
            .build()
    };
    let groups = built("windows").unwrap().instance_groups;
    assert_eq!(
        (&*groups[0].stemcell, &*groups[1].stemcell),
        ("linux", "windows")
    );
    assert_eq!(
        built("solaris").unwrap_err().to_string(),
        "instance group `backup` is on stemcell `solaris`, which the manifest does not have"
    );
}

proptest! {
    #[test]
    fn every_plan_makes_a_manifest_or_the_error_names_missing_groups(
        planned in Just(vec!["a", "b", "c", "d"]).prop_shuffle(),
        planned_count in 1..=4_usize,
        wanted in prop::sample::subsequence(vec!["a", "b", "c", "d"], 0..=4),
        optional in prop::sample::subsequence(vec!["e", "f"], 0..=2),
    ) {
        let planned = &planned[..planned_count];
        let call = create_of(planned.iter().map(|name| group(name)).collect());
        let mut builder = ManifestBuilder::new(&call);
        for name in &wanted {
            builder = builder.instance_group(*name, ["server"]);
        }
        for name in optional {
            builder = builder.optional_instance_group(name, ["server"]);
        }
        let missing: Vec<_> = wanted.iter().filter(|name| !planned.contains(name)).collect();
        match builder.build() {
            Ok(manifest) => {
                prop_assert_eq!(missing.len(), 0);
                let names: Vec<_> = manifest.instance_groups.iter().map(|group| group.name.as_str()).collect();
                let expected: Vec<_> = planned.iter().copied().filter(|name| wanted.contains(name)).collect();
                prop_assert_eq!(names, expected);
                let text = yaml::to_string(&manifest).unwrap();
                prop_assert_eq!(yaml::from_str::<Manifest>(&text).unwrap(), manifest);
            }
            Err(ManifestBuilderError::MissingInstanceGroups { missing: named, .. }) => {
                prop_assert!(!named.is_empty());
                prop_assert_eq!(named.iter().collect::<Vec<_>>(), missing);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
