//! The Cloud Controller and its UAA, put together.

use tokio::runtime::Handle;

use super::{
    credhub::CredHubPlan,
    description::{CloudControllerAccess, Location},
    identity::Identity,
    seed::{Side, cf_client},
    settings::CloudControllerSection,
    up::StartError,
};
use crate::{
    cloud_controller::{BrokerBehaviour, CloudController, CloudControllerSettings, KnownUser},
    credhub::CredHub,
    store::Store,
    uaa::{Uaa, UaaRole, UaaSettings},
};

pub(super) struct CfSide {
    pub(super) uaa: Uaa,
    pub(super) cloud_controller: CloudController,
    pub(super) credhub: CredHub,
}

impl CfSide {
    /// Cloud Controller and UAA, and how to get in.
    pub(super) fn new(
        section: CloudControllerSection,
        identity: &mut Identity,
        store: &Store,
        runtime: Handle,
    ) -> Result<(Self, CloudControllerAccess), StartError> {
        let addresses = identity.net.address();
        let secrets = &mut identity.secrets;
        let uaa_url = format!("https://{}", addresses.cf_uaa());
        let url = format!("https://{}", addresses.cloud_controller());
        let (broker, broker_client) = section.broker_client.seeded(Side::Cf, secrets);
        let (admin, admin_user) = section.admin_user.seeded(Side::Cf, secrets);
        let (developer, user) = section.user.seeded(Side::Cf, secrets);
        let other_clients: Vec<_> = (section.other_clients.iter())
            .map(|client| client.seeded(Side::Cf, secrets).0)
            .collect();
        let credhub_url = format!("https://{}", addresses.runtime_credhub());
        let plan = CredHubPlan::runtime(&section.credhub, (credhub_url, uaa_url.clone()), secrets);
        let other_users = section.other_users.iter();
        let other_users = other_users.map(|user| user.seeded(Side::Cf, secrets).0);
        let users: Vec<_> = [admin, developer].into_iter().chain(other_users).collect();
        let known_users = users
            .iter()
            .map(|user| KnownUser {
                name: user.name.clone(),
                id: user.id.to_string(),
            })
            .collect();
        let settings = UaaSettings {
            url: uaa_url.clone(),
            lives: section.token_lives.into(),
            clients: [broker, cf_client()]
                .into_iter()
                .chain(other_clients)
                .chain(plan.clients.clone())
                .collect(),
            users,
        };
        let uaa = Uaa::new(settings, UaaRole::CloudFoundry, store).map_err(StartError::Uaa)?;
        let (credhub, credhub_access) = plan.build(&uaa, store)?;
        let settings = CloudControllerSettings {
            users: known_users,
            url: url.clone(),
            uaa_url: uaa_url.clone(),
            generation: section.v2,
            organizations: section.organizations,
            brokers: BrokerBehaviour {
                timeout: section.broker_timeout,
                polling_interval: section.broker_polling_interval,
                maximum_polling_duration: section.maximum_polling_duration,
                mitigation_delay: section.mitigation_delay,
                polling_factor: section.broker_polling_factor,
                instance_row: section.instance_row,
            },
        };
        let tls = identity.authority.client_tls();
        let tls = tls.map_err(StartError::Certificates)?;
        let cloud_controller =
            CloudController::new(settings, store, &uaa, credhub.clone(), tls, runtime)
                .map_err(StartError::CloudController)?;
        let target = cloud_controller.first_space().ok_or(StartError::NoSpace)?;
        let location = |(name, guid)| Location { name, guid };
        let access = CloudControllerAccess {
            url,
            uaa_url,
            broker_client: broker_client.at(&uaa),
            admin_user: admin_user.at(&uaa),
            user: user.at(&uaa),
            organization: location(target.organization),
            space: location(target.space),
            credhub: credhub_access,
        };
        Ok((
            Self {
                uaa,
                cloud_controller,
                credhub,
            },
            access,
        ))
    }
}
