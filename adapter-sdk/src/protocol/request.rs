//! What a request says besides the parameters of its user, as types
//! (`spec/contracts/adapter-protocol.md`, "Request parameters"). What is absent, or of another type
//! than it should be, is not there.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{RequestParameters, UnknownKeys};

impl RequestParameters {
    /// The catalog id of the service offering.
    pub fn service_id(&self) -> Option<&str> {
        text(self.fields(), "service_id")
    }

    /// The catalog id of the plan, except on upgrade and where the broker looks for pending changes.
    pub fn plan_id(&self) -> Option<&str> {
        text(self.fields(), "plan_id")
    }

    /// The organisation that an instance is created in, from the body or its context.
    pub fn organization_guid(&self) -> Option<&str> {
        text(self.fields(), "organization_guid").or_else(|| self.context_text("organization_guid"))
    }

    /// The space that an instance is created in, from the body or its context.
    pub fn space_guid(&self) -> Option<&str> {
        text(self.fields(), "space_guid").or_else(|| self.context_text("space_guid"))
    }

    /// The version of the plan that the platform asks for.
    pub fn maintenance_info(&self) -> Option<MaintenanceInfo> {
        MaintenanceInfo::of(self.fields())
    }

    /// What an update starts from.
    pub fn previous_values(&self) -> Option<PreviousValues> {
        let fields = self.fields().get("previous_values")?.as_object()?;
        Some(PreviousValues {
            service_id: owned(fields, "service_id"),
            plan_id: owned(fields, "plan_id"),
            organization_id: owned(fields, "organization_id"),
            space_id: owned(fields, "space_id"),
            maintenance_info: MaintenanceInfo::of(fields),
        })
    }

    /// Who asks, and where: the context of the request.
    pub fn platform_context(&self) -> PlatformContext {
        PlatformContext::of(self.context())
    }

    /// What a binding is for: the bind resource of the request.
    pub fn bind_target(&self) -> BindTarget {
        BindTarget::of(self.bind_resource())
    }

    fn context_text(&self, key: &str) -> Option<&str> {
        text(self.fields().get("context")?.as_object()?, key)
    }
}

/// Where a request comes from. On Cloud Foundry all names and GUIDs are there; other platforms say
/// what they have in `other`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PlatformContext {
    /// Name of the platform, such as `cloudfoundry` or `kubernetes`.
    pub platform: Option<String>,
    /// GUID of the organisation.
    pub organization_guid: Option<String>,
    /// Name of the organisation.
    pub organization_name: Option<String>,
    /// Annotations of the organisation.
    pub organization_annotations: Map<String, Value>,
    /// GUID of the space.
    pub space_guid: Option<String>,
    /// Name of the space.
    pub space_name: Option<String>,
    /// Annotations of the space.
    pub space_annotations: Map<String, Value>,
    /// GUID of the service instance.
    pub instance_guid: Option<String>,
    /// Name of the service instance, as its user chose it.
    pub instance_name: Option<String>,
    /// Annotations of the service instance.
    pub instance_annotations: Map<String, Value>,
    /// Everything else.
    pub other: UnknownKeys,
}

impl PlatformContext {
    fn of(mut context: Map<String, Value>) -> Self {
        let mut take = |key| match context.shift_remove(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        };
        let platform = take("platform");
        let organization_guid = take("organization_guid");
        let organization_name = take("organization_name");
        let space_guid = take("space_guid");
        let space_name = take("space_name");
        let instance_guid = take("instance_guid");
        let instance_name = take("instance_name");
        let mut take = |key| match context.shift_remove(key) {
            Some(Value::Object(annotations)) => annotations,
            _ => Map::new(),
        };
        Self {
            platform,
            organization_guid,
            organization_name,
            organization_annotations: take("organization_annotations"),
            space_guid,
            space_name,
            space_annotations: take("space_annotations"),
            instance_guid,
            instance_name,
            instance_annotations: take("instance_annotations"),
            other: context.into(),
        }
    }
}

/// What a binding is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BindTarget {
    /// The application to bind.
    pub app_guid: Option<String>,
    /// The space of the application.
    pub space_guid: Option<String>,
    /// The route to bind.
    pub route: Option<String>,
    /// The client to which the platform's CredHub gives the credentials.
    pub credential_client_id: Option<String>,
    /// Whether a backup agent asks: it is answered with its address only
    /// ([`Binding::backup_agent`](super::Binding::backup_agent)).
    pub is_backup_agent: bool,
    /// Everything else.
    pub other: UnknownKeys,
}

impl BindTarget {
    fn of(mut resource: Map<String, Value>) -> Self {
        let is_backup_agent = resource.shift_remove("backup_agent") == Some(Value::Bool(true));
        let mut take = |key| match resource.shift_remove(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        };
        Self {
            app_guid: take("app_guid"),
            space_guid: take("space_guid"),
            route: take("route"),
            credential_client_id: take("credential_client_id"),
            is_backup_agent,
            other: resource.into(),
        }
    }
}

/// What an update starts from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PreviousValues {
    /// The catalog id of the service offering.
    pub service_id: Option<String>,
    /// The catalog id of the plan before.
    pub plan_id: Option<String>,
    /// The organisation.
    pub organization_id: Option<String>,
    /// The space.
    pub space_id: Option<String>,
    /// The version of the plan before.
    pub maintenance_info: Option<MaintenanceInfo>,
}

/// The version of what a plan deploys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MaintenanceInfo {
    /// A semantic version.
    pub version: Option<String>,
    /// What a platform user reads about it.
    pub description: Option<String>,
    /// Values of which a change calls for an upgrade.
    pub public: BTreeMap<String, String>,
    /// A hash of those that nobody sees.
    pub private: Option<String>,
}

impl MaintenanceInfo {
    fn of(fields: &Map<String, Value>) -> Option<Self> {
        let info = fields.get("maintenance_info")?.as_object()?;
        let public = info.get("public").and_then(Value::as_object);
        let public = public.into_iter().flatten();
        Some(Self {
            version: owned(info, "version"),
            description: owned(info, "description"),
            public: public
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            private: owned(info, "private"),
        })
    }
}

fn text<'f>(fields: &'f Map<String, Value>, key: &str) -> Option<&'f str> {
    fields.get(key)?.as_str().filter(|text| !text.is_empty())
}

fn owned(fields: &Map<String, Value>, key: &str) -> Option<String> {
    text(fields, key).map(str::to_owned)
}
