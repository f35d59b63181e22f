//! The keys of `service_catalog.plans[]`.

use super::key::{DefaultValue, Key, Keys, Kind};

pub(super) const PLAN: Keys = Keys::only(&[
    Key::text(
        "plan_id",
        "The plan's id in the catalog, best a UUID. Never change it while instances exist.",
    )
    .required(),
    Key::text("name", "The plan's name in the marketplace.").required(),
    Key::text(
        "description",
        "A sentence for the marketplace, at most 10,000 characters.",
    )
    .required(),
    Key::optional_flag(
        "free",
        "Whether the plan is free. Platforms assume that it is.",
    ),
    Key::optional_flag(
        "bindable",
        "Whether its instances can be bound; the offering decides unless given.",
    ),
    Key::section(
        "metadata",
        &METADATA,
        "What the marketplace shows. Further keys pass through.",
    ),
    Key::section("quotas", &QUOTAS, "Limits of this plan."),
    Key::new(
        "properties",
        Kind::FreeMap,
        "What the adapter gets, over `global_properties`.",
    ),
    Key::sections(
        "instance_groups",
        &INSTANCE_GROUP,
        "The VMs of an instance.",
    ),
    Key::section("update", &UPDATE, "How an instance is updated."),
    Key::section(
        "lifecycle_errands",
        &LIFECYCLE_ERRANDS,
        "Errands that run after a deployment and before a deletion.",
    ),
    Key::sections(
        "binding_with_dns",
        &BINDING_WITH_DNS,
        "BOSH DNS addresses that bindings get; needs `broker.use_stdin`.",
    ),
    Key::section(
        "maintenance_info",
        &MAINTENANCE_INFO,
        "The version of what the plan deploys, over the offering's.",
    ),
    Key::new(
        "cf_service_access",
        Kind::Choice(&["enable", "disable", "manual", "org-restricted"]),
        "Who may order; read by the errand `register-broker`.",
    )
    .read_elsewhere(),
    Key::text(
        "service_access_org",
        "The organization of `org-restricted`; read by the errand `register-broker`.",
    )
    .read_elsewhere(),
    Key::new(
        "resource_costs",
        Kind::Anything,
        "The older form of `quotas.resources`; the release's template turns it into that.",
    )
    .deprecated("give `quotas.resources.NAME.cost`"),
]);

pub(super) const MAINTENANCE_INFO: Keys = Keys::only(&[
    Key::text(
        "version",
        "A semantic version. A new one offers an upgrade to every instance.",
    ),
    Key::text("description", "What platform users read about the version."),
    Key::new(
        "public",
        Kind::TextMap,
        "Values of which a change calls for an upgrade, such as a stemcell's version.",
    ),
    Key::new(
        "private",
        Kind::TextMap,
        "The same, for values that are not shown to users.",
    )
    .secret(),
]);

const METADATA: Keys = Keys::and_others(&[
    Key::text("display_name", "The name that people see."),
    Key::texts(
        "bullets",
        "Features of the plan, as the marketplace lists them.",
    ),
    Key::sections("costs", &COST, "What an instance costs."),
]);

const COST: Keys = Keys::only(&[
    Key::new(
        "amount",
        Kind::Amounts,
        "Amounts by currency, such as `usd: 9.99`.",
    ),
    Key::text("unit", "What for, such as `MONTHLY`."),
]);

const QUOTAS: Keys = Keys::only(&[
    Key::number(
        "service_instance_limit",
        "How many instances of the plan there may be; no limit unless given, 0: none.",
    ),
    Key::new(
        "resources",
        Kind::Named(&RESOURCE),
        "What an instance costs of a resource, and how much the plan may use.",
    ),
    Key::new(
        "resource_limits",
        Kind::Anything,
        "The older form of `resources`; the release's template turns it into that.",
    )
    .deprecated("give `resources.NAME.limit`"),
]);

const RESOURCE: Keys = Keys::only(&[
    Key::number(
        "limit",
        "How much all instances of the plan may cost together.",
    )
    .otherwise(DefaultValue::Number(0)),
    Key::number("cost", "What one instance costs.").otherwise(DefaultValue::Number(0)),
]);

const INSTANCE_GROUP: Keys = Keys::only(&[
    Key::text("name", "The name of the group, as the adapter knows it.").required(),
    Key::text("vm_type", "A VM type of the cloud config.").required(),
    Key::number_within("instances", 0, u32::MAX as u64, "How many VMs."),
    Key::texts("networks", "Networks of the cloud config."),
    Key::texts("azs", "Availability zones of the cloud config."),
    Key::texts("vm_extensions", "VM extensions of the cloud config."),
    Key::text(
        "persistent_disk_type",
        "A disk type of the cloud config; no disk unless given.",
    ),
    Key::text("lifecycle", "`errand` for VMs that only run errands."),
    Key::sections(
        "migrated_from",
        &MIGRATED_FROM,
        "Former names of the group.",
    ),
]);

const MIGRATED_FROM: Keys = Keys::only(&[Key::text("name", "A former name.").required()]);

const UPDATE: Keys = Keys::only(&[
    Key::number_within(
        "canaries",
        0,
        u32::MAX as u64,
        "How many VMs are updated first, to see whether it works.",
    )
    .otherwise(DefaultValue::Number(0)),
    Key::new(
        "max_in_flight",
        Kind::VmCount,
        "How many VMs are updated at once: a count, or a percentage such as `25%`. Needed where `update` is used.",
    ),
    Key::text(
        "canary_watch_time",
        "How long the Director waits for canaries, in milliseconds, such as `5000-300000`.",
    ),
    Key::text(
        "update_watch_time",
        "How long the Director waits for the others, in milliseconds, such as `5000-300000`.",
    ),
    Key::optional_flag("serial", "One instance group after the other."),
    Key::new(
        "initial_deploy_az_update_strategy",
        Kind::Choice(&["serial", "parallel"]),
        "Whether the first deployment updates the availability zones one by one.",
    ),
]);

const LIFECYCLE_ERRANDS: Keys = Keys::only(&[
    Key::sections(
        "post_deploy",
        &ERRAND,
        "What runs after each deployment, in this order.",
    ),
    Key::sections(
        "pre_delete",
        &ERRAND,
        "What runs before a deletion, in this order.",
    ),
]);

const ERRAND: Keys = Keys::only(&[
    Key::text(
        "name",
        "An errand group of the manifest, or a job with an errand.",
    )
    .required(),
    Key::texts(
        "instances",
        "Where it runs: `group` or `group/index-or-id`. Everywhere unless given.",
    ),
    Key::flag("disabled", "Leave it out."),
]);

const BINDING_WITH_DNS: Keys = Keys::only(&[
    Key::text("name", "The name under which the adapter gets the address.").required(),
    Key::text("link_provider", "A link that a job provides.").required(),
    Key::text("instance_group", "The group whose job provides it.").required(),
    Key::section("properties", &DNS_PROPERTIES, "Which of its instances."),
]);

const DNS_PROPERTIES: Keys = Keys::only(&[
    Key::texts("azs", "Only those in these availability zones."),
    Key::new(
        "status",
        Kind::Choice(&["default", "healthy", "unhealthy", "all"]),
        "Only those of this health.",
    ),
]);
