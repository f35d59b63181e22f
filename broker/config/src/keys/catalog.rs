//! The keys of the section `service_catalog`, but for its plans.

use super::{
    key::{Key, Keys, Kind},
    plan::{MAINTENANCE_INFO, PLAN},
};

pub(super) const CATALOG: Keys = Keys::only(&[
    Key::text(
        "id",
        "The offering's id in the catalog, best a UUID. Never change it once the broker is registered.",
    )
    .required(),
    Key::text("service_name", "The offering's name in the marketplace.").required(),
    Key::text(
        "service_description",
        "A sentence for the marketplace, at most 10,000 characters.",
    )
    .required(),
    Key::flag(
        "bindable",
        "Whether instances can be bound, unless a plan says otherwise.",
    ),
    Key::flag(
        "bindings_retrievable",
        "Let platforms retrieve bindings, as the catalog declares; needs `credhub`.",
    )
    .of_our_own(),
    Key::flag(
        "plan_updatable",
        "Whether an instance may move to another plan.",
    ),
    Key::texts("tags", "Free words, together at most 2,048 characters."),
    Key::new("requires", Kind::Choices(&["syslog_drain", "route_forwarding", "volume_mount"]),
        "What bindings ask of the platform.",
    ),
    Key::section(
        "metadata",
        &METADATA,
        "What the marketplace shows. Further keys pass through.",
    ),
    Key::section(
        "dashboard_client",
        &DASHBOARD_CLIENT,
        "Single sign-on for dashboards. All three keys or none.",
    ),
    Key::new("global_properties", Kind::FreeMap,
        "What the adapter gets for every plan; the plan's `properties` win, key by key, top level only.",
    ),
    Key::section("global_quotas", &GLOBAL_QUOTAS, "Limits over all plans."),
    Key::section(
        "maintenance_info",
        &MAINTENANCE_INFO,
        "The version of what is deployed, for every plan that does not say otherwise.",
    ),
    Key::sections("plans", &PLAN, "What can be ordered.").required(),
]);

const METADATA: Keys = Keys::and_others(&[
    Key::text("display_name", "The name that people see."),
    Key::text("image_url", "A picture."),
    Key::text("long_description", "A paragraph."),
    Key::text("provider_display_name", "Who offers it."),
    Key::text("documentation_url", "Where to read more."),
    Key::text("support_url", "Where to get help."),
    Key::flag(
        "shareable",
        "Whether instances can be shared between spaces.",
    ),
]);

const DASHBOARD_CLIENT: Keys = Keys::only(&[
    Key::text("id", "The id of a UAA client."),
    Key::text("secret", "That client's secret.").secret(),
    Key::text("redirect_uri", "Where a sign-on may return to."),
]);

const GLOBAL_QUOTAS: Keys = Keys::only(&[
    Key::number(
        "service_instance_limit",
        "How many instances there may be; no limit unless given, 0: none.",
    ),
    Key::new(
        "resources",
        Kind::Named(&GLOBAL_RESOURCE),
        "How much there is of each resource that plans have a cost of.",
    ),
    Key::new(
        "resource_limits",
        Kind::Anything,
        "The older form of `resources`; the release's template turns it into that.",
    )
    .deprecated("give `resources.NAME.limit`"),
]);

const GLOBAL_RESOURCE: Keys = Keys::only(&[
    Key::number(
        "limit",
        "How much all instances together may cost; 0, also when left out, blocks every plan with a cost.",
    ),
    Key::new("cost", Kind::Anything, "Means nothing here.")
        .deprecated("give the cost in each plan's `quotas`"),
]);
