//! Links: providers, consumers, links, the address behind one, links for outsiders.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use serde_json::{Value, json};

use super::{
    Rejection,
    answer::{self, Parameters, parameters},
    caller::Caller,
    submission::deployment,
};
use crate::director::{
    Director,
    ids::DeploymentName,
    links::{AddressQuery, ExternalLink, Health, Links},
};

pub(super) async fn providers(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    of_deployment(&request, &director, &caller, Links::providers)
}

pub(super) async fn consumers(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    of_deployment(&request, &director, &caller, Links::consumers)
}

pub(super) async fn list(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    of_deployment(&request, &director, &caller, Links::links)
}

/// Creates a link for a consumer outside of all deployments. A repeated request returns the same link.
pub(super) async fn create(
    director: Data<Director>,
    caller: Caller,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    caller.may_create()?;
    let document: Value = serde_json::from_slice(&body).map_err(|_| Rejection::Unreadable)?;
    let link = external_link(&document)?;
    let link = director.inner.links.create(link)?;
    Ok(answer::json_as_html(StatusCode::OK, &link))
}

pub(super) async fn delete(
    director: Data<Director>,
    caller: Caller,
    id: Path<String>,
) -> Result<HttpResponse, Rejection> {
    caller.may_create()?;
    director.inner.links.delete(&id)?;
    Ok(answer::no_content())
}

pub(super) async fn address(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let parameters = parameters(&request);
    let id = parameters.get("link_id").ok_or(Rejection::LinkIdMissing)?;
    let query = address_query(&director, &parameters)?;
    let address = director.inner.links.address(id, &query)?;
    Ok(answer::json_as_html(
        StatusCode::OK,
        &json!({"address": address}),
    ))
}

fn of_deployment(
    request: &HttpRequest,
    director: &Director,
    caller: &Caller,
    view: impl FnOnce(&Links, &DeploymentName) -> Vec<Value>,
) -> Result<HttpResponse, Rejection> {
    let parameters = parameters(request);
    let name = parameters
        .get("deployment")
        .ok_or(Rejection::DeploymentMissing)?;
    let (name, row) = deployment(director, name.to_owned())?;
    caller.may_read(&row)?;
    let shown = view(&director.inner.links, &name);
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

fn external_link(document: &Value) -> Result<ExternalLink, Rejection> {
    let provider = match document.get("link_provider_id") {
        None | Some(Value::Null) => return Err(bad("`link_provider_id` must be provided")),
        Some(Value::String(id)) if id.is_empty() => {
            return Err(bad("`link_provider_id` must be provided"));
        }
        Some(Value::String(id)) => id,
        Some(_) => return Err(bad("`link_provider_id` must be a String")),
    };
    let part = |value: &Value, key: &str| value.get(key).filter(|part| !part.is_null()).cloned();
    let consumer = part(document, "link_consumer")
        .ok_or_else(|| bad("`link_consumer` section must be defined"))?;
    let owner = part(&consumer, "owner_object")
        .ok_or_else(|| bad("`link_consumer.owner_object` section must be defined"))?;
    if part(&owner, "type") != Some(json!("external")) {
        return Err(bad(
            "`link_consumer.owner_object.type` should be 'external'",
        ));
    }
    let name = part(&owner, "name").and_then(|name| name.as_str().map(str::to_owned));
    let name = name
        .filter(|name| !name.is_empty())
        .ok_or_else(|| bad("`link_consumer.owner_object.name` must not be empty"))?;
    Ok(ExternalLink {
        provider: provider
            .parse()
            .map_err(|_| Rejection::NoSuchLinkProvider(provider.clone()))?,
        consumer: name,
        network: part(document, "network").and_then(|name| name.as_str().map(str::to_owned)),
    })
}

fn bad(error: &'static str) -> Rejection {
    Rejection::BadLink(error)
}

fn address_query(director: &Director, parameters: &Parameters) -> Result<AddressQuery, Rejection> {
    let inner = &director.inner;
    if parameters.get("azs").is_some() {
        return Err(Rejection::AzsNotAList);
    }
    inner.links.number_azs(inner.names_in_cloud_configs("azs"));
    let azs = parameters.all("azs[]");
    if let Some(unknown) = azs.iter().find(|az| !inner.links.knows_az(az)) {
        return Err(Rejection::NoSuchAz(unknown.clone()));
    }
    let health = match parameters.get("status") {
        None => Health::default(),
        Some(status) => Health::of_name(status).ok_or(Rejection::NoSuchHealth)?,
    };
    Ok(AddressQuery { azs, health })
}
