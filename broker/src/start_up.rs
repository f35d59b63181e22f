//! Puts the parts together and checks that they can work: every neighbour is asked before the first request is taken,
//! and all that is wrong is reported at once.

use std::ffi::OsString;

use odb_platform::{
    cloud_controller::{CloudController, CloudControllerError},
    director::{ConnectError, Credentials, Director, DirectorError},
    http::{Call, ClientError, Limits, Trust, TrustError},
    uaa::{Grant, TokenSource},
};

use crate::{
    adapter::ServiceAdapter,
    bosh::Instances,
    code::Code,
    config::{
        Bosh, BoshConfigs, CloudFoundry, Config, DirectorCredentials, Offering,
        PlatformCredentials, Timings, Verification,
    },
    operations::{Lifecycle, Operations},
    telemetry::Chain,
};

/// The oldest Cloud Controller that is spoken to (`spec/contracts/platform-apis.md` §3.1).
const OLDEST_CLOUD_CONTROLLER: (u64, u64) = (3, 95);

/// What a running broker consists of.
#[derive(Debug)]
pub struct Parts {
    /// What can be done.
    pub operations: Operations,
    /// What it is done with.
    pub instances: Instances,
}

/// Something that has to be put right before the broker can run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each variant has its text")]
pub enum StartUpFault {
    #[error("`{key}` holds no usable certificate")]
    Trust {
        key: &'static str,
        #[source]
        source: TrustError,
    },
    #[error("`{key}` cannot be used")]
    Address {
        key: &'static str,
        #[source]
        source: ClientError,
    },
    #[error("could not get to know the Director at `{url}` (`bosh.url`)")]
    Director {
        url: String,
        #[source]
        source: ConnectError,
    },
    #[error("could not ask the Director at `{url}` who we are (`bosh.authentication`)")]
    DirectorIdentity {
        url: String,
        #[source]
        source: DirectorError,
    },
    #[error("the Director at `{url}` does not know us; check `bosh.authentication`")]
    DirectorCredentials { url: String },
    #[error("could not ask the Cloud Controller at `{url}` (`cf.url`)")]
    CloudController {
        url: String,
        #[source]
        source: CloudControllerError,
    },
    #[error("the Cloud Controller at `{url}` speaks API version {found}; 3.95 or newer is needed")]
    CloudControllerTooOld { url: String, found: String },
    #[error(
        "plan `{name}` (`{id}`) is not in `service_catalog.plans`, but has {instances} service instances; put it back"
    )]
    PlanInUse {
        name: String,
        id: String,
        instances: u64,
    },
}

impl StartUpFault {
    /// The code under which it stands in the log.
    pub fn code(&self) -> Code {
        match self {
            Self::Trust { .. } | Self::Address { .. } => Code::ConfigurationInvalid,
            Self::Director {
                source: ConnectError::OtherAuthentication { .. },
                ..
            }
            | Self::DirectorIdentity {
                source: DirectorError::NoToken { .. } | DirectorError::Unauthenticated { .. },
                ..
            }
            | Self::DirectorCredentials { .. } => Code::DirectorCredentials,
            Self::Director { .. } | Self::DirectorIdentity { .. } => Code::DirectorUnreachable,
            Self::CloudController { .. } => Code::CloudControllerUnreachable,
            Self::CloudControllerTooOld { .. } => Code::CloudControllerTooOld,
            Self::PlanInUse { .. } => Code::PlanInUse,
        }
    }
}

/// Checks all neighbours and puts the parts together.
pub async fn start(
    config: &Config,
    environment: Vec<(OsString, OsString)>,
    lifecycle: &Lifecycle,
) -> Result<Parts, Vec<StartUpFault>> {
    let offering = config.offering.clone();
    let timings = config.broker.timings;
    let (director, cloud_controller) = tokio::join!(
        director(&config.bosh, timings),
        cloud_controller(config.cloud_foundry.as_ref(), &offering, timings)
    );
    let (director, cloud_controller) = match (director, cloud_controller) {
        (Ok(director), Ok(cloud_controller)) => (director, cloud_controller),
        (director, cloud_controller) => {
            let faults = director.err().into_iter();
            return Err(faults
                .chain(cloud_controller.err().unwrap_or_default())
                .collect());
        }
    };
    if cloud_controller.is_none() {
        tracing::warn!(
            "`broker.disable_cf_startup_checks` is set: there is no Cloud Controller to check against"
        );
    }
    if config.broker.bosh_configs == BoshConfigs::Disabled {
        tracing::warn!(
            "`broker.disable_bosh_configs` is set: nothing is remembered of an operation, so that identical repeats are refused \
             and operations of an earlier process go on when they are asked about"
        );
    }
    let adapter = ServiceAdapter::new(
        &config.adapter,
        &config.broker.timings,
        environment.into_iter(),
    );
    let instances = Instances::new(
        config,
        director,
        adapter,
        lifecycle.runtime().clone(),
        lifecycle.stopping(),
    );
    Ok(Parts {
        operations: Operations::new(instances.clone(), offering, cloud_controller),
        instances,
    })
}

/// Picks up what an earlier process left in progress. While it cannot be looked up the broker serves all the same, and
/// looks again.
pub async fn resume(instances: &Instances, lifecycle: &Lifecycle, timings: Timings) {
    if try_to_resume(instances, timings).await {
        return;
    }
    let (instances, stopping) = (instances.clone(), lifecycle.stopping());
    lifecycle.runtime().spawn(async move {
        let again = async {
            loop {
                tokio::time::sleep(timings.longest_retry).await;
                if try_to_resume(&instances, timings).await {
                    return;
                }
            }
        };
        stopping.run_until_cancelled(again).await;
    });
}

async fn try_to_resume(instances: &Instances, timings: Timings) -> bool {
    match instances.resume(&Call::within(timings.start_up)).await {
        Ok(0) => true,
        Ok(count) => {
            tracing::info!(count, "going on with operations of an earlier process");
            true
        }
        Err(error @ DirectorError::NotAllowed { .. }) => {
            tracing::warn!(
                code = %Code::Resume,
                error = %Chain(&error),
                "operations of an earlier process cannot be looked up; they go on when they are asked about"
            );
            true
        }
        Err(error) => {
            tracing::error!(
                code = %Code::Resume,
                error = %Chain(&error),
                "operations of an earlier process could not be looked up, trying again"
            );
            false
        }
    }
}

async fn director(bosh: &Bosh, timings: Timings) -> Result<Director, StartUpFault> {
    let trust = match &bosh.root_ca_cert {
        Some(pem) => Trust::only(pem),
        None => Trust::system(),
    }
    .map_err(|source| StartUpFault::Trust {
        key: "bosh.root_ca_cert",
        source,
    })?;
    let credentials = match &bosh.credentials {
        DirectorCredentials::Basic { username, password } => Credentials::Basic {
            username: username.clone(),
            password: password.clone(),
        },
        DirectorCredentials::Uaa {
            client_id,
            client_secret,
        } => Credentials::Uaa {
            client_id: client_id.clone(),
            client_secret: client_secret.clone(),
        },
    };
    let call = Call::within(timings.start_up);
    let url = || bosh.url.clone();
    let director = Director::connect(&call, &bosh.url, &trust, credentials, Limits::default())
        .await
        .map_err(|source| StartUpFault::Director { url: url(), source })?;
    let info = director
        .authenticated_info(&call)
        .await
        .map_err(|source| StartUpFault::DirectorIdentity { url: url(), source })?;
    match info.user {
        Some(user) => {
            tracing::info!(director = %info.name, version = %info.version, %user, "the Director knows us");
            Ok(director)
        }
        None => Err(StartUpFault::DirectorCredentials { url: url() }),
    }
}

async fn cloud_controller(
    cf: Option<&CloudFoundry>,
    offering: &Offering,
    timings: Timings,
) -> Result<Option<CloudController>, Vec<StartUpFault>> {
    let Some(cf) = cf else { return Ok(None) };
    let client = cloud_controller_client(cf).map_err(|fault| vec![fault])?;
    let call = Call::within(timings.start_up);
    let failed = |source| {
        vec![StartUpFault::CloudController {
            url: cf.url.clone(),
            source,
        }]
    };
    let versions = client.api_versions(&call).await.map_err(failed)?;
    let found = versions.v3.unwrap_or_else(|| "2".to_owned());
    if !is_new_enough(&found) {
        return Err(vec![StartUpFault::CloudControllerTooOld {
            url: cf.url.clone(),
            found,
        }]);
    }
    let orphaned = plans_in_use(&client, &call, offering)
        .await
        .map_err(failed)?;
    if !orphaned.is_empty() {
        return Err(orphaned);
    }
    tracing::info!(version = %found, "the Cloud Controller knows us");
    Ok(Some(client))
}

#[expect(clippy::result_large_err, reason = "start-up happens once")]
fn cloud_controller_client(cf: &CloudFoundry) -> Result<CloudController, StartUpFault> {
    let trust = match (&cf.root_ca_cert, cf.verification) {
        (_, Verification::Off) => {
            tracing::warn!(
                "`broker.disable_ssl_cert_verification` is set: whoever stands between us and the Cloud Controller reads \
                 our credentials; give `cf.root_ca_cert` instead"
            );
            Trust::unverified()
        }
        (Some(pem), Verification::On) => Trust::system_and(pem),
        (None, Verification::On) => Trust::system(),
    }
    .map_err(|source| StartUpFault::Trust {
        key: "cf.root_ca_cert",
        source,
    })?;
    let grant = match &cf.credentials {
        PlatformCredentials::Client {
            client_id,
            client_secret,
        } => Grant::ClientCredentials {
            client_id: client_id.clone(),
            client_secret: client_secret.clone(),
        },
        PlatformCredentials::User { username, password } => Grant::Password {
            username: username.clone(),
            password: password.clone(),
        },
    };
    let tokens =
        TokenSource::connect(&cf.uaa_url, &trust, grant, Limits::default()).map_err(|source| {
            StartUpFault::Address {
                key: "cf.uaa.url",
                source,
            }
        })?;
    CloudController::connect(&cf.url, &trust, tokens, Limits::default()).map_err(|source| {
        StartUpFault::Address {
            key: "cf.url",
            source,
        }
    })
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version
        .split('.')
        .map(|part| part.parse::<u64>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= OLDEST_CLOUD_CONTROLLER
}

/// Plans that somebody uses and the configuration does not know any more.
async fn plans_in_use(
    client: &CloudController,
    call: &Call,
    offering: &Offering,
) -> Result<Vec<StartUpFault>, CloudControllerError> {
    let unknown: Vec<_> = client
        .plans_of_offering(call, offering.id.as_str())
        .await?
        .into_iter()
        .filter(|plan| offering.plan(&plan.unique_id.clone().into()).is_none())
        .collect();
    let guids: Vec<_> = unknown.iter().map(|plan| plan.guid.clone()).collect();
    let counts = client.count_instances(call, &guids).await?;
    Ok(unknown
        .into_iter()
        .filter_map(|plan| {
            let instances = counts.get(&plan.guid).copied().unwrap_or(0);
            (instances > 0).then_some(StartUpFault::PlanInUse {
                name: plan.name,
                id: plan.unique_id,
                instances,
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (version, new_enough) in [
            ("3.95.0", true),
            ("3.228.0", true),
            ("4.0.0", true),
            ("3.94.9", false),
            ("2", false),
        ] {
            assert_eq!(is_new_enough(version), new_enough, "{version}");
        }
    }
}
