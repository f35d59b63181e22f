//! The keys of `service_catalog.plans[]`.

use super::key::{DefaultValue, Key, Keys, Kind};

pub(super) const PLAN: Keys = Keys::only(&[
    Key::text(
        "plan_id",
        "The plan's id in the catalog, preferably a UUID. Never change it while instances exist.",
    )
    .required(),
    Key::text("name", "The plan's name in the marketplace.").required(),
    Key::text(
        "description",
        "The description in the marketplace, at most 10,000 characters.",
    )
    .required(),
    Key::optional_flag(
        "free",
        "Whether the plan is free. Platforms assume that it is.",
    ),
    Key::optional_flag(
        "bindable",
        "Whether instances can be bound; as the offering unless given.",
    ),
    Key::section(
        "metadata",
        &METADATA,
        "What the marketplace shows. Unknown keys are passed on.",
    ),
    Key::section("quotas", &QUOTAS, "Limits of this plan."),
    Key::new(
        "properties",
        Kind::FreeMap,
        "Properties for the adapter, over `global_properties`.",
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
        "The version of the plan's software; overrides the offering's.",
    ),
    Key::new(
        "cf_service_access",
        Kind::Choice(&["enable", "disable", "manual", "org-restricted"]),
        "Service access of the plan, for the errand `register-broker`.",
    )
    .read_elsewhere(),
    Key::text(
        "service_access_org",
        "The organization of `org-restricted`; for the errand `register-broker`.",
    )
    .read_elsewhere(),
    Key::new(
        "resource_costs",
        Kind::Anything,
        "The older form of `quotas.resources`; the release converts it.",
    )
    .deprecated("give `quotas.resources.NAME.cost`"),
]);

pub(super) const MAINTENANCE_INFO: Keys = Keys::only(&[
    Key::text(
        "version",
        "A semantic version. A new one offers an upgrade for each instance.",
    ),
    Key::text("description", "What platform users read about the version."),
    Key::new(
        "public",
        Kind::TextMap,
        "Values that need an upgrade when they change, such as a stemcell's version.",
    ),
    Key::new(
        "private",
        Kind::TextMap,
        "The same, for values that are not shown to users.",
    )
    .secret(),
]);

const METADATA: Keys = Keys::and_others(&[
    Key::text("display_name", "The name in user interfaces."),
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
    Key::text("unit", "The period, such as `MONTHLY`."),
]);

const QUOTAS: Keys = Keys::only(&[
    Key::number(
        "service_instance_limit",
        "The number of instances allowed; 0 allows none. Unlimited unless given.",
    ),
    Key::new(
        "resources",
        Kind::Named(&RESOURCE),
        "An instance's cost of a resource, and the plan's limit.",
    ),
    Key::new(
        "resource_limits",
        Kind::Anything,
        "The older form of `resources`; the release converts it.",
    )
    .deprecated("give `resources.NAME.limit`"),
]);

const RESOURCE: Keys = Keys::only(&[
    Key::number("limit", "The limit for all instances of the plan.")
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
        "How many VMs the Director updates first.",
    )
    .otherwise(DefaultValue::Number(0)),
    Key::new(
        "max_in_flight",
        Kind::VmCount,
        "How many VMs are updated at once: a number or a percentage such as `25%`. Needed with `update`.",
    ),
    Key::text(
        "canary_watch_time",
        "How long the Director waits for canaries, in milliseconds, such as `5000-300000`.",
    ),
    Key::text(
        "update_watch_time",
        "How long the Director waits for the others, in milliseconds, such as `5000-300000`.",
    ),
    Key::optional_flag("serial", "Update one instance group after the other."),
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
        "Errands to run after each deployment, in order.",
    ),
    Key::sections(
        "pre_delete",
        &ERRAND,
        "Errands to run before a deletion, in order.",
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
        "Where it runs: `group` or `group/index-or-id`; on all instances unless given.",
    ),
    Key::flag("disabled", "Leave it out."),
]);

const BINDING_WITH_DNS: Keys = Keys::only(&[
    Key::text("name", "The name under which the adapter gets the address.").required(),
    Key::text("link_provider", "A link that a job provides.").required(),
    Key::text(
        "instance_group",
        "The instance group whose job provides it.",
    )
    .required(),
    Key::section("properties", &DNS_PROPERTIES, "Criteria for the instances."),
]);

const DNS_PROPERTIES: Keys = Keys::only(&[
    Key::texts("azs", "Only instances in these availability zones."),
    Key::new(
        "status",
        Kind::Choice(&["default", "healthy", "unhealthy", "all"]),
        "Only instances of this health.",
    ),
]);
