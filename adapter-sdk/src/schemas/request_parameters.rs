//! What is known of the body of a request. The SDK carries the body to the letter and looks at it only
//! when it is asked, so this is nothing that it decodes into.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::protocol::{BindTarget, MaintenanceInfo, PlatformContext, PreviousValues};

/// The body of the platform's request. An update has `previous_values`, a binding `bind_resource` and
/// `app_guid`, its end `plan_id` and `service_id` only. An upgrade has the `context` alone, and where the
/// broker looks for pending changes there is nothing at all.
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
    /// What an update starts from.
    previous_values: Option<PreviousValues>,
    /// The application to bind; may be empty.
    app_guid: Option<String>,
    /// What a binding is for.
    bind_resource: Option<BindTarget>,
    /// Where the request comes from.
    context: Option<PlatformContext>,
    /// What the user chose: `{}` if that is nothing. It is never sent again with a later request.
    parameters: Option<Map<String, Value>>,
    /// The version of the plan that the platform asks for.
    maintenance_info: Option<MaintenanceInfo>,
}
