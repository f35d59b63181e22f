//! Names that people type: the instance that is meant, and suggestions where none is.

use anyhow::{Context, anyhow, bail};
use odb_api_types::{ids::InstanceId, management::InventoryEntry};
use odb_errand::{BrokerApi, BrokerApiRejection};

/// Names less alike than this are not suggested.
const ALIKE: f64 = 0.75;

/// Ambiguous names are listed up to this many.
const MOST_CANDIDATES: usize = 10;

/// Filters of service instances, by names or ids.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Filter {
    /// Only instances of this plan, by name or id; repeatable, like the filters below.
    #[arg(long = "plan", value_name = "PLAN")]
    plans: Vec<String>,
    /// Only instances of this organization, by name or guid.
    #[arg(long = "org", alias = "organization", value_name = "ORG")]
    organizations: Vec<String>,
    /// Only instances in this space, by name or guid.
    #[arg(long = "space", value_name = "SPACE")]
    spaces: Vec<String>,
}

/// One service instance, by its name or id.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OfInstance {
    /// Name or id of the service instance.
    pub(crate) instance: String,
    #[command(flatten)]
    pub(crate) filter: Filter,
}

impl Filter {
    /// The query of the list of instances.
    pub(crate) fn query(&self) -> Vec<(&str, &str)> {
        [
            ("plan", &self.plans),
            ("organization", &self.organizations),
            ("space", &self.spaces),
        ]
        .into_iter()
        .flat_map(|(name, values)| values.iter().map(move |value| (name, value.as_str())))
        .collect()
    }

    pub(crate) fn plans(&self) -> &[String] {
        &self.plans
    }

    pub(crate) fn organizations(&self) -> &[String] {
        &self.organizations
    }

    pub(crate) fn spaces(&self) -> &[String] {
        &self.spaces
    }
}

impl OfInstance {
    /// The instance that is meant.
    pub(crate) async fn find(&self, broker: &BrokerApi) -> anyhow::Result<InventoryEntry> {
        if let Some(id) = as_guid(&self.instance) {
            match broker.entry(&id).await {
                Ok(entry) => return Ok(entry),
                Err(error) if error.is_gone() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let entries = list(broker, &self.filter).await?;
        chosen(&self.instance, &entries).cloned()
    }
}

/// The instances that a filter selects. An incomplete list is an error.
pub(crate) async fn list(
    broker: &BrokerApi,
    filter: &Filter,
) -> anyhow::Result<Vec<InventoryEntry>> {
    let listed = broker.inventory(&filter.query()).await?;
    if !listed.complete {
        bail!("The list of service instances is incomplete. Try again");
    }
    Ok(listed.service_instances)
}

fn as_guid(text: &str) -> Option<InstanceId> {
    let is_guid = text.len() == 36
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_guid.then(|| text.to_owned().try_into().ok()).flatten()
}

/// The id that a text is.
pub(crate) fn as_instance_id(text: &str) -> anyhow::Result<InstanceId> {
    let id = InstanceId::try_from(text.to_owned());
    id.with_context(|| format!("`{text}` is not the id of a service instance"))
}

/// The entry of this id or name, which has to be unique.
pub(crate) fn chosen<'e>(
    text: &str,
    entries: &'e [InventoryEntry],
) -> anyhow::Result<&'e InventoryEntry> {
    let of_id = entries
        .iter()
        .find(|entry| entry.service_instance_id.as_str() == text);
    if let Some(entry) = of_id {
        return Ok(entry);
    }
    let found: Vec<&InventoryEntry> = entries
        .iter()
        .filter(|entry| entry.name.as_deref() == Some(text))
        .collect();
    match found.as_slice() {
        [entry] => Ok(entry),
        [] => {
            let names = entries.iter().filter_map(|entry| entry.name.as_deref());
            Err(unknown("instance", text, names, "odb instance list"))
        }
        several => Err(ambiguous(text, several)),
    }
}

fn ambiguous(name: &str, entries: &[&InventoryEntry]) -> anyhow::Error {
    let count = entries.len();
    let shown = entries.iter().take(MOST_CANDIDATES);
    let candidates: Vec<String> = shown
        .map(|entry| format!("  {}  {}", entry.service_instance_id, place(entry)))
        .collect();
    anyhow!(
        "{count} instances have the name `{name}`. Give --org and --space, or the id:\n{}",
        candidates.join("\n")
    )
}

/// The organization and the space of an instance.
pub(crate) fn place(entry: &InventoryEntry) -> String {
    let organization = entry.organization_name.as_deref();
    let organization = organization.or(entry.organization_guid.as_deref());
    let space = entry.space_name.as_deref().or(entry.space_guid.as_deref());
    let parts: Vec<&str> = [organization, space].into_iter().flatten().collect();
    parts.join("/")
}

/// The instance's name; its id where the platform does not report one.
pub(crate) fn name(entry: &InventoryEntry) -> &str {
    let id = entry.service_instance_id.as_str();
    entry.name.as_deref().unwrap_or(id)
}

/// The error for a name that does not exist, with the nearest one, or the command that lists them.
pub(crate) fn unknown<'n>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'n str>,
    list: &str,
) -> anyhow::Error {
    let alike = known.map(|known| (strsim::normalized_damerau_levenshtein(known, name), known));
    let nearest = alike
        .filter(|(likeness, _)| *likeness >= ALIKE || is_short_typo(*likeness, name))
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match nearest {
        Some((_, nearest)) => {
            anyhow!("Unknown {kind} `{name}`. Did you mean `{nearest}`?")
        }
        None => anyhow!("Unknown {kind} `{name}`. List them with `{list}`"),
    }
}

/// One wrong letter of a short name weighs more.
fn is_short_typo(likeness: f64, name: &str) -> bool {
    name.chars().count() <= 4 && likeness >= 0.5
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(id: &str, name: Option<&str>, space: &str) -> InventoryEntry {
        let mut entry = json!({
            "service_instance_id": id, "deployment": "present", "owner": "this_broker",
            "organization_name": "acme", "space_name": space,
        });
        if let Some(name) = name {
            entry["name"] = name.into();
        }
        serde_json::from_value(entry).unwrap()
    }

    fn entries() -> Vec<InventoryEntry> {
        vec![
            entry("i1", Some("orders"), "live"),
            entry("i2", Some("orders"), "test"),
            entry("i3", Some("sessions"), "live"),
            entry("i4", None, "live"),
        ]
    }

    fn error(text: &str) -> String {
        chosen(text, &entries()).unwrap_err().to_string()
    }

    #[test]
    fn an_instance_is_found_by_its_id_and_by_its_name() {
        for (text, id) in [("sessions", "i3"), ("i1", "i1"), ("i4", "i4")] {
            let entries = entries();
            let found = chosen(text, &entries).unwrap();
            assert_eq!(found.service_instance_id.as_str(), id);
        }
    }

    #[test]
    fn a_name_that_several_have_lists_them() {
        assert_eq!(
            error("orders"),
            "2 instances have the name `orders`. Give --org and --space, or the id:\n  i1  acme/live\n  i2  acme/test"
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_one() {
        assert_eq!(
            error("sesions"),
            "Unknown instance `sesions`. Did you mean `sessions`?"
        );
        assert_eq!(
            error("billing"),
            "Unknown instance `billing`. List them with `odb instance list`"
        );
        let short = unknown("context", "liev", ["live"].into_iter(), "odb context list");
        assert!(short.to_string().contains("`live`"), "{short}");
    }
}
