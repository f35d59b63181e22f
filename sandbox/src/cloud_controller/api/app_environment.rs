//! The environment of an app, as `cf env` shows it (cf CLI, `command/v7/env_command.go`; `cloud_controller_ng`,
//! `show_env` in `app/controllers/v3/apps_controller.rb`, `app/presenters/v3/app_env_presenter.rb`,
//! `app/presenters/system_environment/`, `lib/vcap/vars_builder.rb`). Credentials are as brokers gave them: what an app
//! gets as a reference to CredHub it resolves itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Answer, call::Call, ok, service_instances::ServiceInstance};
use crate::cloud_controller::{
    CloudController,
    model::{App, Binding, BindingKey, Tables},
    rejection::Rejection,
};

/// The file descriptors that an app may have open (`instance_file_descriptor_limit`).
const FILE_DESCRIPTORS: u32 = 16384;
const VOLUME_MEMBERS: [&str; 3] = ["container_dir", "device_type", "mode"];

pub(super) async fn environment(call: Call) -> Answer {
    call.read(|view| {
        let tables = view.tables;
        tables.must_be_enabled("env_var_visibility")?;
        let app = view.visible::<App>(call.guid())?;
        if !view.permissions.sees_environment(&app.space) {
            return Err(Rejection::not_authorized());
        }
        if !call.caller.is_admin() {
            tables.must_be_enabled("space_developer_env_var_visibility")?;
        }
        let system = if view.permissions.sees_secrets(&app.space) {
            json!({"VCAP_SERVICES": services(tables, app)})
        } else {
            json!({"redacted_message": "[PRIVATE DATA HIDDEN]"})
        };
        let application = application(view.controller, tables, app);
        Ok(ok(&json!({
            "environment_variables": {},
            "staging_env_json": {},
            "running_env_json": {},
            "system_env_json": system,
            "application_env_json": {"VCAP_APPLICATION": application},
        })))
    })
}

/// The instances that an app is bound to, by offering; of several bindings to one instance the latest.
fn services(tables: &Tables, app: &App) -> BTreeMap<String, Vec<Value>> {
    let mut latest = BTreeMap::new();
    let mut bindings: Vec<_> = tables
        .bindings
        .with(BindingKey::App(app.guid.clone()))
        .collect();
    bindings.sort_by_key(|binding| (binding.created_at, binding.guid.clone()));
    for binding in bindings {
        // A binding that is still being made has no details.
        if let Some(details) = &binding.details {
            latest.insert(binding.instance.clone(), (binding, details));
        }
    }
    let mut bindings: Vec<_> = latest.into_values().collect();
    bindings.sort_by_key(|(binding, _)| (binding.created_at, binding.guid.clone()));
    let mut services: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (binding, details) in bindings {
        if let Some((label, service)) = service(tables, binding, details) {
            services.entry(label).or_default().push(service);
        }
    }
    services
}

fn service(
    tables: &Tables,
    binding: &Binding,
    details: &Map<String, Value>,
) -> Option<(String, Value)> {
    let (label, instance, mut service) =
        match ServiceInstance::of(tables, binding.instance.as_str())? {
            ServiceInstance::UserProvided(instance) => {
                let service = json!({"tags": instance.tags});
                ("user-provided".to_owned(), &instance.name, service)
            }
            ServiceInstance::Managed(instance) => {
                let plan = tables.plan_of(instance)?;
                let offering = tables.offering_of(plan)?;
                let mut tags = offering.tags.clone();
                for tag in &instance.tags {
                    if !tags.contains(tag) {
                        tags.push(tag.clone());
                    }
                }
                let service = json!({"provider": null, "plan": plan.name, "tags": tags});
                (offering.name.clone(), &instance.name, service)
            }
        };
    let detail = |name: &str| details.get(name).cloned();
    service["label"] = json!(label);
    service["name"] = json!(binding.name.as_ref().unwrap_or(instance));
    service["instance_guid"] = json!(binding.instance);
    service["instance_name"] = json!(instance);
    service["binding_guid"] = json!(binding.guid);
    service["binding_name"] = json!(binding.name);
    service["credentials"] = detail("credentials").unwrap_or_else(|| json!({}));
    service["syslog_drain_url"] = detail("syslog_drain_url").unwrap_or_default();
    service["volume_mounts"] = volumes(details.get("volume_mounts"));
    Some((label, service))
}

fn volumes(mounts: Option<&Value>) -> Value {
    let mounts = mounts.and_then(Value::as_array).into_iter().flatten();
    let shown = mounts.map(|mount| {
        let members = VOLUME_MEMBERS.iter();
        let members =
            members.filter_map(|name| Some(((*name).to_owned(), mount.get(name)?.clone())));
        Value::Object(members.collect())
    });
    shown.collect()
}

/// The description that an app gets of itself. No route leads to it.
fn application(controller: &CloudController, tables: &Tables, app: &App) -> Value {
    let space = tables.spaces.get(&app.space);
    let organization = tables.organization_of(&app.space);
    json!({
        "cf_api": controller.0.settings.url,
        "limits": {"fds": FILE_DESCRIPTORS},
        "application_name": app.name,
        "application_uris": [],
        "name": app.name,
        "space_name": space.map(|space| &space.name),
        "space_id": app.space,
        "organization_id": organization.map(|row| &row.guid),
        "organization_name": organization.map(|row| &row.name),
        "uris": [],
        "users": null,
        "application_id": app.guid,
    })
}
