//! `deregister-broker`: the platform forgets the broker (`spec/contracts/errands.md` §3).

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use odb_clients::{
    ServiceError,
    cloud_controller::{BrokerGuid, CfBroker, CloudController, OfferedPlan},
    http::Call,
};
use odb_config::{LoadError, Loaded, errands};

use crate::{
    Console, Dependencies, ExitStatus, cloud_controller,
    command_line::{ConfigTexts, Form, UsageError, load},
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
    after_help = "Examples:\n  odb-errand deregister-broker --config errands.yml --broker-name redis"
)]
pub(crate) struct DeregisterBroker {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configFilePath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of the broker in the platform. Default: `broker_name` of the configuration.
    #[arg(long, alias = "brokerName", value_name = "NAME")]
    broker_name: Option<String>,
}

impl DeregisterBroker {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let (config, name) = load_with_broker_name(
            self.config.as_deref(),
            self.broker_name,
            errands::DeregisterBroker::load,
            |config| config.broker_name.as_ref(),
            dependencies,
        )?;
        let cloud_controller = cloud_controller::connect(&config.cloud_foundry, console)?;
        dependencies
            .unless_stopped(deregister(&cloud_controller, &name, console))
            .await??;
        console.log("FINISHED DEREGISTER BROKER");
        Ok(ExitStatus::Success)
    }
}

/// Reads the file, and takes the broker's name from the flag, else from the file. Without a file the name can come from
/// nowhere else, which is reported first, as the Go errands do.
pub(crate) fn load_with_broker_name<T>(
    file: Option<&Path>,
    flag: Option<String>,
    read: fn(&Path) -> Result<Loaded<T>, LoadError>,
    configured: fn(&T) -> Option<&String>,
    dependencies: &Dependencies,
) -> anyhow::Result<(T, String)> {
    let missing = || {
        match dependencies.form {
        Form::Go => anyhow!("Missing argument -brokerName"),
        Form::Own => UsageError(
            "--broker-name: give the broker's name in the platform, here or as `broker_name` in the configuration file",
        )
        .into(),
    }
    };
    let flag = flag.filter(|name| !name.is_empty());
    let file_is_given = file.is_some_and(|file| !file.as_os_str().is_empty());
    if flag.is_none() && !file_is_given {
        return Err(missing());
    }
    let config = load(file, &FILE_TEXTS, read, dependencies)?;
    let configured = configured(&config).filter(|name| !name.is_empty());
    let name = flag.or_else(|| configured.cloned()).ok_or_else(missing)?;
    Ok((config, name))
}

/// Makes the platform forget the broker of that name; one that it does not know is forgotten already.
pub(crate) async fn deregister(
    cloud_controller: &CloudController,
    name: &str,
    console: &Console,
) -> anyhow::Result<()> {
    let call = Call::within(REQUEST);
    let broker = cloud_controller.broker_named(&call, name).await;
    let Some(broker) = broker.context("failed to retrieve list of brokers")? else {
        console.log(format_args!("No service broker found with name: {name}"));
        return Ok(());
    };
    let attempt = async || Ok(delete(cloud_controller, &broker, console).await?);
    let is = |error: &anyhow::Error, what: fn(&ServiceError) -> bool| {
        error.downcast_ref().is_some_and(what)
    };
    let deleted = retry(TIMEOUT, console, attempt, |error| {
        is(error, |error| error.is_transient() || error.is_busy())
    });
    let Err(error) = deleted.await else {
        return Ok(());
    };
    let failed = format!(
        "Failed to deregister broker with {name} with guid {}, err",
        broker.guid
    );
    if is(&error, ServiceError::is_broker_in_use)
        && let Ok(instances) = instances(cloud_controller, &broker.guid).await
    {
        bail!("{failed}: it has {instances}; delete them first");
    }
    Err(error.context(failed))
}

async fn delete(
    cloud_controller: &CloudController,
    broker: &CfBroker,
    console: &Console,
) -> Result<(), ServiceError> {
    let call = Call::within(DELETION);
    let accepted = cloud_controller.delete_broker(&call, &broker.guid).await?;
    for warning in cloud_controller.finished(&call, accepted).await? {
        console.log(format_args!("the platform warns: {}", warning.trim()));
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
