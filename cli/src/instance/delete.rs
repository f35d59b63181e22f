//! `odb instance delete`: the deprovisioning of an instance, as the platform requests it.

use anyhow::{Context, bail};
use clap::Args;
use odb_api_types::management::InventoryEntry;
use odb_errand::{
    Audience, BrokerApi, BrokerApiRejection, Dependencies, Deprovisioning, ExitStatus, read_line,
};

use super::change::shown;
use crate::{
    names::{OfInstance, name, place},
    output::Output,
    typed::quoted,
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
                bail!(
                    "Nothing was deleted: confirm with --confirm {}",
                    quoted(name)
                )
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
                    Ok(first) => shown(broker, first, true, output, dependencies).await?,
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
            for line in purge(entry) {
                console.log(line);
            }
        }
        Ok(ExitStatus::Success)
    }
}

/// The commands that remove the platform's entry.
fn purge(entry: &InventoryEntry) -> Vec<String> {
    let listed = format!("The platform still lists it in {}.", place(entry));
    let purge = format!("Next: cf purge-service-instance {}", quoted(name(entry)));
    match (&entry.organization_name, &entry.space_name) {
        (Some(organization), Some(space)) => {
            let (organization, space) = (quoted(organization), quoted(space));
            vec![
                format!("{listed} Next: cf target -o {organization} -s {space}"),
                purge,
            ]
        }
        _ => vec![format!("{listed} {purge}")],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn commands(space: Option<&str>) -> Vec<String> {
        let entry = json!({
            "service_instance_id": "i1", "name": "my cache", "deployment": "absent",
            "owner": "this_broker", "organization_name": "acme", "space_name": space,
            "space_guid": "s1",
        });
        purge(&serde_json::from_value(entry).unwrap())
    }

    #[test]
    fn the_space_is_targeted_before_the_purge() {
        assert_eq!(
            commands(Some("it's live")),
            [
                r"The platform still lists it in acme/it's live. Next: cf target -o acme -s 'it'\''s live'",
                "Next: cf purge-service-instance 'my cache'"
            ]
        );
        assert_eq!(
            commands(None),
            ["The platform still lists it in acme/s1. Next: cf purge-service-instance 'my cache'"]
        );
    }
}
