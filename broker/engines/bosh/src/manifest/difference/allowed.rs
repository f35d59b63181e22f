//! The values of a document that may be shown: names, versions, sizes and the like. A value that is not listed here may
//! be a secret.

use self::Allowed::{Address, Members, Nothing, Value};

/// What may be shown at a path. The members of a list have the rule of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// No value, no key and no name of anything below.
    Nothing,
    /// A value without parts.
    Value,
    /// An address without query, which may hold a signature.
    Address,
    /// The listed keys, with what they allow. Of members that are not listed only the key.
    Members(&'static [(&'static str, Allowed)]),
}

impl Allowed {
    /// What may be shown of a member of a map.
    pub(super) fn of_member(self, key: &str) -> Self {
        let Members(members) = self else {
            return Nothing;
        };
        let listed = members.iter().find(|(listed, _)| *listed == key);
        listed.map_or(Nothing, |(_, allowed)| *allowed)
    }

    /// What may be shown of a BOSH config of this type.
    pub(super) fn of_config(kind: &str) -> Self {
        match kind {
            "cloud" => CLOUD_CONFIG,
            "runtime" => RUNTIME_CONFIG,
            _ => Nothing,
        }
    }
}

/// A manifest.
pub(super) const MANIFEST: Allowed = Members(&[
    ("name", Value),
    ("releases", RELEASE),
    ("stemcells", STEMCELL),
    ("update", UPDATE),
    ("instance_groups", INSTANCE_GROUP),
    ("variables", VARIABLE),
]);

const RELEASE: Allowed = Members(&[("name", Value), ("version", Value), ("url", Address)]);

const STEMCELL: Allowed = Members(&[
    ("alias", Value),
    ("name", Value),
    ("os", Value),
    ("version", Value),
    ("url", Address),
]);

const UPDATE: Allowed = Members(&[
    ("canaries", Value),
    ("max_in_flight", Value),
    ("canary_watch_time", Value),
    ("update_watch_time", Value),
    ("serial", Value),
    ("vm_strategy", Value),
    ("initial_deploy_az_update_strategy", Value),
]);

const INSTANCE_GROUP: Allowed = Members(&[
    ("name", Value),
    ("instances", Value),
    ("azs", Value),
    ("lifecycle", Value),
    ("stemcell", Value),
    ("vm_type", Value),
    ("vm_extensions", Value),
    ("persistent_disk", Value),
    ("persistent_disk_type", Value),
    ("persistent_disk_pool", Value),
    ("networks", Members(&[("name", Value)])),
    ("jobs", Members(&[("name", Value), ("release", Value)])),
    ("update", UPDATE),
]);

const VARIABLE: Allowed = Members(&[("name", Value), ("type", Value)]);

const CLOUD_CONFIG: Allowed = Members(&[
    ("azs", Members(&[("name", Value), ("cpi", Value)])),
    ("vm_types", Members(&[("name", Value)])),
    ("vm_extensions", Members(&[("name", Value)])),
    (
        "disk_types",
        Members(&[("name", Value), ("disk_size", Value)]),
    ),
    (
        "networks",
        Members(&[("name", Value), ("type", Value), ("subnets", SUBNET)]),
    ),
    (
        "compilation",
        Members(&[
            ("workers", Value),
            ("reuse_compilation_vms", Value),
            ("az", Value),
            ("vm_type", Value),
            ("network", Value),
        ]),
    ),
]);

const SUBNET: Allowed = Members(&[
    ("range", Value),
    ("gateway", Value),
    ("dns", Value),
    ("static", Value),
    ("reserved", Value),
    ("az", Value),
    ("azs", Value),
]);

const RUNTIME_CONFIG: Allowed = Members(&[("releases", RELEASE), ("variables", VARIABLE)]);
