//! `odb instance delete`: the deprovisioning of an instance, as the platform requests it.

use anyhow::{Context, bail};
use clap::Args;
use odb_api_types::management::InventoryEntry;
use odb_errand::{
    Audience, BrokerApi, BrokerApiRejection, Dependencies, Deprovisioning, ExitStatus, read_line,
};

use super::change::follow;
use crate::{
    names::{OfInstance, name, place},
    output::Output,
};

/// Delete the deployment, secrets and clients of a service instance
///
/// Deprovisions it at the broker, with pre-delete errands. The platform is not involved: it still lists the instance
/// afterwards, and the last line has the command that removes its entry. Where users can still delete the instance
/// themselves, use `cf delete-service` instead.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb instance delete orders-cache\n  odb instance delete orders-cache --confirm orders-cache"
)]
pub(crate) struct Delete {
    #[command(flatten)]
    of: OfInstance,
    /// Name of the instance, instead of typing it at the prompt.
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    /// Do not wait for the end.
    #[arg(long)]
    no_wait: bool,
}

impl Delete {
    pub(super) async fn run(
        &self,
        broker: &BrokerApi,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let entry = dependencies.unless_stopped(self.of.find(broker)).await??;
        self.confirm(&entry, dependencies).await?;
        let work = self.delete(&entry, broker, output, dependencies);
        dependencies.unless_stopped(work).await?
    }

    /// Succeeds if the name was typed.
    async fn confirm(
        &self,
        entry: &InventoryEntry,
        dependencies: &Dependencies,
    ) -> anyhow::Result<()> {
        let name = name(entry);
        let typed = match &self.confirm {
            Some(typed) => typed.clone(),
            None if Audience::of_this_process() != Audience::Person => {
                bail!("Nothing was deleted: confirm with --confirm {name}")
            }
            None => {
                let prompt = format!(
                    "`{name}` ({}) will be deleted with all its data. Type its name to continue:",
                    place(entry)
                );
                read_line(dependencies, &prompt).await?
            }
        };
        if typed.trim() != name {
            bail!("Nothing was deleted: the confirmation is not `{name}`");
        }
        Ok(())
    }

    async fn delete(
        &self,
        entry: &InventoryEntry,
        broker: &BrokerApi,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        let (name, id) = (name(entry), &entry.service_instance_id);
        let plan = entry.plan_id.as_ref();
        let plan = plan.with_context(|| format!("The plan of `{name}` is unknown"))?;
        let offering = broker.offering().await?;
        let console = &dependencies.console;
        match broker.deprovision(id, &offering.id, plan).await {
            Ok(Deprovisioning::Begun) if self.no_wait => {
                console.log(format_args!(
                    "The deletion of {name} has begun. Follow it with: odb instance operation {id} --follow"
                ));
                return Ok(ExitStatus::Success);
            }
            Ok(Deprovisioning::Begun) => {
                let status = match broker.operation(id).await {
                    Ok(first) => follow(broker, first, output, dependencies).await?,
                    // It has ended already.
                    Err(error) if error.is_gone() => ExitStatus::Success,
                    Err(error) => return Err(error.into()),
                };
                if status != ExitStatus::Success {
                    return Ok(status);
                }
            }
            Ok(Deprovisioning::Done) => {}
            Err(error) if error.is_gone() => {}
            Err(error) => return Err(error.into()),
        }
        console.log(format_args!("{name} is deleted"));
        if entry.space_guid.is_some() {
            console.log(format_args!(
                "The platform still lists it in {}. Next: cf purge-service-instance {name}",
                place(entry)
            ));
        }
        Ok(ExitStatus::Success)
    }
}
