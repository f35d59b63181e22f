//! From the names that people use to the resources that have them.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use super::{
    client::{Client, Listing},
    error::CfError,
    text,
};

/// How many names an error lists.
const LISTED: usize = 10;

/// The names that exist instead of an unknown one. Displayed as the end of an error message.
#[derive(Debug)]
pub(super) struct Available(Vec<String>);

impl Available {
    /// Reads the names of a list. A list that cannot be read has none: the error about the unknown name matters more.
    pub(super) async fn of(client: &mut Client, path: &str, query: &[(&str, &str)]) -> Self {
        let found = client.list(path, query).await.unwrap_or_default();
        let names = found
            .resources
            .iter()
            .map(|row| text(row, "/name").to_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        Self(names)
    }
}

impl Available {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Available {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(names) = self;
        if names.is_empty() {
            return Ok(());
        }
        let (listed, more) = names.split_at(names.len().min(LISTED));
        write!(f, "; available: {}", listed.join(", "))?;
        match more.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The first resource of a name in a list, with its related resources.
async fn first(
    client: &mut Client,
    path: &str,
    name: &str,
    filters: &[(&str, &str)],
    fields: &[(&str, &str)],
) -> Result<Option<(Value, Listing)>, CfError> {
    let name = list_item(name);
    let mut query = fields.to_vec();
    query.extend([("names", &*name), ("page", "1"), ("per_page", "1")]);
    query.extend(filters);
    let mut found = client.first_page(path, &query).await?;
    if found.resources.is_empty() {
        return Ok(None);
    }
    Ok(Some((found.resources.swap_remove(0), found)))
}

pub(super) async fn broker(client: &mut Client, name: &str) -> Result<Value, CfError> {
    let found = first(client, "/v3/service_brokers", name, &[], &[]).await?;
    let found = found.ok_or_else(|| CfError::NoBroker(name.to_owned()))?;
    Ok(found.0)
}

pub(super) async fn organization(client: &mut Client, name: &str) -> Result<Value, CfError> {
    let path = "/v3/organizations";
    if let Some((organization, _)) = first(client, path, name, &[], &[]).await? {
        return Ok(organization);
    }
    let available = Available::of(client, path, &[]).await;
    Err(CfError::NoOrganization(name.to_owned(), available))
}

/// The space of this name, whichever organization it is in.
pub(super) async fn space(client: &mut Client, name: &str) -> Result<Value, CfError> {
    let path = "/v3/spaces";
    if let Some((space, _)) = first(client, path, name, &[], &[]).await? {
        return Ok(space);
    }
    let available = Available::of(client, path, &[]).await;
    Err(CfError::NoSpace(name.to_owned(), available))
}

pub(super) async fn app(client: &mut Client, name: &str) -> Result<Value, CfError> {
    let space = client.space.clone();
    let in_space = [("space_guids", &*space)];
    if let Some((app, _)) = first(client, "/v3/apps", name, &in_space, &[]).await? {
        return Ok(app);
    }
    let available = Available::of(client, "/v3/apps", &in_space).await;
    Err(CfError::NoApp(name.to_owned(), available))
}

pub(super) async fn offering(
    client: &mut Client,
    name: &str,
    broker: Option<&str>,
) -> Result<Value, CfError> {
    let (names, broker) = (list_item(name), broker.map(list_item));
    let mut query = vec![("fields[service_broker]", "name,guid"), ("names", &*names)];
    query.extend(
        broker
            .as_deref()
            .map(|broker| ("service_broker_names", broker)),
    );
    query.extend([("page", "1"), ("per_page", "2")]);
    let mut found = client.first_page("/v3/service_offerings", &query).await?;
    match found.resources.len() {
        0 => {
            let available = Available::of(client, "/v3/service_offerings", &[]).await;
            Err(CfError::NoOffering(name.to_owned(), available))
        }
        1 => Ok(found.resources.swap_remove(0)),
        _ => Err(CfError::AmbiguousOffering(name.to_owned())),
    }
}

/// The one plan of this name of an offering of that name.
pub(super) async fn plan(
    client: &mut Client,
    offering: &str,
    plan: &str,
) -> Result<Value, CfError> {
    let (names, offerings) = (list_item(plan), list_item(offering));
    let of_offering = [("service_offering_names", &*offerings)];
    let query = [("names", &*names), of_offering[0]];
    let mut found = client.list("/v3/service_plans", &query).await?;
    let (offering, plan) = (offering.to_owned(), plan.to_owned());
    match found.resources.len() {
        0 => {
            // An offering without plans is not visible, or does not exist.
            let available = Available::of(client, "/v3/service_plans", &of_offering).await;
            if available.is_empty() {
                let available = Available::of(client, "/v3/service_offerings", &[]).await;
                return Err(CfError::NoOffering(offering, available));
            }
            Err(CfError::NoPlan {
                offering,
                plan,
                available,
            })
        }
        1 => Ok(found.resources.swap_remove(0)),
        brokers => Err(CfError::AmbiguousPlan {
            offering,
            plan,
            brokers,
        }),
    }
}

/// The plans of an offering, or those that have a name.
pub(super) async fn plans(
    client: &mut Client,
    offering: &str,
    plan: Option<&str>,
) -> Result<Vec<Value>, CfError> {
    let names = plan.map(list_item);
    let of_offering = ("service_offering_guids", offering);
    let names = names.as_deref().map(|names| ("names", names));
    let query: Vec<_> = names.into_iter().chain([of_offering]).collect();
    let found = client.list("/v3/service_plans", &query).await?.resources;
    match plan {
        Some(plan) if found.is_empty() => {
            let available = Available::of(client, "/v3/service_plans", &[of_offering]).await;
            Err(CfError::NoOtherPlan(plan.to_owned(), available))
        }
        _ => Ok(found),
    }
}

pub(super) async fn instance(client: &mut Client, name: &str) -> Result<Value, CfError> {
    Ok(instance_with(client, name, &[]).await?.0)
}

pub(super) async fn find_instance(
    client: &mut Client,
    name: &str,
    fields: &[(&str, &str)],
) -> Result<Option<(Value, Listing)>, CfError> {
    let space = client.space.clone();
    let in_space = [("space_guids", &*space)];
    first(client, "/v3/service_instances", name, &in_space, fields).await
}

/// The service instance of this name, and the related resources that `fields` ask for.
pub(super) async fn instance_with(
    client: &mut Client,
    name: &str,
    fields: &[(&str, &str)],
) -> Result<(Value, Listing), CfError> {
    if let Some(found) = find_instance(client, name, fields).await? {
        return Ok(found);
    }
    let space = client.space.clone();
    let in_space = [("space_guids", &*space)];
    let available = Available::of(client, "/v3/service_instances", &in_space).await;
    Err(CfError::NoInstance(name.to_owned(), available))
}

pub(super) async fn find_key(
    client: &mut Client,
    instance: &str,
    name: &str,
) -> Result<Option<Value>, CfError> {
    let query = [("service_instance_guids", instance), ("type", "key")];
    let found = first(client, "/v3/service_credential_bindings", name, &query, &[]).await?;
    Ok(found.map(|(key, _)| key))
}

/// Filters are lists: a comma inside a name is encoded once more (`spec/contracts/platform-apis.md`, "Lists").
fn list_item(name: &str) -> String {
    const SEPARATORS: &AsciiSet = &CONTROLS.add(b',').add(b'%');
    utf8_percent_encode(name, SEPARATORS).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Available, list_item};

    #[test]
    fn a_comma_in_a_name_does_not_end_it() {
        assert_eq!(list_item("cache, 100%"), "cache%2C 100%25");
    }

    #[test]
    fn at_most_ten_names_are_listed() {
        let names = |count: u32| Available((0..count).map(|n| format!("n{n}")).collect());
        assert_eq!(names(0).to_string(), "");
        assert_eq!(names(2).to_string(), "; available: n0, n1");
        assert!(names(12).to_string().ends_with(", n9 and 2 more"));
    }
}
