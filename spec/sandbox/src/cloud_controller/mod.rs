//! A Cloud Controller: the v3 API that users order services through, and the behaviour towards the brokers that
//! bring them (`spec/contracts/platform-apis.md`, "Cloud Controller v3" and "CC → broker").
//!
//! | module | what is in it |
//! | --- | --- |
//! | `api` | the routes: a request becomes a look at the state, or a change of it and a job |
//! | `work` | what jobs do, each in a task of its own |
//! | `broker_client` | requests to brokers and the meaning of their answers |
//! | `model` | what is remembered |

mod api;
mod broker_client;
mod model;
mod refusal;
mod settings;
mod work;

use std::sync::Arc;

use actix_web::web::{self, ServiceConfig};
use rustls::ClientConfig;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use broker_client::BrokerClientError;
pub use settings::{BrokerConduct, CloudControllerSettings, OrganizationSettings, SpaceSettings};

use crate::uaa::TokenVerifier;
use broker_client::BrokerClient;
use model::State;

/// A Cloud Controller. Cloning it gives another handle on the same one.
#[derive(Clone)]
pub struct CloudController(Arc<Inner>);

struct Inner {
    settings: CloudControllerSettings,
    state: State,
    tokens: TokenVerifier,
    broker_client: BrokerClient,
    runtime: Handle,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

/// An organization and a space of it, as the state knows them.
#[derive(Clone, Debug)]
pub struct Target {
    /// Name and guid of the organization.
    pub organization: (String, String),
    /// Name and guid of the space.
    pub space: (String, String),
}

impl CloudController {
    /// A Cloud Controller with the organizations of its settings. It trusts the tokens that `tokens` accepts, and the
    /// brokers that `tls` trusts; its jobs run on `runtime`.
    pub fn new(
        settings: CloudControllerSettings,
        tokens: TokenVerifier,
        tls: ClientConfig,
        runtime: Handle,
    ) -> Result<Self, BrokerClientError> {
        let broker_client =
            BrokerClient::new(tls, settings.brokers.timeout, settings.info_location())?;
        let state = State::default();
        state.change(|tables| settings.seed(tables));
        Ok(Self(Arc::new(Inner {
            settings,
            state,
            tokens,
            broker_client,
            runtime,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        })))
    }

    /// Mounts all routes.
    pub fn configure(&self, app: &mut ServiceConfig) {
        app.app_data(web::Data::new(self.clone()));
        api::routes(app);
    }

    /// The first space of the settings, for clients that are to be sent somewhere.
    pub fn first_space(&self) -> Option<Target> {
        let wanted = self.0.settings.organizations.first()?;
        let space_name = &wanted.spaces.first()?.name;
        self.0.state.read(|tables| {
            let organization = tables
                .organizations
                .values()
                .find(|organization| organization.name == wanted.name)?;
            let space = tables.spaces.values().find(|space| {
                space.organization == organization.guid && space.name == *space_name
            })?;
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
