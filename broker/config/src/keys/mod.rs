//! The keys of `broker.yml` and of the errands' files, declared once: [`Section`](super::section::Section) reads only
//! declared keys and warns about others, and the JSON Schema for editors is generated from them.
//!
//! | file | declares |
//! | --- | --- |
//! | `key` | the form of a declaration |
//! | `broker` | the section `broker` |
//! | `upstreams` | `bosh`, `cf`, `service_instances_api`, `credhub`, `bosh_credhub` |
//! | `software` | `service_adapter`, `service_deployment` |
//! | `catalog`, `plan` | `service_catalog` |
//! | `errands` | the configuration files of the errands |
//!
//! The keys are those of `spec/contracts/config-and-release.md` §1.2 and our own (`docs/contributing/architecture.md`).

mod broker;
mod catalog;
pub(super) mod errands;
mod key;
mod plan;
mod software;
mod upstreams;

pub(super) use key::{DefaultValue, FREE, Key, KeyStatus, Keys, Kind, Origin, Presence};

/// The complete file.
pub(super) const ROOT: Keys = Keys::only(&[
    Key::section(
        "broker",
        &broker::BROKER,
        "How the broker listens, stops and treats its requests.",
    )
    .required(),
    Key::section("bosh", &upstreams::BOSH, "The BOSH Director.").required(),
    Key::section(
        "cf",
        &upstreams::CLOUD_FOUNDRY,
        "The Cloud Controller and its UAA. May be left out where `broker.disable_cf_startup_checks` or \
         `service_instances_api` is set.",
    ),
    Key::section(
        "service_instances_api",
        &upstreams::SERVICE_INSTANCES_API,
        "The API that lists the service instances instead of a Cloud Controller.",
    ),
    Key::section(
        "credhub",
        &upstreams::RUNTIME_CREDHUB,
        "The runtime CredHub, which stores the credentials of bindings. Enabled when one of the keys has a value.",
    ),
    Key::section(
        "bosh_credhub",
        &upstreams::BOSH_CREDHUB,
        "The Director's CredHub, used with `broker.enable_secure_manifests`.",
    ),
    Key::section(
        "service_adapter",
        &software::ADAPTER,
        "The executable that knows the service.",
    )
    .required(),
    Key::section(
        "service_deployment",
        &software::DEPLOYMENT,
        "The releases and stemcells that the adapter builds manifests from.",
    )
    .required(),
    Key::section(
        "service_catalog",
        &catalog::CATALOG,
        "What is offered in the marketplace.",
    )
    .required(),
]);

#[cfg(test)]
mod tests;
