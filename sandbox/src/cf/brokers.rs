//! `create-service-broker`, `update-service-broker`, `delete-service-broker`, `service-brokers`; `service-access`,
//! `enable-service-access`, `disable-service-access`.

use std::{io::Read, path::PathBuf};

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{
    Cf,
    arguments::{CreateServiceBroker, DeleteServiceBroker, Polling, ServiceAccess},
    error::CfError,
    guid, job, lookup,
    output::table,
    registration::Registration,
    text,
};

pub(super) const PUBLIC: &str = "public";
pub(super) const ADMIN: &str = "admin";
const ORGANIZATION: &str = "organization";
const PASSWORD_LIMIT: u64 = 64 * 1024;

pub(super) async fn list(cf: &mut Cf<'_>) -> Result<(), CfError> {
    let brokers = cf.client.list("/v3/service_brokers", &[]).await?.resources;
    if brokers.is_empty() {
        cf.screen
            .say("there are no service brokers that you can see");
        return Ok(());
    }
    let rows = brokers
        .iter()
        .map(|row| ["/name", "/url"].map(|member| text(row, member).to_owned()));
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    cf.screen.print(table(["name", "url"], &rows).as_bytes())
}

/// Gives a broker's address and password anew, which has its catalog read again.
pub(super) async fn update(cf: &mut Cf<'_>, broker: CreateServiceBroker) -> Result<(), CfError> {
    let password = password(broker.password_file.clone()).await?;
    correct(cf, &broker.registration(&password), broker.polling).await?;
    cf.screen
        .say(&format!("service broker {} updated", broker.name));
    Ok(())
}

/// The same for a broker whose password is known.
pub(super) async fn correct(
    cf: &mut Cf<'_>,
    registration: &Registration<'_>,
    polling: Polling,
) -> Result<(), CfError> {
    let found = lookup::broker(&mut cf.client, registration.name).await?;
    let body = json!({"authentication": registration.authentication(), "url": registration.url});
    let path = format!("/v3/service_brokers/{}", guid(&found));
    let change = cf.client.change(Method::PATCH, &path, &body).await?;
    Ok(job::follow_to_end(cf, change, polling).await?)
}

pub(super) async fn create(cf: &mut Cf<'_>, broker: CreateServiceBroker) -> Result<(), CfError> {
    let password = password(broker.password_file.clone()).await?;
    register(cf, &broker.registration(&password), broker.polling).await?;
    cf.screen
        .say(&format!("service broker {} registered", broker.name));
    Ok(())
}

/// The same for a broker whose password is known.
pub(super) async fn register(
    cf: &mut Cf<'_>,
    registration: &Registration<'_>,
    polling: Polling,
) -> Result<(), CfError> {
    let body = json!({
        "name": registration.name,
        "url": registration.url,
        "authentication": registration.authentication(),
    });
    let change = cf
        .client
        .change(Method::POST, "/v3/service_brokers", &body)
        .await?;
    Ok(job::follow_to_end(cf, change, polling).await?)
}

pub(super) async fn delete(cf: &mut Cf<'_>, broker: DeleteServiceBroker) -> Result<(), CfError> {
    let found = lookup::broker(&mut cf.client, &broker.name).await?;
    let path = format!("/v3/service_brokers/{}", guid(&found));
    let change = cf.client.delete(path).await?;
    job::follow_to_end(cf, change, broker.polling).await?;
    cf.screen
        .say(&format!("service broker {} removed", broker.name));
    Ok(())
}

impl CreateServiceBroker {
    fn registration<'a>(&'a self, password: &'a SecretString) -> Registration<'a> {
        Registration {
            name: &self.name,
            // `Url` ends an address without a path with a slash; the platform puts its own in front of `v2`.
            url: self.url.as_str().trim_end_matches('/'),
            username: &self.username,
            password,
        }
    }
}

impl Registration<'_> {
    fn authentication(&self) -> Value {
        let password = self.password.expose_secret();
        json!({"type": "basic", "credentials": {"username": self.username, "password": password}})
    }
}

/// Reads the broker's password from a file or standard input; arguments would show it to every user of the machine.
async fn password(file: Option<PathBuf>) -> Result<SecretString, CfError> {
    let from = file.as_ref().map_or_else(
        || "standard input".to_owned(),
        |path| format!("`{}`", path.display()),
    );
    let read = tokio::task::spawn_blocking(move || match file {
        Some(path) => std::fs::File::open(path).and_then(read_password),
        None => read_password(std::io::stdin()),
    });
    let text = match read.await {
        Ok(text) => text,
        Err(ended) => Err(std::io::Error::other(ended)),
    };
    let text = text.map_err(|source| CfError::ReadPassword {
        from: from.clone(),
        source,
    })?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(CfError::EmptyPassword { from });
    }
    Ok(password.into())
}

fn read_password(source: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(PASSWORD_LIMIT).read_to_string(&mut text)?;
    Ok(text)
}

/// Lists every plan with who sees it.
pub(super) async fn list_access(cf: &mut Cf<'_>) -> Result<(), CfError> {
    let query = [("fields[service_broker]", "name,guid")];
    let offerings = cf.client.list("/v3/service_offerings", &query).await?;
    let query = [("include", "space.organization")];
    let plans = cf.client.list("/v3/service_plans", &query).await?.resources;
    let mut rows = Vec::new();
    for plan in &plans {
        let access = text(plan, "/visibility_type");
        let organizations = if access == ORGANIZATION {
            let path = format!("/v3/service_plans/{}/visibility", guid(plan));
            let visibility: Value = cf.client.get(&path).await?;
            let organizations = visibility["organizations"].as_array();
            let names = organizations
                .into_iter()
                .flatten()
                .map(|row| text(row, "/name"));
            names.collect::<Vec<_>>().join(", ")
        } else {
            String::new()
        };
        let offering = text(plan, "/relationships/service_offering/data/guid");
        let offering = offerings.resources.iter().find(|row| guid(row) == offering);
        let broker = offering.and_then(|row| {
            let broker = text(row, "/relationships/service_broker/data/guid");
            offerings.included("service_brokers", Some(broker))
        });
        let name = |row: Option<&Value>| row.map_or("", |row| text(row, "/name")).to_owned();
        rows.push([
            name(broker),
            name(offering),
            name(Some(plan)),
            access.to_owned(),
            organizations,
        ]);
    }
    if rows.is_empty() {
        cf.screen.say("there are no plans");
        return Ok(());
    }
    rows.sort();
    let headings = ["broker", "offering", "plan", "access", "organizations"];
    cf.screen.print(table(headings, &rows).as_bytes())
}

/// Makes plans available to all organizations or to one. A plan that is available to all stays so.
pub(super) async fn enable_access(cf: &mut Cf<'_>, access: ServiceAccess) -> Result<(), CfError> {
    let plans = plans(cf, &access).await?;
    let body = match &access.organization {
        None => json!({"type": PUBLIC}),
        Some(name) => {
            let organization = lookup::organization(&mut cf.client, name).await?;
            json!({"type": ORGANIZATION, "organizations": [{"guid": guid(&organization)}]})
        }
    };
    let whom = access
        .organization
        .as_deref()
        .unwrap_or("all organizations");
    for plan in &plans {
        let name = format!("plan {} of {}", text(plan, "/name"), access.offering);
        if access.organization.is_some() && text(plan, "/visibility_type") == PUBLIC {
            cf.screen
                .say(&format!("{name} is already available to all organizations"));
            continue;
        }
        let path = format!("/v3/service_plans/{}/visibility", guid(plan));
        cf.client.change(Method::POST, &path, &body).await?;
        cf.screen.say(&format!("{name} is open to {whom}"));
    }
    Ok(())
}

/// Hides plans from all organizations or from one.
pub(super) async fn disable_access(cf: &mut Cf<'_>, access: ServiceAccess) -> Result<(), CfError> {
    let plans = plans(cf, &access).await?;
    let organization = match &access.organization {
        None => None,
        Some(name) => Some(lookup::organization(&mut cf.client, name).await?),
    };
    let whom = access
        .organization
        .as_deref()
        .unwrap_or("all organizations");
    for plan in plans
        .iter()
        .filter(|plan| text(plan, "/visibility_type") != ADMIN)
    {
        let path = format!("/v3/service_plans/{}/visibility", guid(plan));
        match &organization {
            None => {
                let body = json!({"type": ADMIN});
                cf.client.change(Method::POST, &path, &body).await?;
            }
            Some(organization) => {
                cf.client
                    .delete(format_args!("{path}/{}", guid(organization)))
                    .await?;
            }
        }
        let name = format!("plan {} of {}", text(plan, "/name"), access.offering);
        cf.screen.say(&format!("{name} is hidden from {whom}"));
    }
    Ok(())
}

/// The plans of the offering, or the one that was named.
async fn plans(cf: &mut Cf<'_>, access: &ServiceAccess) -> Result<Vec<Value>, CfError> {
    let broker = access.broker.as_deref();
    let offering = lookup::offering(&mut cf.client, &access.offering, broker).await?;
    lookup::plans(&mut cf.client, guid(&offering), access.plan.as_deref()).await
}
