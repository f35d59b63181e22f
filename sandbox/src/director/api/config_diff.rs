//! `POST /configs/diff`: what would change between two configs, each given by its id or by its content, or what new
//! content changes of the config that is in force (cloudfoundry/bosh, `api/controllers/configs_controller.rb`).

use actix_web::{
    HttpResponse,
    http::StatusCode,
    web::{Bytes, Data},
};
use serde_json::{Map, Value, json};

use super::{
    Rejection, answer,
    caller::Caller,
    configs::{hash, json_object, version},
};
use crate::director::{
    Director,
    deploy::{DiffLine, Redaction, document_changes},
};

type Content = Map<String, Value>;

enum End<'a> {
    Id(&'a str),
    Content(&'a str),
}

enum Wanted<'a> {
    Two(End<'a>, End<'a>),
    WithCurrent {
        kind: &'a str,
        name: &'a str,
        content: &'a str,
    },
}

pub(super) async fn diff(
    director: Data<Director>,
    caller: Caller,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    caller.may_list()?;
    let document = json_object(&body)?;
    let wanted = Wanted::read(&document).ok_or(Rejection::BadConfigDiff)?;
    let mut shown = Map::new();
    let (before, after) = match wanted {
        Wanted::Two(from, to) => (
            from.content(&director, &caller)?,
            to.content(&director, &caller)?,
        ),
        Wanted::WithCurrent {
            kind,
            name,
            content,
        } => {
            let current = director.inner.configs.latest(kind, name);
            let id = current
                .as_ref()
                .map_or("0".to_owned(), |config| config.id.to_string());
            shown.insert("from".to_owned(), json!({"id": id}));
            let after = diffable(content)?;
            let before = match &current {
                None => Map::new(),
                Some(config) => {
                    caller.may_change_of(config.team.as_ref())?;
                    diffable(&config.content)?
                }
            };
            (before, after)
        }
    };
    let lines = document_changes(&before, &after, Redaction::Hidden);
    let lines: Vec<_> = lines.iter().map(DiffLine::view).collect();
    shown.insert("diff".to_owned(), json!(lines));
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// A content. An invalid one is reported as an error of the diff.
fn diffable(content: &str) -> Result<Content, Rejection> {
    hash(content).map_err(|error| Rejection::NotDiffable(Box::new(error)))
}

impl<'a> Wanted<'a> {
    fn read(document: &'a Content) -> Option<Self> {
        let end = |key| End::read(document.get(key)?);
        if let (Some(from), Some(to)) = (end("from"), end("to")) {
            return Some(Self::Two(from, to));
        }
        let text = |key| document.get(key)?.as_str();
        let present = |key| text(key).filter(|text| !text.is_empty());
        Some(Self::WithCurrent {
            kind: present("type")?,
            name: present("name")?,
            content: text("content")?,
        })
    }
}

impl<'a> End<'a> {
    /// Of one that has both, the id counts.
    fn read(value: &'a Value) -> Option<Self> {
        let text = |key| value.get(key)?.as_str();
        let id = text("id").filter(|id| id.contains(|letter: char| letter.is_ascii_digit()));
        id.map(Self::Id)
            .or_else(|| text("content").map(Self::Content))
    }

    fn content(&self, director: &Director, caller: &Caller) -> Result<Content, Rejection> {
        match self {
            Self::Content(content) => diffable(content),
            Self::Id(id) => {
                let (config, _) = version(director, id)?;
                caller.may_change_of(config.team.as_ref())?;
                diffable(&config.content)
            }
        }
    }
}
