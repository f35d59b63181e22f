//! The Cloud Controller and its UAA, put together.

use tokio::runtime::Handle;

use super::{
    description::{CloudControllerAccess, Place},
    seed::cf_client,
    settings::CloudControllerSection,
    up::StartError,
};
use crate::{
    certificates::CertificateAuthority,
    cloud_controller::{BrokerConduct, CloudController, CloudControllerSettings},
    net::NetAddress,
    uaa::{Uaa, UaaSettings},
};

pub(super) struct CfSide {
    pub(super) uaa: Uaa,
    pub(super) cloud_controller: CloudController,
}

impl CfSide {
    /// Cloud Controller and UAA, and how to get in.
    pub(super) fn new(
        section: CloudControllerSection,
        authority: &CertificateAuthority,
        addresses: NetAddress,
        runtime: Handle,
    ) -> Result<(Self, CloudControllerAccess), StartError> {
        let uaa_url = format!("https://{}", addresses.cf_uaa());
        let url = format!("https://{}", addresses.cloud_controller());
        let (broker, broker_client) = section.broker_client.seeded();
        let (admin, admin_user) = section.admin_user.seeded();
        let (developer, user) = section.user.seeded();
        let other_clients = section.other_clients.iter().map(|client| client.seeded().0);
        let other_users = section.other_users.iter().map(|user| user.seeded().0);
        let uaa = Uaa::new(UaaSettings {
            url: uaa_url.clone(),
            lives: section.token_lives.into(),
            clients: [broker, cf_client()]
                .into_iter()
                .chain(other_clients)
                .collect(),
            users: [admin, developer].into_iter().chain(other_users).collect(),
        })
        .map_err(StartError::Uaa)?;
        let settings = CloudControllerSettings {
            url: url.clone(),
            uaa_url: uaa_url.clone(),
            organizations: section.organizations,
            brokers: BrokerConduct {
                timeout: section.broker_timeout,
                polling_interval: section.broker_polling_interval,
                maximum_polling_duration: section.maximum_polling_duration,
                mitigation_delay: section.mitigation_delay,
            },
        };
        let tls = authority.client_tls().map_err(StartError::Certificates)?;
        let cloud_controller = CloudController::new(settings, uaa.verifier(), tls, runtime)
            .map_err(StartError::CloudController)?;
        let target = cloud_controller.first_space().ok_or(StartError::NoSpace)?;
        let place = |(name, guid)| Place { name, guid };
        let access = CloudControllerAccess {
            url,
            uaa_url,
            broker_client,
            admin_user,
            user,
            organization: place(target.organization),
            space: place(target.space),
        };
        Ok((
            Self {
                uaa,
                cloud_controller,
            },
            access,
        ))
    }
}
