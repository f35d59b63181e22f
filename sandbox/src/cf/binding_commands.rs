//! `bind-service`, `unbind-service`.

use reqwest::Method;
use serde::Serialize;

use super::arguments::{BindService, UnbindService};
use super::client::Client;
use super::error::CfError;
use super::job::{self, Outcome};
use super::lookup;
use super::parameters::{self, Parameters};
use super::screen::Screen;
use super::wire::{AppGuid, InstanceGuid, To};

pub(super) async fn bind(
    client: &mut Client,
    screen: &mut Screen,
    order: BindService,
) -> Result<(), CfError> {
    let parameters = parameters::read(order.parameters).await?;
    let instance = lookup::instance(client, &order.instance).await?;
    let app = lookup::app(client, &order.app).await?;
    let body = NewBinding {
        kind: "app",
        parameters,
        relationships: BindingRelationships {
            app: To::new(app.guid),
            service_instance: To::new(instance.guid),
        },
    };
    let change = client
        .change(Method::POST, "/v3/service_credential_bindings", Some(&body))
        .await?;
    let what = format!("app {} to {}", order.app, order.instance);
    match job::follow(client, screen, change, &order.waiting).await? {
        Outcome::Complete => screen.say(&format!("bound {what}")),
        Outcome::InProgress => screen.say(&format!("binding {what} in progress")),
    }
    Ok(())
}

/// Ends all bindings of an app to a service instance. Where there is none nothing is to be done.
pub(super) async fn unbind(
    client: &mut Client,
    screen: &mut Screen,
    order: UnbindService,
) -> Result<(), CfError> {
    let instance = lookup::instance(client, &order.instance).await?;
    let app = lookup::app(client, &order.app).await?;
    let bindings = lookup::app_bindings(client, &app.guid, &instance.guid).await?;
    let what = format!("app {} from {}", order.app, order.instance);
    if bindings.is_empty() {
        screen.say(&format!(
            "app {} is not bound to {}",
            order.app, order.instance
        ));
    }
    for binding in bindings {
        let path = format!("/v3/service_credential_bindings/{}", binding.guid);
        let change = client.change(Method::DELETE, &path, None::<&()>).await?;
        match job::follow(client, screen, change, &order.waiting).await? {
            Outcome::Complete => screen.say(&format!("unbound {what}")),
            Outcome::InProgress => screen.say(&format!("unbinding {what} in progress")),
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct NewBinding {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters>,
    relationships: BindingRelationships,
}

#[derive(Serialize)]
struct BindingRelationships {
    app: To<AppGuid>,
    service_instance: To<InstanceGuid>,
}
