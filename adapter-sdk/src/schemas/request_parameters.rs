//! What is known of the body of a request. The SDK carries the body to the letter and looks at it only
//! when it is asked, so this is nothing that it decodes into.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Map, Value};

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
    bind_resource: Option<BindResource>,
    /// Where the request comes from.
    context: Option<Context>,
    /// What the user chose: `{}` if that is nothing. It is never sent again with a later request.
    parameters: Option<Map<String, Value>>,
    /// The version of the plan that the platform asks for.
    maintenance_info: Option<MaintenanceInfo>,
}

/// What an update starts from.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described only")]
struct PreviousValues {
    /// The catalog id of the service offering.
    service_id: Option<String>,
    /// The catalog id of the plan before.
    plan_id: Option<String>,
    /// The organisation.
    organization_id: Option<String>,
    /// The space.
    space_id: Option<String>,
    /// The version of the plan before.
    maintenance_info: Option<MaintenanceInfo>,
}

/// What a binding is for.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described only")]
struct BindResource {
    /// The application to bind.
    app_guid: Option<String>,
    /// The space of the application.
    space_guid: Option<String>,
    /// The route to bind.
    route: Option<String>,
    /// The client to which the platform's CredHub gives the credentials.
    credential_client_id: Option<String>,
    /// Whether a backup agent asks: it is answered with `backup_agent_url` only.
    backup_agent: Option<bool>,
}

/// Where a request comes from. Cloud Foundry gives GUIDs, names and annotations of organisation, space and
/// instance.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described only")]
struct Context {
    /// Name of the platform, such as `cloudfoundry` or `kubernetes`.
    platform: Option<String>,
}

/// The version of what a plan deploys.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "described only")]
struct MaintenanceInfo {
    /// A semantic version.
    version: Option<String>,
    /// What a platform user reads about it.
    description: Option<String>,
    /// Values of which a change calls for an upgrade.
    public: Option<BTreeMap<String, String>>,
    /// A hash of those that nobody sees.
    private: Option<String>,
}
