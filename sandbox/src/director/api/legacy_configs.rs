//! `/cloud_configs`, `/runtime_configs` and `/cpi_configs`: the routes of before `/configs`, which the `bosh` command
//! line still takes for its commands `cloud-config`, `update-cloud-config` and so on (cloudfoundry/bosh,
//! `api/controllers/cloud_configs_controller.rb` and its neighbors).

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{self, Bytes, Data, Query, ServiceConfig},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Body, Rejection, answer, caller::Caller, configs::hash, configs::rewritten,
    submission::SentManifest,
};
use crate::director::{
    Director,
    audit::{Deed, Doer},
    configs::{ConfigFilter, ConfigView, NewConfig},
    deploy::{DiffLine, Redaction, document_changes},
};

const DEFAULT_NAME: &str = "default";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegacyKind {
    Cloud,
    Runtime,
    Cpi,
}

#[derive(Deserialize)]
struct ListOptions {
    name: Option<String>,
    limit: Option<String>,
}

#[derive(Deserialize)]
struct ChangeOptions {
    name: Option<String>,
    redact: Option<String>,
}

pub(super) fn mount(cfg: &mut ServiceConfig, kind: LegacyKind) {
    let list = move |director: Data<Director>, caller: Caller, options: Query<ListOptions>| async move {
        list(kind, &director, &caller, options.into_inner())
    };
    let update = move |director: Data<Director>,
                       caller: Caller,
                       options: Query<ChangeOptions>,
                       body: Bytes| async move {
        update(kind, &director, &caller, options.into_inner(), &body)
    };
    let diff = move |director: Data<Director>,
                     caller: Caller,
                     options: Query<ChangeOptions>,
                     body: Bytes| async move {
        diff(kind, &director, &caller, options.into_inner(), &body)
    };
    let yaml = || web::post().guard(Body("text/yaml"));
    cfg.route(kind.path(), web::get().to(list))
        .route(kind.path(), yaml().to(update))
        .route(&format!("{}/diff", kind.path()), yaml().to(diff));
}

/// The latest versions of one config, the newest first.
fn list(
    kind: LegacyKind,
    director: &Director,
    caller: &Caller,
    options: ListOptions,
) -> Result<HttpResponse, Rejection> {
    match kind {
        LegacyKind::Cloud | LegacyKind::Runtime => caller.may_read_all()?,
        LegacyKind::Cpi => caller.may_administer()?,
    }
    let limit = options.limit.filter(|limit| !limit.is_empty());
    let limit = limit.ok_or(Rejection::LimitMissing)?;
    let number: i64 = limit
        .parse()
        .map_err(|_| Rejection::LimitNotAnInteger(limit))?;
    // The Director's database library raises an exception for less than nothing.
    let versions = usize::try_from(number).map_err(|_| Rejection::Unreadable)?;
    let configs = director.inner.configs.list(&ConfigFilter {
        kind: Some(kind.config_type().to_owned()),
        name: Some(kind.name(options.name)),
        versions: Some(versions),
        ..ConfigFilter::default()
    });
    let shown: Vec<Value> = configs.iter().map(ConfigView::as_properties).collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// Adds a version, unless the latest one has the same content.
fn update(
    kind: LegacyKind,
    director: &Director,
    caller: &Caller,
    options: ChangeOptions,
    body: &[u8],
) -> Result<HttpResponse, Rejection> {
    caller.may_administer()?;
    let name = kind.name(options.name);
    let outcome = content(kind, body);
    let configs = &director.inner.configs;
    let latest = configs.latest(kind.config_type(), &name);
    let is_latest = |content: &String| latest.is_some_and(|latest| latest.content == *content);
    if !outcome.as_ref().is_ok_and(is_latest) {
        let doer = Doer {
            user: &caller.user,
            task: None,
            deployment: None,
        };
        let deed = Deed::new("update", kind.audited_as()).ended(&outcome);
        let deed = match kind {
            LegacyKind::Cloud | LegacyKind::Runtime => deed.named(&name),
            LegacyKind::Cpi => deed,
        };
        director.inner.audit.record(&doer, deed);
    }
    let new = NewConfig {
        kind: kind.config_type().to_owned(),
        name,
        content: outcome?,
        team: None,
        expected_latest: None,
    };
    configs.post(new).map_err(Rejection::StaleConfig)?;
    Ok(answer::html(StatusCode::CREATED, ""))
}

fn diff(
    kind: LegacyKind,
    director: &Director,
    caller: &Caller,
    options: ChangeOptions,
    body: &[u8],
) -> Result<HttpResponse, Rejection> {
    caller.may_administer()?;
    let after = SentManifest::read(body)?.document;
    let name = kind.name(options.name);
    let before = match director.inner.configs.latest(kind.config_type(), &name) {
        Some(latest) => hash(&latest.content)?,
        None => Map::new(),
    };
    let redaction = match (kind, options.redact.as_deref()) {
        (LegacyKind::Cloud, _) | (_, Some("false")) => Redaction::Shown,
        (LegacyKind::Runtime | LegacyKind::Cpi, _) => Redaction::Hidden,
    };
    let lines = document_changes(&before, &after, redaction);
    let lines: Vec<_> = lines.iter().map(DiffLine::view).collect();
    Ok(answer::json_as_html(
        StatusCode::OK,
        &json!({"diff": lines}),
    ))
}

fn content(kind: LegacyKind, body: &[u8]) -> Result<String, Rejection> {
    let sent = SentManifest::read(body)?;
    match kind {
        LegacyKind::Runtime => rewritten(sent.document),
        LegacyKind::Cloud | LegacyKind::Cpi => Ok(sent.text),
    }
}

impl LegacyKind {
    pub(super) const ALL: [Self; 3] = [Self::Cloud, Self::Runtime, Self::Cpi];

    fn path(self) -> &'static str {
        match self {
            Self::Cloud => "/cloud_configs",
            Self::Runtime => "/runtime_configs",
            Self::Cpi => "/cpi_configs",
        }
    }

    fn config_type(self) -> &'static str {
        match self {
            Self::Cloud => "cloud",
            Self::Runtime => "runtime",
            Self::Cpi => "cpi",
        }
    }

    fn audited_as(self) -> &'static str {
        match self {
            Self::Cloud => "cloud-config",
            Self::Runtime => "runtime-config",
            Self::Cpi => "cpi-config",
        }
    }

    /// Which config is meant. CPI configs know one name only.
    fn name(self, wanted: Option<String>) -> String {
        match self {
            Self::Cloud | Self::Runtime => wanted.filter(|name| !name.is_empty()),
            Self::Cpi => None,
        }
        .unwrap_or_else(|| DEFAULT_NAME.to_owned())
    }
}
