//! `register-broker`: registers the broker at the platform, and sets the access to its plans
//! (`spec/contracts/errands.md` §2).
//!
//! | file | contents |
//! | --- | --- |
//! | `catalog` | waits until the broker serves the plans of the file |
//! | `registration` | registers it, so that the platform reads the catalog |
//! | `access` | the access to each plan |
//! | `error` | the errors |

mod access;
mod catalog;
mod error;
mod registration;

use std::{ffi::OsString, path::Path, time::Duration};

use anyhow::Context;
use clap::Args;
use odb_clients::{
    cloud_controller::{BrokerRegistration, CloudController},
    http::Call,
};
use odb_config::errands;

use crate::{
    Console, Dependencies, ExitStatus, cloud_controller,
    command_line::{ConfigTexts, load},
};

pub use error::RegisterError;

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("-configPath must be given as argument"),
    unreadable: Some("error reading file -configPath"),
    invalid: Some("error unmarshaling config file"),
};

/// The time for one request to the platform, including retries.
const REQUEST: Duration = Duration::from_mins(2);

/// Register the broker with the platform and set the access to its plans
///
/// Creates the service broker or updates it, which makes the platform read its catalog, and sets the access to each
/// plan of the configuration. Leaves alone what is already right. Safe to repeat after a failure.
///
/// Exit status: 0 the broker is registered with all access as configured; 1 it is not.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand register-broker --config register.yml --dry-run\n  odb-errand register-broker --config register.yml"
)]
pub struct RegisterBroker {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configPath", value_name = "FILE")]
    config: Option<OsString>,
    /// Report what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Time for the broker to serve its catalog, in seconds, and again for the platform to read it.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait_for_broker: u64,
}

impl RegisterBroker {
    /// Runs it to its end. It may be broken off anywhere: the next run does the rest.
    pub async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let config = load(
            self.config.as_deref().map(Path::new),
            &FILE_TEXTS,
            errands::RegisterBroker::load,
            dependencies,
        )?;
        let cloud_controller = cloud_controller::connect(&config.cloud_foundry, console)?;
        let timeout = Duration::from_secs(self.wait_for_broker);
        let run = async {
            if self.dry_run {
                rehearse(&config, &cloud_controller, console, timeout).await
            } else {
                register(&config, &cloud_controller, console, timeout).await
            }
        };
        dependencies
            .unless_stopped(run)
            .await?
            .context("failed to execute register-broker")?;
        Ok(ExitStatus::Success)
    }
}

/// All checks run before the first change.
async fn register(
    config: &errands::RegisterBroker,
    cloud_controller: &CloudController,
    console: &Console,
    timeout: Duration,
) -> Result<(), RegisterError> {
    let wanted = access::look_up(cloud_controller, &config.plans).await?;
    catalog::wait(config, console, timeout).await?;
    let registration = registration(config);
    let broker = registration::register(cloud_controller, &registration, console, timeout).await?;
    let plans = access::plans(cloud_controller, &broker, &config.offering).await?;
    let settled = access::settle(cloud_controller, &wanted, &plans, console).await?;
    console.say(format_args!(
        "FINISHED REGISTER BROKER: `{}` is registered; access of {} changed, of {} unchanged",
        broker.name,
        counted(settled.changed),
        counted(settled.left)
    ));
    Ok(())
}

/// Reports what would be done, as far as known: the platform does not have new plans yet.
async fn rehearse(
    config: &errands::RegisterBroker,
    cloud_controller: &CloudController,
    console: &Console,
    timeout: Duration,
) -> Result<(), RegisterError> {
    let wanted = access::look_up(cloud_controller, &config.plans).await?;
    catalog::wait(config, console, timeout).await?;
    let name = &config.broker_name;
    let broker = cloud_controller
        .broker_named(&request_call(), name)
        .await
        .map_err(RegisterError::Brokers)?;
    let url = config.broker_url.as_written();
    let plans = if let Some(broker) = &broker {
        console.say(registration::change(broker, url, "it would be updated"));
        access::plans(cloud_controller, broker, &config.offering).await?
    } else {
        console.say(format_args!(
            "service broker `{name}` would be created, at `{url}`"
        ));
        Vec::new()
    };
    access::rehearse(cloud_controller, &wanted, &plans, console).await?;
    console.say("nothing was changed");
    Ok(())
}

fn registration(config: &errands::RegisterBroker) -> BrokerRegistration {
    BrokerRegistration {
        name: config.broker_name.clone(),
        url: config.broker_url.as_written().to_owned(),
        username: config.broker_username.clone(),
        password: config.broker_password.clone(),
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
