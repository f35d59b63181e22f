//! An error of each kind, in the order in which they are found.

use serde_json::{Value, json};

use super::{Wrong, catalog, deployment, plan, without_platform, wrong};

/// Everything is wrong when all of them are.
pub(super) const IN_ORDER: &[Wrong] = &[
    wrong(
        |it| {
            it["secure_binding_credentials"] =
                json!({ "authentication": { "uaa": { "ca_cert": "PEM" } } });
        },
        "Invalid secure_binding_credentials config - must specify client_id",
    ),
    wrong(
        |it| catalog(it)["maintenance_info"] = json!({ "version": "1.2" }),
        "maintenance_info.version must respect semver",
    ),
    wrong(
        |it| catalog(it)["service_name"] = Value::Null,
        "Invalid service_catalog config - must specify service_name",
    ),
    wrong(
        |it| it["bosh"]["authentication"] = Value::Null,
        "Invalid bosh config - must specify authentication",
    ),
    wrong(
        |it| deployment(it)["releases"] = Value::Null,
        "Invalid service_deployment config - must specify releases",
    ),
    wrong(
        |it| deployment(it)["stemcells"] = json!([]),
        "Invalid service_deployment config - at least one stemcell must be specified",
    ),
    wrong(
        |it| {
            without_platform(it);
            catalog(it)["global_quotas"] = json!({ "service_instance_limit": 3 });
        },
        "Invalid quota configuration - global service instance limit requires CF to be configured",
    ),
    wrong(
        |it| plan(it)["description"] = json!(""),
        "Invalid plan config - must specify description",
    ),
    wrong(
        |it| plan(it)["maintenance_info"] = json!({ "public": { "a": { "b": "c" } } }),
        "the values for maintenance_info.public cannot be nested",
    ),
    wrong(
        |it| plan(it)["instance_groups"][0]["azs"] = json!([]),
        "Invalid instance group config - must specify azs",
    ),
    wrong(
        |it| plan(it)["cf_service_access"] = json!("sometimes"),
        "Unsupported value 'sometimes' for cf_service_access. …",
    ),
    wrong(
        |it| {
            it["use_stdin"] = json!(false);
            plan(it)["binding_with_dns"] =
                json!([{ "name": "a", "link_provider": "b", "instance_group": "c" }]);
        },
        "Plan single configures binding_with_dns, but use_stdin is disabled…",
    ),
    wrong(
        |it| plan(it)["lifecycle_errands"] = json!({ "post_deploy": { "name": "a" } }),
        "Plan property lifecycle_errands.post_deploy must be an array.",
    ),
    wrong(
        |it| {
            without_platform(it);
            plan(it)["quotas"] = json!({ "service_instance_limit": 3 });
        },
        "Invalid quota configuration - plan service instance limit requires CF to be configured",
    ),
    wrong(
        |it| {
            it["cf"]["uaa"]["authentication"]["user_credentials"] =
                json!({ "username": "a", "password": "b" });
        },
        "Invalid CF authentication config - must specify either client or user credentials",
    ),
    wrong(
        |it| {
            it["use_stdin"] = json!(false);
            it["enable_secure_manifests"] = json!(true);
        },
        "enable_secure_manifests requires use_stdin to be enabled",
    ),
    wrong(
        |it| it["username"] = Value::Null,
        "Can't find property '[\"username\"]'",
    ),
    wrong(
        |it| it["tls"] = json!({ "certificate": "PEM" }),
        "Invalid TLS config - missing tls.private_key",
    ),
    wrong(
        |it| it["cf"]["uaa"]["client_definition"] = json!({ "scope": "openid" }),
        "Invalid client_definition config - valid properties are: \
         scopes, authorities, authorized_grant_types, resource_ids, allowpublic, name",
    ),
    wrong(
        |it| it["secure_binding_credentials"]["enabled"] = json!(true),
        "secure_binding_credentials is enabled, but no CredHub link was provided",
    ),
];
