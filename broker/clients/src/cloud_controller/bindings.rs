//! Bindings, keys and shares of service instances (`spec/contracts/platform-apis.md`, section 3.9).

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{
    ApiVersion, AppGuid, BindingGuid, CfOperation, CloudController, Deletion, InstanceGuid,
    SpaceGuid,
    api::{Api, Resource, ToOne, WithGuid, values},
    instances::{WireOperation, one},
    there,
};
use crate::{
    http::{Call, Method, Repeat},
    service_error::Result,
};

const CREDENTIAL_BINDINGS: &str = "service_credential_bindings";
const ROUTE_BINDINGS: &str = "service_route_bindings";

/// A binding of a service instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CfBinding {
    /// Version 2 has no id for a route binding; this is then the id of the route.
    pub guid: BindingGuid,
    pub kind: CfBindingKind,
    /// The last operation, if it is known.
    pub last_operation: Option<CfOperation>,
}

/// The consumer of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CfBindingKind {
    App(AppGuid),
    /// None: it is a service key.
    Key,
    /// A route, the requests of which go through the instance.
    Route,
}

impl CloudController {
    /// The bindings of an instance: of applications first, then keys, then routes. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.bindings", skip_all, fields(%instance))]
    pub async fn bindings(&self, call: &Call, instance: &InstanceGuid) -> Result<Vec<CfBinding>> {
        let api = self.api(call).await?;
        let found = match api.version {
            ApiVersion::V3 => api.bindings_v3(call, instance).await,
            ApiVersion::V2 => api.bindings_v2(call, instance).await,
        };
        Ok(there(found)?.unwrap_or_default())
    }

    /// Deletes a binding, which calls the broker. Sent once: after an error it may be deleted
    /// ([`crate::ServiceError::may_have_taken_effect`]).
    #[tracing::instrument(name = "cloud_controller.delete_binding", skip_all, fields(%instance, binding = %binding.guid))]
    pub async fn delete_binding(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        binding: &CfBinding,
    ) -> Result<Deletion> {
        let api = self.api(call).await?;
        let (guid, instance) = (binding.guid.as_str(), instance.as_str());
        let segments = match (api.version, &binding.kind) {
            (ApiVersion::V3, CfBindingKind::App(_) | CfBindingKind::Key) => {
                vec![CREDENTIAL_BINDINGS, guid]
            }
            (ApiVersion::V3, CfBindingKind::Route) => vec![ROUTE_BINDINGS, guid],
            (ApiVersion::V2, CfBindingKind::App(app)) => {
                vec!["apps", app.as_str(), "service_bindings", guid]
            }
            (ApiVersion::V2, CfBindingKind::Key) => vec!["service_keys", guid],
            (ApiVersion::V2, CfBindingKind::Route) => {
                vec!["service_instances", instance, "routes", guid]
            }
        };
        api.delete(call, &segments, &[]).await
    }

    /// The spaces that an instance is shared into. Safe to repeat.
    ///
    /// Uses version 3 on old foundations, too: version 2 cannot unshare.
    #[tracing::instrument(name = "cloud_controller.shared_spaces", skip_all, fields(%instance))]
    pub async fn shared_spaces(
        &self,
        call: &Call,
        instance: &InstanceGuid,
    ) -> Result<Vec<SpaceGuid>> {
        #[derive(Deserialize)]
        struct Shares {
            data: Vec<WithGuid<SpaceGuid>>,
        }
        let api = self.api_of(ApiVersion::V3);
        let found = api.read::<Shares>(call, &shares(instance), &[]).await;
        let spaces = there(found)?.map_or_else(Vec::new, |shares| shares.data);
        Ok(spaces.into_iter().map(|space| space.guid).collect())
    }

    /// Takes an instance away from a space that it is shared into, with the bindings there. Safe to repeat.
    #[tracing::instrument(name = "cloud_controller.unshare", skip_all, fields(%instance, %space))]
    pub async fn unshare(
        &self,
        call: &Call,
        instance: &InstanceGuid,
        space: &SpaceGuid,
    ) -> Result<()> {
        let api = self.api_of(ApiVersion::V3);
        let segments = [&shares(instance)[..], &[space.as_str()]].concat();
        let request = api.request(Method::DELETE, &segments, &[], Repeat::WhenTransient);
        there(api.send(call, request).await).map(drop)
    }
}

fn shares(instance: &InstanceGuid) -> [&str; 4] {
    let [kind, guid] = one(instance);
    [kind, guid, "relationships", "shared_spaces"]
}

impl Api<'_> {
    async fn bindings_v3(&self, call: &Call, instance: &InstanceGuid) -> Result<Vec<CfBinding>> {
        let guids = values([instance.as_str()]);
        let filter = ("service_instance_guids", guids.as_str());
        let credentials: Vec<BindingV3> =
            self.list(call, &[CREDENTIAL_BINDINGS], &[filter]).await?;
        let routes: Vec<BindingV3> = self.list(call, &[ROUTE_BINDINGS], &[filter]).await?;
        let (apps, keys): (Vec<_>, Vec<_>) = credentials
            .into_iter()
            .partition(|binding| binding.relationships.app.is_some());
        let credentials = apps.into_iter().chain(keys).map(|mut binding| {
            let app = binding.relationships.app.take();
            binding.of(app.map_or(CfBindingKind::Key, |app| CfBindingKind::App(app.data.guid)))
        });
        let routes = routes
            .into_iter()
            .map(|route| route.of(CfBindingKind::Route));
        Ok(credentials.chain(routes).collect())
    }

    async fn bindings_v2(&self, call: &Call, instance: &InstanceGuid) -> Result<Vec<CfBinding>> {
        let [kind, guid] = one(instance);
        let apps: Vec<Resource<BindingGuid, AppBindingV2>> = self
            .list(call, &[kind, guid, "service_bindings"], &[])
            .await?;
        let apps = apps.into_iter().map(|binding| CfBinding {
            guid: binding.metadata.guid,
            kind: CfBindingKind::App(binding.entity.app_guid),
            last_operation: binding.entity.last_operation.and_then(WireOperation::known),
        });
        let mut bindings: Vec<_> = apps.collect();
        for (consumers, consumer) in [
            ("service_keys", CfBindingKind::Key),
            ("routes", CfBindingKind::Route),
        ] {
            let found: Vec<Resource<BindingGuid, IgnoredAny>> =
                self.list(call, &[kind, guid, consumers], &[]).await?;
            bindings.extend(found.into_iter().map(|found| CfBinding {
                guid: found.metadata.guid,
                kind: consumer.clone(),
                last_operation: None,
            }));
        }
        Ok(bindings)
    }
}

#[derive(Deserialize)]
struct BindingV3 {
    guid: BindingGuid,
    last_operation: Option<WireOperation>,
    relationships: OfBinding,
}

#[derive(Deserialize)]
struct OfBinding {
    app: Option<ToOne<AppGuid>>,
}

impl BindingV3 {
    fn of(self, kind: CfBindingKind) -> CfBinding {
        CfBinding {
            guid: self.guid,
            kind,
            last_operation: self.last_operation.and_then(WireOperation::known),
        }
    }
}

#[derive(Deserialize)]
struct AppBindingV2 {
    app_guid: AppGuid,
    last_operation: Option<WireOperation>,
}
