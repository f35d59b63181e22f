//! From the names that people use to the resources that have them.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::available::Available;
use super::client::{Client, Listing};
use super::error::CfError;
use super::wire::{
    App, AppGuid, Binding, Broker, Included, Instance, InstanceGuid, Offering, Organization, Plan,
};

const FIRST: (&str, &str) = ("page", "1");
const ONE: (&str, &str) = ("per_page", "1");
const TWO: (&str, &str) = ("per_page", "2");

/// The service broker of this name.
pub(super) async fn broker(client: &mut Client, name: &str) -> Result<Broker, CfError> {
    let query = [("names", &*list_item(name)), FIRST, ONE];
    let found: Listing<Broker> = client.first_page("/v3/service_brokers", &query).await?;
    found
        .resources
        .into_iter()
        .next()
        .ok_or_else(|| CfError::NoBroker(name.to_owned()))
}

/// The organization of this name.
pub(super) async fn organization(client: &mut Client, name: &str) -> Result<Organization, CfError> {
    let query = [("names", &*list_item(name)), FIRST, ONE];
    let found: Listing<Organization> = client.first_page("/v3/organizations", &query).await?;
    if let Some(organization) = found.resources.into_iter().next() {
        return Ok(organization);
    }
    let available = Available::of(client, "/v3/organizations", &[]).await;
    Err(CfError::NoOrganization(name.to_owned(), available))
}

/// The app of this name in the space.
pub(super) async fn app(client: &mut Client, name: &str) -> Result<App, CfError> {
    let space = client.space().to_string();
    let query = [
        ("names", &*list_item(name)),
        FIRST,
        ONE,
        ("space_guids", &*space),
    ];
    let found: Listing<App> = client.first_page("/v3/apps", &query).await?;
    if let Some(app) = found.resources.into_iter().next() {
        return Ok(app);
    }
    let in_space = [("space_guids", &*space)];
    let available = Available::of(client, "/v3/apps", &in_space).await;
    Err(CfError::NoApp(name.to_owned(), available))
}

/// The bindings of an app to a service instance.
pub(super) async fn app_bindings(
    client: &mut Client,
    app: &AppGuid,
    instance: &InstanceGuid,
) -> Result<Vec<Binding>, CfError> {
    let (app, instance) = (app.to_string(), instance.to_string());
    let query = [
        ("app_guids", &*app),
        ("service_instance_guids", &*instance),
        ("type", "app"),
    ];
    let found: Listing<Binding> = client
        .list("/v3/service_credential_bindings", &query)
        .await?;
    Ok(found.resources)
}

/// The one offering of this name, of this broker if one is named.
pub(super) async fn offering(
    client: &mut Client,
    name: &str,
    broker: Option<&str>,
) -> Result<Offering, CfError> {
    let broker = broker.map(list_item);
    let (fields, names) = (("fields[service_broker]", "name,guid"), list_item(name));
    let mut query = vec![fields, ("names", &*names)];
    query.extend(
        broker
            .as_deref()
            .map(|broker| ("service_broker_names", broker)),
    );
    query.extend([FIRST, TWO]);
    let mut found: Listing<Offering> = client.first_page("/v3/service_offerings", &query).await?;
    match found.resources.len() {
        0 => {
            let available = Available::of(client, "/v3/service_offerings", &[]).await;
            Err(CfError::NoOffering(name.to_owned(), available))
        }
        1 => Ok(found.resources.remove(0)),
        _ => Err(CfError::AmbiguousOffering(name.to_owned())),
    }
}

/// The one plan of this name of an offering of that name.
pub(super) async fn plan(client: &mut Client, offering: &str, plan: &str) -> Result<Plan, CfError> {
    let query = [
        ("names", &*list_item(plan)),
        ("service_offering_names", &*list_item(offering)),
    ];
    let mut found: Listing<Plan> = client.list("/v3/service_plans", &query).await?;
    match found.resources.len() {
        0 => {
            let of_offering = [("service_offering_names", &*list_item(offering))];
            Err(CfError::NoPlan {
                offering: offering.to_owned(),
                plan: plan.to_owned(),
                available: Available::of(client, "/v3/service_plans", &of_offering).await,
            })
        }
        1 => Ok(found.resources.remove(0)),
        brokers => Err(CfError::AmbiguousPlan {
            offering: offering.to_owned(),
            plan: plan.to_owned(),
            brokers,
        }),
    }
}

/// The service instance of this name in the space.
pub(super) async fn instance(client: &mut Client, name: &str) -> Result<Instance, CfError> {
    match find_instance(client, name).await? {
        Some(instance) => Ok(instance),
        None => Err(no_instance(client, name).await),
    }
}

/// The error about an unknown service instance of the space.
pub(super) async fn no_instance(client: &mut Client, name: &str) -> CfError {
    let space = client.space().to_string();
    let in_space = [("space_guids", &*space)];
    let available = Available::of(client, "/v3/service_instances", &in_space).await;
    CfError::NoInstance(name.to_owned(), available)
}

/// The service instance of this name in the space, if there is one.
pub(super) async fn find_instance(
    client: &mut Client,
    name: &str,
) -> Result<Option<Instance>, CfError> {
    Ok(instance_with(client, name, &[])
        .await?
        .map(|(instance, _)| instance))
}

/// The service instance of this name, and the related resources that `fields` ask for.
pub(super) async fn instance_with(
    client: &mut Client,
    name: &str,
    fields: &[(&str, &str)],
) -> Result<Option<(Instance, Included)>, CfError> {
    let space = client.space().to_string();
    let name = list_item(name);
    let mut query = fields.to_vec();
    query.extend([("names", &*name), FIRST, ONE, ("space_guids", &*space)]);
    let found: Listing<Instance> = client.first_page("/v3/service_instances", &query).await?;
    Ok(found
        .resources
        .into_iter()
        .next()
        .map(|instance| (instance, found.included)))
}

/// The key of this name of a service instance.
pub(super) async fn find_key(
    client: &mut Client,
    instance: &InstanceGuid,
    name: &str,
) -> Result<Option<Binding>, CfError> {
    let instance = instance.to_string();
    let query = [
        ("names", &*list_item(name)),
        FIRST,
        ONE,
        ("service_instance_guids", &*instance),
        ("type", "key"),
    ];
    let found: Listing<Binding> = client
        .first_page("/v3/service_credential_bindings", &query)
        .await?;
    Ok(found.resources.into_iter().next())
}

/// Filters are lists: a comma inside a name is encoded once more (`spec/contracts/platform-apis.md`, "Lists").
pub(super) fn list_item(name: &str) -> String {
    const SEPARATORS: &AsciiSet = &CONTROLS.add(b',').add(b'%');
    utf8_percent_encode(name, SEPARATORS).to_string()
}

#[cfg(test)]
mod tests {
    use super::list_item;

    #[test]
    fn a_comma_in_a_name_does_not_end_it() {
        assert_eq!(list_item("cache, 100%"), "cache%2C 100%25");
    }
}
