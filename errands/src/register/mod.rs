//! `register-broker`: registers the broker at the platform, and sets the access to its plans
//! (`spec/contracts/errands.md` §2).
//!
//! | file | contents |
//! | --- | --- |
//! | `catalog` | waits until the broker serves the plans of the file |
//! | `access` | the access to each plan |

mod access;
mod catalog;

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use clap::Args;
use odb_clients::{
    FailureKind, ServiceError,
    cloud_controller::{Accepted, BrokerRegistration, CfBroker, CloudController},
    http::Call,
};
use odb_config::errands;

use crate::{
    Console, Dependencies, ExitStatus, cloud_controller,
    command_line::{ConfigTexts, load},
    waiting::retry,
};

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("-configPath must be given as argument"),
    unreadable: Some("error reading file -configPath"),
    invalid: Some("error unmarshaling config file"),
};

/// The time for one request to the platform, including retries.
const REQUEST: Duration = Duration::from_mins(2);

/// How long the platform may take to read a catalog: it waits a minute for the broker, in a queue.
const IMPORT: Duration = Duration::from_mins(10);
/// The codes for a name that is taken, in version 3 (and for other errors) and in version 2.
const UNPROCESSABLE: u64 = 10008;
const NAME_TAKEN: u64 = 270_002;

/// Register the broker with the platform and set the access to its plans
///
/// Creates the service broker or updates it, which makes the platform read its catalog, and sets the access to each
/// plan of the configuration. Leaves alone what is already right. Safe to repeat after a failure.
///
/// Exit status: 0 the broker is registered with all access as configured; 1 it is not.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand register-broker --config errands.yml --dry-run\n  odb-errand register-broker --config errands.yml"
)]
pub struct RegisterBroker {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Report what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Time for the broker to serve its catalog, in seconds, and again for the platform to read it.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait_for_broker: u64,
}

impl RegisterBroker {
    /// Registers the broker of a file, or only reports what would change. `wait_for_broker` is in seconds.
    pub fn of(config: PathBuf, dry_run: bool, wait_for_broker: u64) -> Self {
        Self {
            config: Some(config),
            dry_run,
            wait_for_broker,
        }
    }

    /// Runs the errand.
    pub async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let config = load(
            self.config.as_deref(),
            &FILE_TEXTS,
            errands::RegisterBroker::load,
            dependencies,
        )?;
        let cloud_controller = cloud_controller::connect(&config.cloud_foundry, console)?;
        let timeout = Duration::from_secs(self.wait_for_broker);
        let run = register(&config, &cloud_controller, self.dry_run, console, timeout);
        dependencies
            .unless_stopped(run)
            .await?
            .context("failed to execute register-broker")?;
        Ok(ExitStatus::Success)
    }
}

/// All checks run before the first change. A dry run reports what would be done, as far as known: the platform does not
/// have new plans yet.
async fn register(
    config: &errands::RegisterBroker,
    cloud_controller: &CloudController,
    is_dry: bool,
    console: &Console,
    timeout: Duration,
) -> anyhow::Result<()> {
    let wanted = access::look_up(cloud_controller, &config.plans).await?;
    catalog::wait(config, console, timeout).await?;
    let (name, url) = (&config.broker_name, config.broker_url.as_written());
    let broker = if is_dry {
        let broker = find(cloud_controller, name).await?;
        console.log(match &broker {
            Some(broker) => change(broker, url, "it would be updated"),
            None => format!("service broker `{name}` would be created, at `{url}`"),
        });
        broker
    } else {
        let attempt = async || attempt(config, cloud_controller, console).await;
        Some(retry(timeout, console, attempt, is_transient).await?)
    };
    let plans = match &broker {
        Some(broker) => access::plans(cloud_controller, broker, &config.offering).await?,
        None => Vec::new(),
    };
    let settled = access::settle(cloud_controller, &wanted, &plans, is_dry, console).await?;
    if is_dry {
        console.log("nothing was changed");
    } else {
        console.log(format_args!(
            "FINISHED REGISTER BROKER: `{name}` is registered; access of {} changed, of {} unchanged",
            counted(settled.changed),
            counted(settled.left)
        ));
    }
    Ok(())
}

/// Creates the broker, or updates the existing one. Each attempt looks up first whether the previous one has created
/// the broker, because its answer may be lost or its catalog unreadable.
async fn attempt(
    config: &errands::RegisterBroker,
    cloud_controller: &CloudController,
    console: &Console,
) -> anyhow::Result<CfBroker> {
    let registration = BrokerRegistration {
        name: config.broker_name.clone(),
        url: config.broker_url.as_written().to_owned(),
        username: config.broker_username.clone(),
        password: config.broker_password.clone(),
    };
    let BrokerRegistration { name, url, .. } = &registration;
    let found = find(cloud_controller, name).await?;
    let call = Call::within(IMPORT);
    let (step, warnings) = if let Some(broker) = found {
        console.log(change(&broker, url, "updating it"));
        let update = cloud_controller.update_broker(&call, &broker.guid, &registration);
        let ended = finished(cloud_controller, &call, update.await).await;
        (Step::Update(name.clone()), ended)
    } else {
        console.log(format_args!("creating service broker `{name}`, at `{url}`"));
        let create = cloud_controller.create_broker(&call, &registration);
        let ended = finished(cloud_controller, &call, create.await).await;
        (Step::Create(name.clone()), ended)
    };
    for warning in warnings.context(step)? {
        console.log(format_args!("the platform warns: {}", warning.trim()));
    }
    console.log(format_args!(
        "service broker `{name}` is registered, and its catalog has been read"
    ));
    let broker = find(cloud_controller, name).await?;
    broker.with_context(|| {
        format!("service broker {name} disappeared; another client deleted it, or this client may not see it")
    })
}

async fn finished(
    cloud_controller: &CloudController,
    call: &Call,
    accepted: Result<Accepted, ServiceError>,
) -> Result<Vec<String>, ServiceError> {
    cloud_controller.finished(call, accepted?).await
}

async fn find(cloud_controller: &CloudController, name: &str) -> anyhow::Result<Option<CfBroker>> {
    let found = cloud_controller.broker_named(&request_call(), name).await;
    found.context(Step::List)
}

/// The step of an attempt that has failed.
#[derive(Debug, thiserror::Error)]
enum Step {
    #[error("failed to retrieve list of brokers")]
    List,
    #[error("failed to create service broker {0}")]
    Create(String),
    #[error("failed to update service broker {0}")]
    Update(String),
}

/// How a broker that is there changes. `verb` says whether it does or would.
fn change(broker: &CfBroker, url: &str, verb: &str) -> String {
    let CfBroker { name, url: old, .. } = broker;
    if old == url {
        format!("service broker `{name}` is registered: {verb}, at `{url}`")
    } else {
        format!("service broker `{name}` is registered: {verb}, from `{old}` to `{url}`")
    }
}

/// Whether another attempt may succeed.
fn is_transient(error: &anyhow::Error) -> bool {
    let (Some(step), Some(error)) = (error.downcast_ref(), error.downcast_ref::<ServiceError>())
    else {
        return false;
    };
    error.is_transient()
        || match step {
            Step::List => false,
            // The broker exists now, created by another client or by a lost attempt: the next attempt updates it.
            Step::Create(_) => error.is_busy() || is_name_taken(error),
            // Another client has deleted the broker meanwhile: the next attempt creates it.
            Step::Update(_) => error.is_busy() || error.is_not_found(),
        }
}

fn is_name_taken(error: &ServiceError) -> bool {
    match &error.kind {
        FailureKind::Refused {
            code, description, ..
        } => match code {
            Some(NAME_TAKEN) => true,
            Some(UNPROCESSABLE) => description.contains("unique"),
            _ => false,
        },
        _ => false,
    }
}

fn request_call() -> Call {
    Call::within(REQUEST)
}

fn counted(plans: usize) -> String {
    match plans {
        1 => "1 plan".to_owned(),
        plans => format!("{plans} plans"),
    }
}
