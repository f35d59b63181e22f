//! The keys of the section `service_catalog`, but for its plans.

use super::{
    key::{Key, Keys, Kind},
    plan::{MAINTENANCE_INFO, PLAN},
};

pub(super) const CATALOG: Keys = Keys::only(&[
    Key::text(
        "id",
        "The offering's id in the catalog, preferably a UUID. Never change it after registration.",
    )
    .required(),
    Key::text("service_name", "The offering's name in the marketplace.").required(),
    Key::text(
        "service_description",
        "The description in the marketplace, at most 10,000 characters.",
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
    Key::texts("tags", "Tags, together at most 2,048 characters."),
    Key::new(
        "requires",
        Kind::Choices(&["syslog_drain", "route_forwarding", "volume_mount"]),
        "What bindings require of the platform.",
    ),
    Key::section(
        "metadata",
        &METADATA,
        "What the marketplace shows. Unknown keys are passed on.",
    ),
    Key::section(
        "dashboard_client",
        &DASHBOARD_CLIENT,
        "Single sign-on for dashboards. All three keys or none.",
    ),
    Key::new(
        "global_properties",
        Kind::FreeMap,
        "Properties for the adapter in every plan. A plan's `properties` override them by top-level key.",
    ),
    Key::section("global_quotas", &GLOBAL_QUOTAS, "Limits over all plans."),
    Key::section(
        "maintenance_info",
        &MAINTENANCE_INFO,
        "The version of the deployed software, unless the plan has its own.",
    ),
    Key::sections("plans", &PLAN, "What can be ordered.").required(),
]);

const METADATA: Keys = Keys::and_others(&[
    Key::text("display_name", "The name in user interfaces."),
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
    Key::text("redirect_uri", "The redirect URI after a sign-on."),
]);

const GLOBAL_QUOTAS: Keys = Keys::only(&[
    Key::number(
        "service_instance_limit",
        "The number of instances allowed; 0 allows none. Unlimited unless given.",
    ),
    Key::new(
        "resources",
        Kind::Named(&GLOBAL_RESOURCE),
        "The limit of each resource that plans cost.",
    ),
    Key::new(
        "resource_limits",
        Kind::Anything,
        "The older form of `resources`; the release converts it.",
    )
    .deprecated("give `resources.NAME.limit`"),
]);

const GLOBAL_RESOURCE: Keys = Keys::only(&[
    Key::number(
        "limit",
        "The limit for all instances together; 0 or no value blocks every plan with a cost.",
    ),
    Key::new("cost", Kind::Anything, "Means nothing here.")
        .deprecated("give the cost in each plan's `quotas`"),
]);
