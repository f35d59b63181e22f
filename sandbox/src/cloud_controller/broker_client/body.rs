//! Request bodies, with their members in the order in which a Cloud Controller writes them.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::cloud_controller::model::MaintenanceInfo;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ProvisionBody {
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
    pub(crate) organization_guid: String,
    pub(crate) space_guid: String,
    pub(crate) context: Context,
    /// Left out when the user gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<Map<String, Value>>,
    /// As the plan has it, the description included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct UpdateBody {
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
    pub(crate) previous_values: PreviousValues,
    pub(crate) context: Context,
    /// Always there; empty when the user gave none.
    pub(crate) parameters: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct PreviousValues {
    pub(crate) plan_id: String,
    pub(crate) service_id: String,
    pub(crate) organization_id: String,
    pub(crate) space_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) maintenance_info: Option<MaintenanceInfo>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct BindBody {
    pub(crate) service_id: String,
    pub(crate) plan_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) app_guid: Option<String>,
    pub(crate) bind_resource: Map<String, Value>,
    pub(crate) context: Context,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parameters: Option<Map<String, Value>>,
}

/// Where an instance lives, as the platform sees it. Names and annotations may change at any time.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Context {
    pub(crate) platform: &'static str,
    pub(crate) organization_guid: String,
    pub(crate) space_guid: String,
    pub(crate) organization_name: String,
    pub(crate) space_name: String,
    pub(crate) organization_annotations: Map<String, Value>,
    pub(crate) space_annotations: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instance_annotations: Option<Map<String, Value>>,
}
