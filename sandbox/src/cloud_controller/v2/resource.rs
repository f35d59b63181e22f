//! What all kinds of resources of v2 have in common: lists with filters and pages, and single reads
//! (`spec/contracts/platform-apis.md`, "Cloud Controller v2", "Common").

use std::ops::Deref;

use actix_web::{Error, FromRequest, HttpRequest, dev::Payload};
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{V2Response, ok, rejection::V2Rejection};
use crate::cloud_controller::{
    api::{Call, View, stamp},
    broker_client::AcceptsIncomplete,
};

const DEFAULT_PAGE_SIZE: usize = 50;
const MAXIMUM_PAGE_SIZE: usize = 100;

/// A request, with errors in the form of v2.
pub(super) struct V2Call(Call);

impl Deref for V2Call {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.0
    }
}

impl FromRequest for V2Call {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let call = Call::with_body::<V2Rejection>(request, payload);
        Box::pin(async move { call.await.map(Self) })
    }
}

impl V2Call {
    /// Reads the body. Its content type is of no interest: clients send forms that hold JSON.
    pub(super) fn message<T: DeserializeOwned>(&self) -> Result<T, V2Rejection> {
        let read = serde_json::from_slice(&self.body);
        read.map_err(|error| V2Rejection::unreadable(&error.to_string()))
    }

    pub(super) fn must_be_admin(&self) -> Result<(), V2Rejection> {
        Ok(self.caller.must_be_admin()?)
    }

    /// Whether a parameter is `true`.
    pub(super) fn is_set(&self, parameter: &str) -> bool {
        form_urlencoded::parse(self.request.query_string().as_bytes())
            .any(|(name, value)| name == parameter && value == "true")
    }

    /// The broker may take its time only if the client lets it.
    pub(super) fn accepts_incomplete(&self) -> AcceptsIncomplete {
        if self.is_set("accepts_incomplete") {
            AcceptsIncomplete::Asynchronous
        } else {
            AcceptsIncomplete::Synchronous
        }
    }
}

pub(super) trait V2Resource: 'static {
    type Row<'a>: Copy;
    const PATH: &'static str;
    /// What `q` may name.
    const FIELDS: &'static [&'static str];

    fn all<'a>(view: &View<'a>) -> Vec<Self::Row<'a>>;
    fn sees(view: &View<'_>, row: Self::Row<'_>) -> bool;
    fn missing(guid: &str) -> V2Rejection;
    fn metadata(row: Self::Row<'_>) -> Metadata;
    fn field(view: &View<'_>, row: Self::Row<'_>, name: &str) -> Vec<String>;
    fn entity(view: &View<'_>, row: Self::Row<'_>) -> Value;
}

pub(super) struct Metadata {
    pub(super) guid: String,
    pub(super) created_at: Timestamp,
    /// Nothing until it is changed.
    pub(super) updated_at: Option<Timestamp>,
}

impl Metadata {
    pub(super) fn new(guid: &str, created_at: Timestamp, updated_at: Timestamp) -> Self {
        Self {
            guid: guid.to_owned(),
            created_at,
            updated_at: (created_at != updated_at).then_some(updated_at),
        }
    }
}

pub(super) async fn list<R: V2Resource>(call: V2Call) -> V2Response {
    let query = V2Query::of::<R>(&call.request)?;
    call.read(|view| Ok(ok(&query.answer::<R>(view, R::all(view)))))
}

/// The list of those rows that belong to a row of another kind. `field` has its guid.
pub(super) async fn list_of<P: V2Resource, R: V2Resource>(call: V2Call, field: &str) -> V2Response {
    let query = V2Query::of::<R>(&call.request)?;
    call.read(|view| {
        let parent = visible::<P>(view, call.guid())?;
        let guid = P::metadata(parent).guid;
        let mut rows = R::all(view);
        rows.retain(|row| R::field(view, *row, field).contains(&guid));
        Ok(ok(&query.answer::<R>(view, rows)))
    })
}

pub(super) async fn one<R: V2Resource>(call: V2Call) -> V2Response {
    call.read(|view| {
        let row = visible::<R>(view, call.guid())?;
        Ok(ok(&presented::<R>(view, row)))
    })
}

pub(super) fn visible<'a, R: V2Resource>(
    view: &View<'a>,
    guid: &str,
) -> Result<R::Row<'a>, V2Rejection> {
    let mut rows = R::all(view).into_iter();
    rows.find(|row| R::metadata(*row).guid == guid)
        .filter(|row| R::sees(view, *row))
        .ok_or_else(|| R::missing(guid))
}

pub(super) fn presented<R: V2Resource>(view: &View<'_>, row: R::Row<'_>) -> Value {
    let metadata = R::metadata(row);
    json!({
        "metadata": {
            "guid": metadata.guid,
            "url": format!("{}/{}", R::PATH, metadata.guid),
            "created_at": stamp(metadata.created_at),
            "updated_at": metadata.updated_at.map(stamp),
        },
        "entity": R::entity(view, row),
    })
}

struct V2Query {
    path: String,
    page: usize,
    page_size: usize,
    descending: bool,
    /// Fields and the values that they may have: `field:value` or `field IN a,b`.
    conditions: Vec<(String, Vec<String>)>,
    written: Vec<String>,
}

impl V2Query {
    fn of<R: V2Resource>(request: &HttpRequest) -> Result<Self, V2Rejection> {
        let mut query = Self {
            path: request.path().to_owned(),
            page: 1,
            page_size: DEFAULT_PAGE_SIZE,
            descending: false,
            conditions: Vec::new(),
            written: Vec::new(),
        };
        for (name, value) in form_urlencoded::parse(request.query_string().as_bytes()) {
            match name.as_ref() {
                "page" => query.page = number(&name, &value, usize::MAX)?,
                "results-per-page" => query.page_size = number(&name, &value, MAXIMUM_PAGE_SIZE)?,
                "order-direction" => query.descending = value == "desc",
                "q" => {
                    for text in value.split(';').filter(|text| !text.is_empty()) {
                        query.conditions.push(condition(text, R::FIELDS)?);
                    }
                    query.written.push(value.into_owned());
                }
                _ => {}
            }
        }
        Ok(query)
    }

    fn answer<R: V2Resource>(&self, view: &View<'_>, mut rows: Vec<R::Row<'_>>) -> Value {
        rows.retain(|row| {
            let mut conditions = self.conditions.iter();
            conditions.all(|(field, wanted)| {
                let values = R::field(view, *row, field);
                values.iter().any(|value| wanted.contains(value))
            }) && R::sees(view, *row)
        });
        rows.sort_by_key(|row| {
            let metadata = R::metadata(*row);
            (metadata.created_at, metadata.guid)
        });
        if self.descending {
            rows.reverse();
        }
        let total = rows.len();
        let pages = total.div_ceil(self.page_size).max(1);
        let resources = rows
            .into_iter()
            .skip((self.page - 1).saturating_mul(self.page_size))
            .take(self.page_size)
            .map(|row| presented::<R>(view, row));
        let url = |there: bool, page: usize| there.then(|| self.location(page));
        json!({
            "total_results": total,
            "total_pages": pages,
            "prev_url": url(self.page > 1, self.page.saturating_sub(1)),
            "next_url": url(self.page < pages, self.page.saturating_add(1)),
            "resources": resources.collect::<Value>(),
        })
    }

    /// Relative, its parameters in the order of their names.
    fn location(&self, page: usize) -> String {
        let direction = if self.descending { "desc" } else { "asc" };
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("order-direction", direction)
            .append_pair("page", &page.to_string());
        for written in &self.written {
            query.append_pair("q", written);
        }
        query.append_pair("results-per-page", &self.page_size.to_string());
        format!("{}?{}", self.path, query.finish())
    }
}

fn number(name: &str, text: &str, maximum: usize) -> Result<usize, V2Rejection> {
    match text.parse() {
        Ok(number) if (1..=maximum).contains(&number) => Ok(number),
        Ok(number) if number > maximum => Err(V2Rejection::bad_query(&format!(
            "{name} must be less than or equal to {maximum}"
        ))),
        _ => Err(V2Rejection::bad_query(&format!(
            "{name} must be a positive integer"
        ))),
    }
}

fn condition(text: &str, fields: &[&str]) -> Result<(String, Vec<String>), V2Rejection> {
    let (field, values) = match (text.split_once(" IN "), text.split_once(':')) {
        (Some((field, values)), _) => (field, values.split(',').map(str::to_owned).collect()),
        (None, Some((field, value))) => (field, vec![value.to_owned()]),
        (None, None) => return Err(V2Rejection::bad_query(text)),
    };
    if !fields.contains(&field) {
        return Err(V2Rejection::bad_query(field));
    }
    Ok((field.to_owned(), values))
}
