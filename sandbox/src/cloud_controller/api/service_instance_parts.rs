//! The subresources of a service instance: parameters, permissions, credentials.

use actix_web::web::{Data, Path, ServiceConfig, get, resource};
use serde_json::{Value, json};

use super::{
    Answer,
    caller::{Caller, DashboardCaller},
    ok,
    service_instances::{ServiceInstance, found, missing},
};
use crate::cloud_controller::{
    CloudController,
    model::{InstanceGuid, OperationKind, OperationState},
    rejection::{ErrorKind, Rejection},
};

pub(super) fn routes(app: &mut ServiceConfig) {
    let one = "/v3/service_instances/{guid}";
    app.service(resource(format!("{one}/parameters")).route(get().to(parameters)))
        .service(resource(format!("{one}/permissions")).route(get().to(permissions)))
        .service(resource(format!("{one}/credentials")).route(get().to(credentials)));
}

/// Asks the broker, where the offering lets itself be asked.
async fn parameters(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    let target = controller.0.state.read(|tables| {
        let instance = found(tables, &caller, &guid)?;
        let seen = caller.sees_space(tables, instance.space());
        if !seen {
            return Err(Rejection::not_authorized());
        }
        let ServiceInstance::Managed(instance) = instance else {
            return Ok(None);
        };
        if instance
            .last_operation
            .is(OperationKind::Create, OperationState::Failed)
        {
            return Err(missing());
        }
        Ok(tables.fetchable(instance))
    })?;
    let Some(target) = target else {
        return Err(ErrorKind::ParametersNotSupported
            .with("This service does not support fetching service instance parameters."));
    };
    let body = controller.fetched(&target, &caller.identity).await?;
    Ok(ok(body.get("parameters").unwrap_or(&json!({}))))
}

/// The request of a dashboard: whether its user may see and manage the instance. Every user may send it for every
/// instance.
async fn permissions(
    controller: Data<CloudController>,
    caller: DashboardCaller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        let instance = ServiceInstance::get(tables, &InstanceGuid::given(&guid));
        let instance = instance.ok_or_else(missing)?;
        let permissions = caller.0.permissions(tables);
        Ok(ok(&json!({
            "manage": permissions.must_write(tables, instance.space()).is_ok(),
            "read": found(tables, &caller.0, &guid).is_ok(),
        })))
    })
}

/// The credentials of a user-provided instance.
async fn credentials(
    controller: Data<CloudController>,
    caller: Caller,
    guid: Path<String>,
) -> Answer {
    controller.0.state.read(|tables| {
        let ServiceInstance::UserProvided(instance) = found(tables, &caller, &guid)? else {
            return Err(missing());
        };
        if !caller.permissions(tables).sees_secrets(&instance.space) {
            return Err(Rejection::not_authorized());
        }
        Ok(ok(&Value::Object(instance.credentials.clone())))
    })
}
