//! User-provided service instances: made, changed and deleted at once, for no broker knows of them.

use actix_web::HttpResponse;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    caller::Caller,
    instance_rules::{checked_tags, must_be_free, ordered_space},
    message::{Relation, checked_metadata, checked_name, message},
    ok,
    present::created,
    service_instances::missing,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        InstanceGuid, Metadata, MetadataChange, OperationKind, OperationState, Tables,
        UserProvidedInstance,
    },
    rejection::Rejection,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Create {
    #[serde(rename = "type")]
    _kind: String,
    name: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    credentials: Map<String, Value>,
    syslog_drain_url: Option<String>,
    route_service_url: Option<String>,
    relationships: Relationships,
    #[serde(default)]
    metadata: MetadataChange,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Relationships {
    space: Relation,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    name: Option<String>,
    tags: Option<Vec<String>>,
    credentials: Option<Map<String, Value>>,
    syslog_drain_url: Option<String>,
    route_service_url: Option<String>,
    #[serde(default)]
    metadata: MetadataChange,
}

impl CloudController {
    pub(super) fn create_user_provided(
        &self,
        caller: &Caller,
        body: &[u8],
    ) -> Result<HttpResponse, Rejection> {
        let wanted: Create = message(body)?;
        let change = checked_metadata(wanted.metadata)?;
        let name = checked_name(&wanted.name)?;
        let tags = checked_tags(wanted.tags)?;
        let route_service_url = wanted.route_service_url.map(checked_route_service_url);
        let route_service_url = route_service_url.transpose()?;
        self.0.state.change(|tables| {
            let space = ordered_space(tables, caller, &wanted.relationships.space.data.guid)?;
            must_be_free(tables, &space, &name, None)?;
            let mut last_operation =
                tables.operation(OperationKind::Create, OperationState::Succeeded);
            last_operation.description = Some("Operation succeeded".to_owned());
            let now = Timestamp::now();
            let instance = UserProvidedInstance {
                guid: InstanceGuid::random(),
                space,
                name,
                tags,
                credentials: wanted.credentials,
                syslog_drain_url: wanted.syslog_drain_url,
                route_service_url,
                metadata: Metadata::from(&change),
                last_operation,
                created_at: now,
                updated_at: now,
            };
            let body = self.user_provided(&instance);
            tables.user_provided.insert(instance.guid.clone(), instance);
            Ok(created(&body))
        })
    }

    pub(super) fn update_user_provided(
        &self,
        tables: &mut Tables,
        guid: &InstanceGuid,
        body: &[u8],
    ) -> Result<HttpResponse, Rejection> {
        let wanted: Update = message(body)?;
        let change = checked_metadata(wanted.metadata)?;
        let name = wanted.name.as_deref().map(checked_name).transpose()?;
        let tags = wanted.tags.map(checked_tags).transpose()?;
        let route_service_url = wanted.route_service_url.map(checked_route_service_url);
        let route_service_url = route_service_url.transpose()?;
        if let Some(name) = &name {
            let space = tables.user_provided.get(guid).map(|row| row.space.clone());
            must_be_free(tables, &space.ok_or_else(missing)?, name, Some(guid))?;
        }
        let mut last_operation = tables.operation(OperationKind::Update, OperationState::Succeeded);
        last_operation.description = Some("Operation succeeded".to_owned());
        let row = tables.user_provided.get_mut(guid).ok_or_else(missing)?;
        row.name = name.unwrap_or_else(|| row.name.clone());
        row.tags = tags.unwrap_or_else(|| row.tags.clone());
        row.credentials = wanted
            .credentials
            .unwrap_or_else(|| row.credentials.clone());
        row.syslog_drain_url = wanted
            .syslog_drain_url
            .or_else(|| row.syslog_drain_url.clone());
        row.route_service_url = route_service_url.or_else(|| row.route_service_url.clone());
        row.metadata.apply(&change);
        row.last_operation = last_operation;
        row.updated_at = Timestamp::now();
        Ok(ok(&self.user_provided(row)))
    }
}

fn checked_route_service_url(url: String) -> Result<String, Rejection> {
    let parsed = url::Url::parse(&url);
    if parsed.is_ok_and(|url| url.scheme() == "https" && url.has_host()) {
        Ok(url)
    } else {
        Err(Rejection::unprocessable("Route service url must be https"))
    }
}
