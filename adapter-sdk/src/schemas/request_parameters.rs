//! The known parts of a request's body. The SDK keeps the body unchanged and parses it only on request, so it does not
//! decode into this type.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::protocol::{BindTarget, MaintenanceInfo, PlatformContext, PreviousValues};

/// The body of the platform's request. An update has `previous_values`, a binding `bind_resource` and `app_guid`, an
/// unbinding `plan_id` and `service_id` only. An upgrade has the `context` alone. The body is empty when the broker
/// checks for pending changes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described only")]
pub(super) struct RequestBody {
    /// The catalog id of the service offering.
    service_id: Option<String>,
    /// The catalog id of the plan.
    plan_id: Option<String>,
    /// The organisation that an instance is created in.
    organization_guid: Option<String>,
    /// The space that an instance is created in.
    space_guid: Option<String>,
    /// The state before an update.
    previous_values: Option<PreviousValues>,
    /// The application to bind; may be empty.
    app_guid: Option<String>,
    /// The target of a binding.
    bind_resource: Option<BindTarget>,
    /// Where the request comes from.
    context: Option<PlatformContext>,
    /// The user's parameters: `{}` without any. They are never sent again with a later request.
    parameters: Option<Map<String, Value>>,
    /// The version of the plan that the platform asks for.
    maintenance_info: Option<MaintenanceInfo>,
}
