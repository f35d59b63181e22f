//! `delete-all-service-instances-and-deregister-broker` (`spec/contracts/errands.md` §6): closes the plans to new
//! orders, deletes all service instances, then unregisters the broker.

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use clap::Args;
use odb_clients::{
    cloud_controller::{CfPlan, CloudController, PlanVisibility, WantedVisibility},
    http::Call,
};
use odb_config::errands::Deletion;

use crate::{
    Console, Dependencies, ExitStatus, cloud_controller,
    delete_all::{Fleet, How, Selection},
    deregister::{deregister, load_with_broker_name},
    report::Report,
};

/// How long it may take to close the access to one plan, repetitions included.
const CLOSING: Duration = Duration::from_mins(2);

/// Delete all service instances of an offering, and remove the broker from the platform
///
/// Disables the access to all plans first, for every organization, so that no new instance is ordered. Then deletes
/// all service instances as delete-all-service-instances does. Removes the broker when none is left.
///
/// Exit status: 0 the instances and the broker are gone; 1 something is left, and standard error has the reason; 2
/// usage error.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb-errand delete-all-service-instances-and-deregister-broker --config errands.yml --dry-run"
)]
pub(crate) struct DeleteAllAndDeregister {
    /// Path of the errand's configuration.
    #[arg(long, alias = "configFilePath", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Name of the broker in the platform. Default: `broker_name` of the configuration.
    #[arg(long, alias = "brokerName", value_name = "NAME")]
    broker_name: Option<String>,
    #[command(flatten)]
    how: How,
}

impl DeleteAllAndDeregister {
    pub(crate) async fn run(self, dependencies: &Dependencies) -> anyhow::Result<ExitStatus> {
        let console = &dependencies.console;
        let (config, name) = load_with_broker_name(
            self.config.as_deref(),
            self.broker_name,
            Deletion::load,
            |config| config.broker_name.as_ref(),
            dependencies,
        )?;
        let controller =
            cloud_controller::connect(&config.cloud_foundry, console).context("Purger Failed")?;
        let fleet = Fleet {
            errand: "delete-all-service-instances-and-deregister-broker",
            controller,
            config,
            broker_name: Some(name.clone()),
            selection: Selection::default(),
            how: self.how,
            includes_new_arrivals: true,
            dependencies,
        };
        let mut report = fleet.report();
        let purged = purge(&fleet, &name, &mut report).await;
        fleet.summarize(purged.context("Purger Failed"), &mut report)
    }
}

async fn purge(fleet: &Fleet<'_>, broker_name: &str, report: &mut Report) -> anyhow::Result<()> {
    let dependencies = fleet.dependencies;
    let console = &dependencies.console;
    let plans = fleet.plans().await?;
    let mut agreed = None;
    if fleet.must_be_looked_at_first() {
        match fleet.outlook(&plans, report).await? {
            None => return Ok(()),
            Some(chosen) => agreed = Some(chosen.len()),
        }
    }
    console.log("Disabling service access for all plans");
    for plan in &plans {
        dependencies
            .unless_stopped(close(&fleet.controller, plan, console))
            .await??;
    }
    console.log("Deleting all service instances");
    fleet.say_configuration();
    fleet.delete_all(&plans, agreed, report).await?;
    console.log("Deregistering service brokers");
    let deregistration = deregister(&fleet.controller, broker_name, console);
    dependencies.unless_stopped(deregistration).await??;
    fleet.say_finished("FINISHED PURGE INSTANCES AND DEREGISTER BROKER", report);
    Ok(())
}

async fn close(
    controller: &CloudController,
    plan: &CfPlan,
    console: &Console,
) -> anyhow::Result<()> {
    let call = Call::within(CLOSING);
    let failed = || format!("could not disable access to plan `{}`", plan.name);
    let visibility = controller.plan_visibility(&call, &plan.guid).await;
    match visibility.with_context(failed)? {
        PlanVisibility::Space => {
            console.log(format_args!(
                "plan `{}` belongs to a space, whose members may order it until the broker is deleted",
                plan.name
            ));
            return Ok(());
        }
        PlanVisibility::Organizations(organizations) => {
            let names: Vec<_> = organizations
                .iter()
                .map(|(guid, name)| name.as_deref().unwrap_or(guid.as_str()))
                .collect();
            console.log(format_args!(
                "plan `{}` is disabled for the organizations: {}",
                plan.name,
                names.join(", ")
            ));
        }
        PlanVisibility::Public | PlanVisibility::Admin | PlanVisibility::Unknown(_) => {}
    }
    let admin = WantedVisibility::Admin;
    let closed = controller.set_plan_visibility(&call, &plan.guid, &admin);
    closed.await.with_context(failed)
}
