//! The names that each kind of template may use; `context` gives them their values.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::description::Description;
use super::schemas::{Schemas, shape};
use crate::template::{KnownNames, Shape, of_bindings, of_dashboards, of_manifests};

pub(super) fn in_manifests(
    description: &Description,
    settings: &Map<String, Value>,
    schemas: &Schemas,
) -> KnownNames {
    let parameters = shape(&schemas.create).or(shape(&schemas.update));
    KnownNames {
        values: Shape::of_names([
            "deployment_name",
            "instance_id",
            "releases",
            "manifest_releases",
            "stemcells",
            "previous_manifest",
            "request",
            "context",
            "previous_secrets",
            "previous_configs",
            "omit",
        ])
        .or(Shape::of([
            ("plan", plan(schemas)),
            ("previous_plan", plan(schemas)),
            ("parameters", parameters),
            ("uaa_client", uaa_client()),
            ("settings", Shape::of_names(settings.keys())),
            ("values", Shape::of_names(description.values.keys())),
        ])),
        functions: of_manifests(),
    }
}

/// The names for kept values and secrets, which manifests and bindings both use.
pub(super) fn in_locations(settings: &Map<String, Value>) -> KnownNames {
    KnownNames {
        values: Shape::of([
            ("deployment_name", Shape::Open),
            ("instance_id", Shape::Open),
            ("settings", Shape::of_names(settings.keys())),
        ]),
        functions: BTreeSet::new(),
    }
}

pub(super) fn in_bindings(settings: &Map<String, Value>, schemas: &Schemas) -> KnownNames {
    KnownNames {
        values: Shape::of_names([
            "binding_id",
            "deployment_name",
            "instance_id",
            "bosh_vms",
            "manifest",
            "request",
            "context",
            "bind_resource",
            "app_guid",
            "secrets",
            "dns_addresses",
            "omit",
        ])
        .or(Shape::of([
            ("parameters", shape(&schemas.bind)),
            ("settings", Shape::of_names(settings.keys())),
        ])),
        functions: of_bindings(),
    }
}

pub(super) fn in_dashboards(settings: &Map<String, Value>, schemas: &Schemas) -> KnownNames {
    KnownNames {
        values: Shape::of([
            ("instance_id", Shape::Open),
            ("deployment_name", Shape::Open),
            ("plan", plan(schemas)),
            ("manifest", Shape::Open),
            ("settings", Shape::of_names(settings.keys())),
        ]),
        functions: of_dashboards(),
    }
}

/// The names for a template that others include: the union of the names that they may use.
pub(super) fn anywhere(known: [KnownNames; 3]) -> KnownNames {
    let [first, second, third] = known;
    let functions = [&second, &third]
        .into_iter()
        .flat_map(|known| &known.functions);
    KnownNames {
        functions: first.functions.iter().chain(functions).copied().collect(),
        values: first.values.or(second.values).or(third.values),
    }
}

fn plan(schemas: &Schemas) -> Shape {
    let properties = schemas.plan_properties.as_ref();
    let properties = properties.map_or(Shape::Open, shape);
    Shape::of([
        ("properties", properties),
        ("instance_groups", Shape::Open),
        (
            "lifecycle_errands",
            Shape::of_names(["post_deploy", "pre_delete"]),
        ),
        (
            "update",
            Shape::of_names([
                "canaries",
                "canary_watch_time",
                "update_watch_time",
                "max_in_flight",
                "serial",
                "initial_deploy_az_update_strategy",
            ]),
        ),
    ])
}

fn uaa_client() -> Shape {
    Shape::of_names([
        "client_id",
        "client_secret",
        "name",
        "scopes",
        "resource_ids",
        "authorities",
        "authorized_grant_types",
        "redirect_uri",
        "allowpublic",
    ])
}
