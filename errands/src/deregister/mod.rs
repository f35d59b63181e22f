//! `deregister-broker`: the platform forgets the broker (`spec/contracts/errands.md` §3).

use std::{ffi::OsString, path::Path, time::Duration};

use anyhow::{anyhow, bail};
use clap::Args;
use odb_clients::{
    ServiceError,
    cloud_controller::{BrokerGuid, CfBroker, CloudController, OfferedPlan},
    http::Call,
};
use odb_config::errands;

use crate::{
    Console, Dependencies, ExitStatus, cloud_controller,
    command_line::{ConfigTexts, Form, load},
    waiting::retry,
};

const FILE_TEXTS: ConfigTexts = ConfigTexts {
    missing: Some("Missing argument -configFilePath"),
    unreadable: Some("Error reading config file"),
    invalid: Some("Invalid config file"),
};

/// The time for one request to the platform, including retries.
const REQUEST: Duration = Duration::from_mins(2);
/// How long a deletion may take, the end of an earlier change of the broker included.
const DELETION: Duration = Duration::from_mins(10);
/// For how long a deletion is tried again that fails for a transient reason.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Remove the broker from the platform
///
/// A broker that the platform does not have counts as removed. A broker with service instances cannot be removed:
/// run delete-all-service-instances first.
///
/// Exit status: 0 the platform does not have the broker; 1 it does.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand deregister-broker --config deregister.yml --broker-name redis"
)]
pub struct DeregisterBroker {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configFilePath", value_name = "FILE")]
    config: Option<OsString>,
    /// Name of the broker in the platform. Default: `broker_name` of the configuration.
    #[arg(long, alias = "brokerName", value_name = "NAME")]
    broker_name: Option<String>,
}

impl DeregisterBroker {
    /// Runs it to its end. It may be broken off anywhere.
    pub async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let file_is_given = self.config.as_ref().is_some_and(|file| !file.is_empty());
        let flag = broker_name_flag(self.broker_name, file_is_given, dependencies.form)?;
        let config = load(
            self.config.as_deref().map(Path::new),
            &FILE_TEXTS,
            errands::DeregisterBroker::load,
            dependencies,
        )?;
        let name = broker_name(flag, config.broker_name.as_deref(), dependencies.form)?;
        let cloud_controller = cloud_controller::connect(&config.cloud_foundry, console)?;
        dependencies
            .unless_stopped(deregister(&cloud_controller, &name, console))
            .await??;
        console.say("FINISHED DEREGISTER BROKER");
        Ok(ExitStatus::Success)
    }
}

/// The flag's value. Without a file the name can come from nowhere else, which is reported first, as the Go errands do.
pub(crate) fn broker_name_flag(
    flag: Option<String>,
    file_is_given: bool,
    form: Form,
) -> anyhow::Result<Option<String>> {
    let flag = flag.filter(|name| !name.is_empty());
    if flag.is_none() && !file_is_given {
        bail!(missing_broker_name(form));
    }
    Ok(flag)
}

/// The broker's name: the flag's, else the configuration file's.
pub(crate) fn broker_name(
    flag: Option<String>,
    configured: Option<&str>,
    form: Form,
) -> anyhow::Result<String> {
    let configured = configured.filter(|name| !name.is_empty());
    flag.or_else(|| configured.map(str::to_owned))
        .ok_or_else(|| anyhow!(missing_broker_name(form)))
}

fn missing_broker_name(form: Form) -> &'static str {
    match form {
        Form::Go => "Missing argument -brokerName",
        Form::Own => {
            "Missing flag --broker-name: give the broker's name in the platform, here or as `broker_name` in the \
             configuration file"
        }
    }
}

/// Why the platform still knows a broker.
#[derive(Debug, thiserror::Error)]
pub enum DeregisterError {
    /// It is not known which brokers there are.
    #[error("failed to retrieve list of brokers")]
    Brokers(#[source] ServiceError),
    /// The platform did not forget it.
    #[error("Failed to deregister broker with {name} with guid {guid}, err")]
    Failed {
        /// The broker.
        name: String,
        /// The same.
        guid: BrokerGuid,
        /// Why.
        #[source]
        source: ServiceError,
    },
    /// The platform refuses, because the broker is in use.
    #[error(
        "Failed to deregister broker with {name} with guid {guid}, err: it has {instances}; delete them first"
    )]
    InUse {
        /// The broker.
        name: String,
        /// The same.
        guid: BrokerGuid,
        /// How many instances there are, and of which plans.
        instances: String,
    },
}

/// Makes the platform forget the broker of that name; one that it does not know is forgotten already.
pub async fn deregister(
    cloud_controller: &CloudController,
    name: &str,
    console: &Console,
) -> Result<(), DeregisterError> {
    let call = Call::within(REQUEST);
    let broker = cloud_controller.broker_named(&call, name).await;
    let Some(broker) = broker.map_err(DeregisterError::Brokers)? else {
        console.say(format_args!("No service broker found with name: {name}"));
        return Ok(());
    };
    let attempt = || delete(cloud_controller, &broker, console);
    let deleted = retry(TIMEOUT, console, attempt, |error| {
        error.is_transient() || error.is_busy()
    });
    let Err(error) = deleted.await else {
        return Ok(());
    };
    let CfBroker { name, guid, .. } = broker;
    if error.is_broker_in_use()
        && let Ok(instances) = instances(cloud_controller, &guid).await
    {
        return Err(DeregisterError::InUse {
            name,
            guid,
            instances,
        });
    }
    Err(DeregisterError::Failed {
        name,
        guid,
        source: error,
    })
}

async fn delete(
    cloud_controller: &CloudController,
    broker: &CfBroker,
    console: &Console,
) -> Result<(), ServiceError> {
    let call = Call::within(DELETION);
    let accepted = cloud_controller.delete_broker(&call, &broker.guid).await?;
    for warning in cloud_controller.finished(&call, accepted).await? {
        console.say(format_args!("the platform warns: {}", warning.trim()));
    }
    Ok(())
}

/// `3 service instances (2 of plan `small`, 1 of plan `large`)`.
async fn instances(
    cloud_controller: &CloudController,
    broker: &BrokerGuid,
) -> Result<String, ServiceError> {
    let call = Call::within(REQUEST);
    let plans = cloud_controller.plans_of_broker(&call, broker).await?;
    let guids: Vec<_> = plans.iter().map(|plan| plan.guid.clone()).collect();
    let counts = cloud_controller.count_instances(&call, &guids).await?;
    let of_plan = |plan: &OfferedPlan| counts.get(&plan.guid).copied().unwrap_or_default();
    let total: u64 = plans.iter().map(of_plan).sum();
    let each: Vec<_> = plans
        .iter()
        .filter(|plan| of_plan(plan) > 0)
        .map(|plan| format!("{} of plan `{}`", of_plan(plan), plan.name))
        .collect();
    Ok(format!(
        "{total} service instance{} ({})",
        if total == 1 { "" } else { "s" },
        each.join(", ")
    ))
}
