//! A Cloud Controller: the v3 API for ordering services, and the client of the brokers
//! (`spec/contracts/platform-apis.md`, "Cloud Controller v3" and "CC → broker").
//!
//! | module | contents |
//! | --- | --- |
//! | `api` | the routes: a request reads the state, or changes it and starts a job |
//! | `v2` | the routes of the previous generation, which can be turned off |
//! | `work` | the jobs, each in a task of its own |
//! | `broker_client` | requests to brokers and the meaning of their answers |
//! | `key_credentials` | the references in service keys |
//! | `settings` | its behaviour towards brokers, and the generations of its API |
//! | `model` | the state |
//! | `seed` | instances without an order |

mod api;
mod broker_client;
mod key_credentials;
mod model;
mod rejection;
mod seed;
mod settings;
mod v2;
mod work;

use std::sync::Arc;

use actix_web::web::{self, ServiceConfig};
use rustls::ClientConfig;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    credhub::CredHub,
    store::{Store, StoreError},
    uaa::{TokenVerifier, Uaa},
};
use broker_client::BrokerClient;
use model::{OrganizationKey, SpaceKey, State};

pub use broker_client::BrokerClientError;
pub use key_credentials::SERVICE_KEY_CLIENT;
pub use seed::{SeedError, SeedablePlan, SeededInstance, SeededState};
pub use settings::ApiGeneration;
pub use settings::{BrokerBehaviour, InstanceRow};
pub use settings::{CloudControllerSettings, KnownUser, OrganizationSettings, SpaceSettings};

/// A Cloud Controller. Cloning it gives another handle on the same one.
#[derive(Clone)]
pub struct CloudController(Arc<Inner>);

struct Inner {
    settings: CloudControllerSettings,
    state: State,
    tokens: TokenVerifier,
    credhub: CredHub,
    broker_client: BrokerClient,
    runtime: Handle,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

/// A Cloud Controller could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum CloudControllerError {
    #[error("could not set up the Cloud Controller's broker client")]
    BrokerClient(#[source] BrokerClientError),
    #[error("could not read the Cloud Controller's tables")]
    State(#[source] StoreError),
}

/// An organization and a space of it, as the state knows them.
#[derive(Clone, Debug)]
pub struct Target {
    pub organization: (String, String),
    pub space: (String, String),
}

impl CloudController {
    /// A Cloud Controller with what `store` has kept for it, or else with the organizations of its settings. It trusts
    /// the tokens of `uaa`, and the brokers that `tls` trusts; it reads the credentials of service keys in `credhub`;
    /// its jobs run on `runtime`.
    pub fn new(
        settings: CloudControllerSettings,
        store: &Store,
        uaa: &Uaa,
        credhub: CredHub,
        tls: ClientConfig,
        runtime: Handle,
    ) -> Result<Self, CloudControllerError> {
        let broker_client =
            BrokerClient::new(tls, settings.brokers.timeout, settings.info_location())
                .map_err(CloudControllerError::BrokerClient)?;
        let state = State::open(store).map_err(CloudControllerError::State)?;
        state.change(|tables| {
            settings.seed(tables);
            tables.end_lost_work();
        });
        Ok(Self(Arc::new(Inner {
            settings,
            state,
            tokens: uaa.verifier(),
            credhub,
            broker_client,
            runtime,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        })))
    }

    /// How it deals with brokers.
    pub(crate) fn behaviour(&self) -> &BrokerBehaviour {
        &self.0.settings.brokers
    }

    /// Mounts all routes.
    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(web::Data::new(self.clone()));
        app.service(v2::routes(self.0.settings.generation));
        api::routes(app);
    }

    /// The first space of the settings, for clients that are to be sent somewhere.
    pub fn first_space(&self) -> Option<Target> {
        let wanted = self.0.settings.organizations.first()?;
        let space_name = &wanted.spaces.first()?.name;
        self.0.state.read(|tables| {
            let organization = tables
                .organizations
                .with(OrganizationKey::Name(wanted.name.clone()))
                .next()?;
            let key = SpaceKey::Name(organization.guid.clone(), space_name.clone());
            let space = tables.spaces.with(key).next()?;
            Some(Target {
                organization: (organization.name.clone(), organization.guid.to_string()),
                space: (space.name.clone(), space.guid.to_string()),
            })
        })
    }

    /// Stops all jobs where they are and waits until they have stopped.
    pub async fn shut_down(&self) {
        self.0.stopping.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}
