//! `create-service-broker`, `update-service-broker`, `delete-service-broker`, `service-brokers`.

use std::io::Read;
use std::path::PathBuf;

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::arguments::{CreateServiceBroker, DeleteServiceBroker, Polling};
use super::client::{Client, Listing};
use super::error::CfError;
use super::registration::Registration;
use super::screen::Screen;
use super::table::table;
use super::wire::Broker;
use super::{job, lookup};

const PASSWORD_LIMIT: u64 = 64 * 1024;

pub(super) async fn list(client: &mut Client, screen: &mut Screen) -> Result<(), CfError> {
    let brokers: Listing<Broker> = client.list("/v3/service_brokers", &[]).await?;
    if brokers.resources.is_empty() {
        screen.say("there are no service brokers that you can see");
        return Ok(());
    }
    let mut rows: Vec<_> = brokers
        .resources
        .into_iter()
        .map(|broker| [broker.name, broker.url])
        .collect();
    rows.sort();
    screen.print(table(["name", "url"], &rows).as_bytes())
}

/// Gives a broker's address and password anew, which has its catalog read again.
pub(super) async fn update(
    client: &mut Client,
    screen: &mut Screen,
    broker: CreateServiceBroker,
) -> Result<(), CfError> {
    let password = password(broker.password_file.clone()).await?;
    correct(
        client,
        screen,
        &broker.registration(&password),
        broker.polling,
    )
    .await?;
    screen.say(&format!("service broker {} updated", broker.name));
    Ok(())
}

/// The same for a broker whose password is known.
pub(super) async fn correct(
    client: &mut Client,
    screen: &mut Screen,
    registration: &Registration<'_>,
    polling: Polling,
) -> Result<(), CfError> {
    let found = lookup::broker(client, registration.name).await?;
    let body = Correction {
        authentication: registration.authentication(),
        url: registration.url,
    };
    let path = format!("/v3/service_brokers/{}", found.guid);
    let change = client.change(Method::PATCH, &path, Some(&body)).await?;
    Ok(job::follow_to_end(client, screen, change, polling).await?)
}

pub(super) async fn create(
    client: &mut Client,
    screen: &mut Screen,
    broker: CreateServiceBroker,
) -> Result<(), CfError> {
    let password = password(broker.password_file.clone()).await?;
    register(
        client,
        screen,
        &broker.registration(&password),
        broker.polling,
    )
    .await?;
    screen.say(&format!("service broker {} registered", broker.name));
    Ok(())
}

/// The same for a broker whose password is known.
pub(super) async fn register(
    client: &mut Client,
    screen: &mut Screen,
    registration: &Registration<'_>,
    polling: Polling,
) -> Result<(), CfError> {
    let body = Creation {
        name: registration.name,
        url: registration.url,
        authentication: registration.authentication(),
    };
    let path = "/v3/service_brokers";
    let change = client.change(Method::POST, path, Some(&body)).await?;
    Ok(job::follow_to_end(client, screen, change, polling).await?)
}

pub(super) async fn delete(
    client: &mut Client,
    screen: &mut Screen,
    broker: DeleteServiceBroker,
) -> Result<(), CfError> {
    let guid = lookup::broker(client, &broker.name).await?.guid;
    let change = client
        .change(
            Method::DELETE,
            &format!("/v3/service_brokers/{guid}"),
            None::<&()>,
        )
        .await?;
    job::follow_to_end(client, screen, change, broker.polling).await?;
    screen.say(&format!("service broker {} removed", broker.name));
    Ok(())
}

#[derive(Serialize)]
struct Creation<'a> {
    name: &'a str,
    url: &'a str,
    authentication: Authentication<'a>,
}

#[derive(Serialize)]
struct Correction<'a> {
    authentication: Authentication<'a>,
    url: &'a str,
}

#[derive(Serialize)]
struct Authentication<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    credentials: Credentials<'a>,
}

#[derive(Serialize)]
struct Credentials<'a> {
    username: &'a str,
    password: &'a str,
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
    fn authentication(&self) -> Authentication<'_> {
        Authentication {
            kind: "basic",
            credentials: Credentials {
                username: self.username,
                password: self.password.expose_secret(),
            },
        }
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
