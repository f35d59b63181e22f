//! The Director and its UAA, put together.

use tokio::runtime::Handle;

use super::{
    credhub::CredHubPlan,
    description::{DirectorAccess, UserAccess},
    identity::Identity,
    seed::Side,
    settings::{ConfigServerSection, DirectorSection},
    up::{StartError, UpOptions},
};
use crate::{
    cpi::{AddressPool, AgentTimeouts, Cpi, CpiSettings, JobCatalog, Processes},
    credhub::CredHub,
    director::{
        ConfigServer, Director, DirectorDurations, DirectorSettings, FrontEnd, UserManagement,
    },
    net::NetAddress,
    store::Store,
    uaa::{Uaa, UaaRole, UaaSettings},
};

pub(super) struct BoshSide {
    pub(super) uaa: Uaa,
    pub(super) cpi: Cpi,
    pub(super) director: Director,
    pub(super) credhub: Option<CredHub>,
}

impl BoshSide {
    /// Director and UAA, and how to get in.
    pub(super) fn new(
        section: DirectorSection,
        options: &UpOptions,
        identity: &mut Identity,
        store: &Store,
        runtime: Handle,
    ) -> Result<(Self, DirectorAccess), StartError> {
        let addresses = identity.net.address();
        let secrets = &mut identity.secrets;
        let uaa_url = format!("https://{}", addresses.bosh_uaa());
        let (team, team_client) = section.team_client.seeded(Side::Bosh, secrets);
        let (admin, admin_client) = section.admin_client.seeded(Side::Bosh, secrets);
        let mut others: Vec<_> = (section.other_clients.iter())
            .map(|client| client.seeded(Side::Bosh, secrets).0)
            .collect();
        let credhub_url = format!("https://{}", addresses.bosh_credhub());
        let plan = match section.config_server {
            ConfigServerSection::Off => None,
            ConfigServerSection::Credhub => Some(CredHubPlan::bosh(
                &section.credhub,
                &section.name,
                (credhub_url.clone(), uaa_url.clone()),
                secrets,
            )),
        };
        others.extend(plan.iter().flat_map(|plan| plan.clients.clone()));
        let settings = UaaSettings {
            url: uaa_url.clone(),
            lives: section.token_lives.into(),
            clients: [team, admin].into_iter().chain(others).collect(),
            users: Vec::new(),
        };
        let uaa = Uaa::new(settings, UaaRole::Bosh, store).map_err(StartError::Uaa)?;
        let built = plan.map(|plan| plan.build(&uaa, store));
        let (credhub, credhub_access) = built.transpose()?.unzip();
        let user_management = UserManagement::from(section.user_management);
        let local_users = match &user_management {
            UserManagement::Uaa => Vec::new(),
            UserManagement::Local(users) => users.iter().map(UserAccess::of).collect(),
        };
        let settings = DirectorSettings {
            name: section.name,
            uuid: identity.director_uuid.to_string(),
            uaa_url: uaa_url.clone(),
            user_management,
            config_server: match &credhub {
                None => ConfigServer::Off,
                Some(credhub) => ConfigServer::CredHub {
                    url: format!("{credhub_url}/api/"),
                    credhub: credhub.clone(),
                },
            },
            local_dns: true,
            front_end: FrontEnd::Nginx,
            releases: section.releases,
            stemcells: section.stemcells,
            cloud_config: section.cloud_config,
            durations: DirectorDurations {
                lock_wait: section.durations.lock_wait,
                step: section.durations.step,
                workers: section.durations.workers,
                checkpoint_interval: section.durations.checkpoint_interval,
                checkpoint_timeout: section.durations.checkpoint_timeout,
                lock_lease: section.durations.lock_lease,
            },
        };
        let cpi = cpi(options, addresses, store)?;
        let director = Director::new(settings, uaa.verifier(), cpi.clone(), store, runtime)
            .map_err(StartError::Store)?;
        let url = format!("https://{}", addresses.director());
        let access = DirectorAccess {
            url,
            uaa_url,
            team_client: team_client.at(&uaa),
            admin_client: admin_client.at(&uaa),
            local_users,
            credhub: credhub_access,
        };
        let side = Self {
            uaa,
            cpi,
            director,
            credhub,
        };
        Ok((side, access))
    }
}

fn cpi(options: &UpOptions, addresses: NetAddress, store: &Store) -> Result<Cpi, StartError> {
    let catalog = JobCatalog::load_all(&options.jobs).map_err(StartError::Jobs)?;
    let settings = CpiSettings {
        catalog,
        folder: options.state.clone(),
        addresses: match options.processes {
            Processes::Real => {
                let (first, last) = addresses.vms();
                AddressPool::new(first, last)
            }
            Processes::None => AddressPool::private(),
        },
        processes: options.processes,
        job_user: options.job_user.clone(),
        agent_timeouts: AgentTimeouts::default(),
    };
    Cpi::new(settings, store).map_err(StartError::Cpi)
}
