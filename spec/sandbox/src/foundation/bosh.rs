//! The Director and its UAA, put together.

use tokio::runtime::Handle;
use uuid::Uuid;

use super::{
    description::DirectorAccess,
    settings::DirectorSection,
    up::{StartError, UpOptions},
};
use crate::{
    cpi::{AddressPool, Cpi, JobCatalog},
    director::{Director, DirectorDurations, DirectorSettings},
    net::NetAddress,
    uaa::{Uaa, UaaSettings},
};

pub(super) struct BoshSide {
    pub(super) uaa: Uaa,
    pub(super) director: Director,
}

impl BoshSide {
    /// Director and UAA, and how to get in.
    pub(super) fn new(
        section: DirectorSection,
        options: &UpOptions,
        addresses: NetAddress,
        runtime: Handle,
    ) -> Result<(Self, DirectorAccess), StartError> {
        let uaa_url = format!("https://{}", addresses.bosh_uaa());
        let (team, team_client) = section.team_client.seeded();
        let (admin, admin_client) = section.admin_client.seeded();
        let others = section.other_clients.iter().map(|client| client.seeded().0);
        let uaa = Uaa::new(UaaSettings {
            url: uaa_url.clone(),
            lives: section.token_lives.into(),
            clients: [team, admin].into_iter().chain(others).collect(),
            users: Vec::new(),
        })
        .map_err(StartError::Uaa)?;
        let settings = DirectorSettings {
            name: section.name,
            uuid: Uuid::new_v4().to_string(),
            uaa_url: uaa_url.clone(),
            releases: section.releases,
            stemcells: section.stemcells,
            cloud_config: section.cloud_config,
            durations: DirectorDurations {
                lock_wait: section.durations.lock_wait,
                step: section.durations.step,
                workers: section.durations.workers,
            },
        };
        let director = Director::new(settings, uaa.verifier(), cpi(options, addresses)?, runtime);
        let url = format!("https://{}", addresses.director());
        Ok((
            Self { uaa, director },
            DirectorAccess {
                url,
                uaa_url,
                team_client,
                admin_client,
            },
        ))
    }
}

fn cpi(options: &UpOptions, addresses: NetAddress) -> Result<Cpi, StartError> {
    let jobs = JobCatalog::load(&options.jobs).map_err(StartError::Jobs)?;
    let (first, last) = addresses.vms();
    let pool = AddressPool::new(first, last);
    Cpi::new(
        jobs,
        options.state.clone(),
        pool,
        options.processes,
        options.job_user.clone(),
    )
    .map_err(StartError::Cpi)
}
