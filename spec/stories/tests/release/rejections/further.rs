//! The other errors of each kind.

use serde_json::{Value, json};

use super::{Wrong, catalog, deployment, plan, secure_manifests, without_platform, wrong};

const FLOATING: &str = "broker.service_deployment needs exact release and stemcell versions…";

/// The others of each kind.
pub(super) const FURTHER: &[Wrong] = &[
    wrong(
        |it| {
            it["secure_binding_credentials"] =
                json!({ "authentication": { "uaa": { "client_id": "a" } } });
        },
        "Invalid secure_binding_credentials config - must specify client_secret",
    ),
    wrong(
        |it| {
            catalog(it)["maintenance_info"] =
                json!({ "version": "1.2.3", "private": { "a": ["b"] } });
        },
        "the values for maintenance_info.private cannot be nested",
    ),
    wrong(
        |it| catalog(it)["maintenance_info"] = json!({ "version": "01.2.3" }),
        "maintenance_info.version must respect semver",
    ),
    wrong(
        |it| catalog(it)["id"] = json!(""),
        "Invalid service_catalog config - must specify id",
    ),
    wrong(
        |it| catalog(it)["service_description"] = Value::Null,
        "Invalid service_catalog config - must specify service_description",
    ),
    wrong(
        |it| catalog(it)["bindable"] = json!(""),
        "Invalid service_catalog config - must specify bindable",
    ),
    wrong(
        |it| catalog(it)["plan_updatable"] = Value::Null,
        "Invalid service_catalog config - must specify plan_updatable",
    ),
    wrong(
        |it| catalog(it)["plans"] = json!([null]),
        "Invalid service_catalog config - must specify plans",
    ),
    wrong(
        |it| it["bosh"]["authentication"]["basic"] = json!({ "username": "a" }),
        "Invalid bosh config - must only specify one type of authentication",
    ),
    wrong(
        |it| deployment(it)["releases"] = json!([]),
        "Invalid service_deployment config - must specify at least one release",
    ),
    wrong(
        |it| deployment(it)["releases"][0]["name"] = Value::Null,
        "Invalid service_deployment.releases config - must specify name",
    ),
    wrong(
        |it| deployment(it)["releases"][0]["version"] = json!(""),
        "Invalid service_deployment.releases config - must specify version",
    ),
    wrong(
        |it| deployment(it)["releases"][0]["jobs"] = json!([]),
        "Invalid service_deployment.releases config - must specify jobs",
    ),
    wrong(
        |it| deployment(it)["releases"][0]["version"] = json!("latest"),
        FLOATING,
    ),
    wrong(
        |it| deployment(it)["releases"][0]["version"] = json!("3112.latest"),
        FLOATING,
    ),
    wrong(
        |it| deployment(it)["stemcells"][0]["version"] = json!("1.latest"),
        FLOATING,
    ),
    wrong(
        |it| deployment(it)["stemcell"] = json!({ "os": "ubuntu-jammy", "version": "1.860" }),
        "You cannot configure both \"stemcell\" and \"stemcells\" in broker.service_deployment.",
    ),
    wrong(
        |it| deployment(it)["stemcells"][0]["os"] = Value::Null,
        "Invalid service_deployment stemcell config - must specify os",
    ),
    wrong(
        |it| {
            *deployment(it) = json!({
                "releases": [{ "name": "lumen", "version": "7.4.2", "jobs": ["lumen-server"] }],
                "stemcell": { "os": "ubuntu-jammy" },
            });
        },
        "Invalid service_deployment stemcell config - must specify version",
    ),
    wrong(
        |it| {
            without_platform(it);
            catalog(it)["global_quotas"] = json!({ "resources": { "ips": { "limit": 3 } } });
        },
        "Invalid quota configuration - global resource limits require CF to be configured",
    ),
    wrong(
        |it| {
            without_platform(it);
            catalog(it)["global_quotas"] = json!({ "resource_limits": { "ips": 3 } });
        },
        "Invalid quota configuration - global resource limits require CF to be configured",
    ),
    wrong(
        |it| plan(it)["name"] = Value::Null,
        "Invalid plan config - must specify name",
    ),
    wrong(
        |it| plan(it)["plan_id"] = Value::Null,
        "Invalid plan config - must specify plan_id",
    ),
    wrong(
        |it| plan(it)["instance_groups"] = json!([]),
        "Invalid plan config - must specify instance_groups",
    ),
    wrong(
        |it| plan(it)["maintenance_info"] = json!({ "version": 1.5 }),
        "maintenance_info.version must respect semver",
    ),
    wrong(
        |it| plan(it)["instance_groups"][0]["name"] = Value::Null,
        "Invalid instance group config - must specify name",
    ),
    wrong(
        |it| plan(it)["instance_groups"][0]["vm_type"] = Value::Null,
        "Invalid instance group config - must specify vm_type",
    ),
    wrong(
        |it| plan(it)["instance_groups"][0]["instances"] = Value::Null,
        "Invalid instance group config - must specify instances",
    ),
    wrong(
        |it| plan(it)["instance_groups"][0]["networks"] = json!([]),
        "Invalid instance group config - must specify networks",
    ),
    wrong(
        |it| plan(it)["cf_service_access"] = Value::Null,
        "Unsupported value '' for cf_service_access. …",
    ),
    wrong(
        |it| plan(it)["cf_service_access"] = json!("ENABLE"),
        "Unsupported value 'ENABLE' for cf_service_access. …",
    ),
    wrong(
        |it| plan(it)["binding_with_dns"] = json!([{ "name": "a", "instance_group": "c" }]),
        "Invalid binding with dns config - must specify link_provider",
    ),
    wrong(
        |it| {
            plan(it)["binding_with_dns"] = json!([{ "name": "a", "link_provider": "b", "instance_group": "c", "properties": { "zone": "z1" } }]);
        },
        "Invalid binding with dns config - `zone` is no property…",
    ),
    wrong(
        |it| {
            plan(it)["binding_with_dns"] = json!([{ "name": "a", "link_provider": "b", "instance_group": "c", "properties": { "azs": "z1" } }]);
        },
        "Invalid binding with dns config - azs must be a list…",
    ),
    wrong(
        |it| {
            plan(it)["binding_with_dns"] = json!([{ "name": "a", "link_provider": "b", "instance_group": "c", "properties": { "status": "ill" } }]);
        },
        "Invalid binding with dns config - status is `ill`…",
    ),
    wrong(
        |it| plan(it)["lifecycle_errands"] = json!({ "pre_delete": "a" }),
        "Plan property lifecycle_errands.pre_delete must be an array.",
    ),
    wrong(
        |it| {
            plan(it)["lifecycle_errands"] =
                json!({ "pre_delete": [{ "name": "a", "disabled": "never" }] });
        },
        "Plan property lifecycle_errands.pre_delete.disabled must be boolean value.",
    ),
    wrong(
        |it| {
            without_platform(it);
            plan(it)["quotas"] = json!({ "resources": { "ips": { "limit": 3, "cost": 1 } } });
        },
        "Invalid quota configuration - plan resource limit requires CF to be configured",
    ),
    wrong(
        |it| {
            it["cf"]["authentication"] = json!({
                "url": "https://uaa.sys.example.org",
                "client_credentials": { "client_id": "a", "secret": "b" },
                "user_credentials": { "username": "a", "password": "b" },
            });
        },
        "Invalid CF authentication config - must specify either client or user credentials",
    ),
    wrong(
        |it| secure_manifests(it, Value::Null),
        "enable_secure_manifests requires bosh_credhub_api to be configured, but bosh_credhub_api error: not configured",
    ),
    wrong(
        |it| secure_manifests(it, json!({ "root_ca_cert": "PEM" })),
        "enable_secure_manifests requires bosh_credhub_api to be configured, but bosh_credhub_api error: missing url",
    ),
    wrong(
        |it| secure_manifests(it, json!({ "url": "https://10.0.0.6:8844" })),
        "enable_secure_manifests requires bosh_credhub_api to be configured, but bosh_credhub_api error: \
         missing authentication configuration",
    ),
    wrong(
        |it| {
            let client = json!({ "client_credentials": { "client_id": "a" } });
            secure_manifests(
                it,
                json!({ "url": "https://10.0.0.6:8844", "authentication": { "uaa": client } }),
            );
        },
        "enable_secure_manifests requires bosh_credhub_api to be configured, but bosh_credhub_api error: \
         missing authentication.uaa.client_credentials.client_secret",
    ),
    wrong(
        |it| {
            let client = json!({ "client_credentials": { "client_secret": "a" } });
            secure_manifests(
                it,
                json!({ "url": "https://10.0.0.6:8844", "authentication": { "uaa": client } }),
            );
        },
        "enable_secure_manifests requires bosh_credhub_api to be configured, but bosh_credhub_api error: \
         missing authentication.uaa.client_credentials.client_id",
    ),
    wrong(
        |it| it["password"] = Value::Null,
        "Can't find property '[\"password\"]'",
    ),
    wrong(
        |it| it["tls"] = json!({ "private_key": "PEM" }),
        "Invalid TLS config - missing tls.certificate",
    ),
    wrong(
        |it| {
            it["cf"]["uaa"] = json!({
                "url": "https://uaa.sys.example.org",
                "authentication": { "user_credentials": { "username": "a", "password": "b" } },
                "client_definition": { "scopes": "openid" },
            });
        },
        "Invalid uaa config: client_definition is set, but uaa client_credentials is not",
    ),
    wrong(
        |it| it["tls"] = json!({ "certificate": "PEM", "private_key": "" }),
        "Invalid TLS config - missing tls.private_key",
    ),
    wrong(
        |it| catalog(it)["plans"] = Value::Null,
        "Invalid service_catalog config - must specify plans",
    ),
    wrong(
        |it| plan(it)["instance_groups"] = Value::Null,
        "Invalid plan config - must specify instance_groups",
    ),
];
