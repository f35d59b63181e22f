//! Calls and answers of every shape that the types allow.

use std::collections::BTreeMap;

use odb_adapter_sdk::manifest::{
    Addon, ConsumedLink, CustomProviderDefinition, Features, InstanceGroup, Job, Link, Manifest,
    Network, PlacementRule, ProvidedLink, Release, Stemcell, Update, UpdateMode, Variable,
    VariableConsumes, VariableLink, VmResources, VmStrategy,
};
use odb_adapter_sdk::protocol;
use odb_adapter_sdk::protocol::{
    Binding, BoshVms, CreateBinding, Endpoint, EndpointProtocol, GenerateDashboardUrl,
    GenerateManifest, GeneratePlanSchemas, GeneratedManifest, LifecycleErrand, LifecycleErrands,
    ManifestText, MaxInFlight, MigratedFrom, Percentage, Plan, PlanInstanceGroup, PlanUpdate,
    RequestParameters, Secrets, ServiceDeployment, ServiceRelease, UaaClient, VolumeMount,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9-]{0,8}",
        "((\\(\\([a-z/]{1,8}\\)\\))|yes|1\\.10|<&>\"\n)"
    ]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_-]{0,8}"
}

pub(crate) fn free_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(name(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

pub(crate) fn free_map() -> impl Strategy<Value = Map<String, Value>> {
    btree_map(name(), free_value(), 0..3).prop_map(|members| members.into_iter().collect())
}

fn text_map() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(text(), text(), 0..3)
}

fn max_in_flight() -> impl Strategy<Value = MaxInFlight> {
    prop_oneof![
        any::<u32>().prop_map(MaxInFlight::Count),
        (0_u8..=100).prop_map(|share| {
            MaxInFlight::Percentage(Percentage::try_from(format!("{share}%")).unwrap())
        }),
    ]
}

pub(crate) fn service_deployment() -> impl Strategy<Value = ServiceDeployment> {
    let release = (text(), text(), texts())
        .prop_map(|(name, version, jobs)| ServiceRelease::new(name, version, jobs));
    let stemcell = (option::of(name()), text(), text()).prop_map(|(name, os, version)| {
        let mut stemcell = protocol::Stemcell::new(os, version);
        stemcell.name = name;
        stemcell
    });
    (name(), vec(release, 0..3), vec(stemcell, 0..3))
        .prop_map(|(name, releases, stemcells)| ServiceDeployment::new(name, releases, stemcells))
}

fn plan_instance_group() -> impl Strategy<Value = PlanInstanceGroup> {
    let needed = (name(), name(), 1_u32.., texts(), vec(text(), 1..3));
    let optional = (
        texts(),
        option::of(name()),
        option::of(name()),
        vec(name(), 0..2),
    );
    (needed, optional).prop_map(|((name, vm_type, instances, networks, azs), optional)| {
        let mut group = PlanInstanceGroup::new(name, vm_type, instances, networks, azs);
        let migrated_from;
        (
            group.vm_extensions,
            group.persistent_disk_type,
            group.lifecycle,
            migrated_from,
        ) = optional;
        group.migrated_from = migrated_from.into_iter().map(MigratedFrom::new).collect();
        group
    })
}

fn plan_update() -> impl Strategy<Value = PlanUpdate> {
    (
        max_in_flight(),
        any::<u32>(),
        text(),
        option::of(any::<bool>()),
        option::of(name()),
    )
        .prop_map(|(max_in_flight, canaries, watch_time, serial, strategy)| {
            let mut update = PlanUpdate::new(max_in_flight);
            update.canaries = canaries;
            update.canary_watch_time = watch_time;
            update.serial = serial;
            update.initial_deploy_az_update_strategy = strategy;
            update
        })
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let errand = || {
        (name(), texts()).prop_map(|(name, instances)| LifecycleErrand::colocated(name, instances))
    };
    let errands = (vec(errand(), 0..2), vec(errand(), 0..2))
        .prop_map(|(post_deploy, pre_delete)| LifecycleErrands::new(post_deploy, pre_delete));
    (
        vec(plan_instance_group(), 0..3),
        free_map(),
        errands,
        option::of(plan_update()),
    )
        .prop_map(|(groups, properties, errands, update)| {
            let mut plan = Plan::new(groups);
            plan.properties = properties;
            plan.lifecycle_errands = errands;
            plan.update = update;
            plan
        })
}

fn request() -> impl Strategy<Value = RequestParameters> {
    let whole = (text(), text(), free_map(), free_map(), option::of(text())).prop_map(
        |(service, plan, parameters, context, app)| {
            let mut body = json!({
                "service_id": service, "plan_id": plan, "parameters": parameters, "context": context,
                "maintenance_info": {"version": "1.0.0", "public": {"a": "b"}},
            });
            body["context"]["platform"] = "cloudfoundry".into();
            if let Some(app) = app {
                body["app_guid"] = app.as_str().into();
                body["bind_resource"] = json!({"app_guid": app, "backup_agent": true});
            }
            body.to_string()
        },
    );
    let texts = prop_oneof![
        whole,
        Just("{}".to_owned()),
        Just("null".to_owned()),
        Just(r#"{"context":null}"#.to_owned()),
    ];
    texts.prop_map(|text| RequestParameters::from_json(&text).unwrap())
}

fn secrets() -> impl Strategy<Value = Secrets> {
    btree_map("\\(\\([a-z/.]{1,8}\\)\\)", text(), 0..3).prop_map(Secrets::from_iter)
}

fn uaa_client() -> impl Strategy<Value = UaaClient> {
    (text(), text(), text(), option::of(text())).prop_map(|(id, secret, scopes, redirect_uri)| {
        let mut client = UaaClient::new(id);
        client.client_secret = secret.into();
        client.scopes = scopes;
        client.allowpublic = redirect_uri.as_ref().map(|_| "true".to_owned());
        client.redirect_uri = redirect_uri;
        client
    })
}

fn bosh_vms() -> impl Strategy<Value = BoshVms> {
    btree_map(name(), texts(), 0..3)
}

fn job() -> impl Strategy<Value = Job> {
    (name(), text(), option::of(free_map()), 0..4_u8).prop_map(
        |(name, release, properties, links)| {
            let mut job = Job::new(name, release);
            job.properties = properties;
            if links > 0 {
                job.provide("own", ProvidedLink::shared());
                job.define_provider(CustomProviderDefinition::new("own", "address"));
            }
            if links > 1 {
                job.consume("other", Link::Set(ConsumedLink::from("there")));
            }
            if links > 2 {
                job.consume("none", Link::Nil);
            }
            job
        },
    )
}

fn update() -> impl Strategy<Value = Update> {
    let strategy = prop_oneof![
        Just(VmStrategy::DeleteCreate),
        Just(VmStrategy::CreateSwapDelete),
        name().prop_map(VmStrategy::Unknown),
    ];
    (
        option::of(max_in_flight()),
        option::of(any::<u32>()),
        option::of(strategy),
    )
        .prop_map(|(max_in_flight, canaries, vm_strategy)| Update {
            max_in_flight,
            canaries,
            vm_strategy,
            ..Update::default()
        })
}

fn instance_group() -> impl Strategy<Value = InstanceGroup> {
    let many = (
        vec(job(), 0..3),
        vec(name(), 0..3),
        option::of(texts()),
        option::of(texts()),
    );
    (
        name(),
        any::<u32>(),
        many,
        option::of(update()),
        option::of(free_map()),
        option::of(any::<u32>()),
    )
        .prop_map(
            |(name, instances, (jobs, networks, azs, vm_extensions), update, env, cpu)| {
                InstanceGroup {
                    jobs,
                    networks: networks.into_iter().map(Network::new).collect(),
                    azs,
                    vm_extensions,
                    update,
                    env,
                    vm_resources: cpu.map(|cpu| VmResources {
                        cpu,
                        ..VmResources::default()
                    }),
                    vm_type: cpu.is_none().then(|| "small".to_owned()),
                    ..InstanceGroup::new(name, instances)
                }
            },
        )
}

fn variable() -> impl Strategy<Value = Variable> {
    (name(), option::of(free_map()), option::of(name())).prop_map(|(name, options, link)| {
        Variable {
            options,
            update_mode: link.as_ref().map(|_| UpdateMode::Converge),
            consumes: link.map(|link| VariableConsumes {
                common_name: Some(VariableLink::from(link)),
                ..VariableConsumes::default()
            }),
            ..Variable::new(name, "certificate")
        }
    })
}

pub(crate) fn manifest() -> impl Strategy<Value = Manifest> {
    let groups = vec(instance_group(), 0..3);
    let rest = (
        option::of(update()),
        option::of(vec(variable(), 0..3)),
        option::of(free_map()),
        free_map(),
    );
    (
        name(),
        vec((name(), text()), 0..3),
        groups,
        rest,
        option::of(vec(job(), 0..2)),
    )
        .prop_map(
            |(name, releases, instance_groups, (update, variables, tags, features), addon)| {
                Manifest {
                    name,
                    releases: releases
                        .into_iter()
                        .map(|(name, version)| Release::new(name, version))
                        .collect(),
                    stemcells: vec![Stemcell::of(
                        "default",
                        &protocol::Stemcell::new("ubuntu-jammy", "1.80"),
                    )],
                    instance_groups,
                    update,
                    variables,
                    tags,
                    features: Some(Features {
                        other: features,
                        ..Features::default()
                    }),
                    addons: addon.map(|jobs| {
                        vec![Addon {
                            name: "a".to_owned(),
                            jobs,
                            include: Some(PlacementRule {
                                teams: Some(vec!["t".to_owned()]),
                                ..PlacementRule::default()
                            }),
                            ..Addon::default()
                        }]
                    }),
                    ..Manifest::default()
                }
            },
        )
}

fn manifest_text() -> impl Strategy<Value = ManifestText> {
    manifest().prop_map(|manifest| ManifestText::try_from(&manifest).unwrap())
}

pub(crate) fn generate_manifest() -> impl Strategy<Value = GenerateManifest> {
    let now = (service_deployment(), plan(), request());
    let before = (
        option::of(plan()),
        option::of(manifest_text()),
        option::of(secrets()),
        option::of(text_map()),
    );
    (now, before, option::of(uaa_client())).prop_map(
        |((deployment, plan, request), before, uaa_client)| {
            let mut call = GenerateManifest::new(deployment, plan, request);
            (
                call.previous_plan,
                call.previous_manifest,
                call.previous_secrets,
                call.previous_configs,
            ) = before;
            call.uaa_client = uaa_client;
            call
        },
    )
}

pub(crate) fn create_binding() -> impl Strategy<Value = CreateBinding> {
    (
        text(),
        bosh_vms(),
        manifest_text(),
        request(),
        option::of(secrets()),
        text_map(),
    )
        .prop_map(|(id, vms, manifest, request, secrets, dns_addresses)| {
            let mut call = CreateBinding::new(id, vms, manifest, request);
            call.secrets = secrets;
            call.dns_addresses = dns_addresses;
            call
        })
}

pub(crate) fn dashboard_url() -> impl Strategy<Value = GenerateDashboardUrl> {
    (text(), plan(), manifest_text())
        .prop_map(|(id, plan, manifest)| GenerateDashboardUrl::new(id, plan, manifest))
}

pub(crate) fn plan_schemas() -> impl Strategy<Value = GeneratePlanSchemas> {
    plan().prop_map(GeneratePlanSchemas::new)
}

pub(crate) fn generated_manifest() -> impl Strategy<Value = GeneratedManifest> {
    let secret = prop_oneof![
        text().prop_map(Value::from),
        free_map().prop_map(Value::Object)
    ];
    let secrets = btree_map(name(), secret, 0..3).prop_map(|secrets| secrets.into_iter().collect());
    (
        manifest(),
        option::of(secrets),
        option::of(text_map()),
        free_map(),
    )
        .prop_map(|(manifest, secrets, configs, labels)| {
            let mut answer = GeneratedManifest::new(&manifest).unwrap();
            answer.secrets = secrets;
            answer.configs = configs;
            answer.labels = labels;
            answer
        })
}

pub(crate) fn binding() -> impl Strategy<Value = Binding> {
    (free_value(), option::of(text()), 0..3_u8, any::<u16>()).prop_map(
        |(credentials, url, parts, port)| {
            let mut binding = Binding::with_credentials(credentials);
            if let Some(url) = url {
                binding = binding.with_syslog_drain(&*url).with_route_service(url);
            }
            if parts > 0 {
                let endpoint = Endpoint::new("10.0.0.1", port).with_ports(1..=port);
                binding = binding
                    .with_endpoints([endpoint.clone(), endpoint.over(EndpointProtocol::Udp)]);
            }
            if parts > 1 {
                let mount = VolumeMount::shared("nfs", "/data", "v");
                binding = binding.with_volume_mounts([
                    mount.clone(),
                    mount.read_only().with_mount_config(Map::new()),
                ]);
            }
            binding
        },
    )
}
