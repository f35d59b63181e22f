//! Lists of v2: filters and pages (`spec/contracts/platform-apis.md`, "Cloud Controller v2", "Common").

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse};
use jiff::Timestamp;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{ok, rejection::V2Rejection};

const DEFAULT_PAGE_SIZE: usize = 50;
const MAXIMUM_PAGE_SIZE: usize = 100;

/// The query of a list. Unknown parameters are ignored.
#[derive(Debug)]
pub(super) struct V2Query {
    path: String,
    page: usize,
    page_size: usize,
    descending: bool,
    conditions: Vec<Condition>,
    /// As they were given.
    written: Vec<String>,
}

/// `field:value` or `field IN a,b`.
#[derive(Debug)]
struct Condition {
    field: String,
    values: Vec<String>,
}

/// One resource: `metadata` and `entity`.
pub(super) struct Resource {
    pub(super) guid: String,
    pub(super) url: String,
    pub(super) created_at: Timestamp,
    /// Nothing until it is changed.
    pub(super) updated_at: Option<Timestamp>,
    pub(super) entity: Value,
}

/// A resource and what a list can be filtered by, each name with its values.
pub(super) struct Row {
    pub(super) resource: Resource,
    pub(super) fields: Vec<(&'static str, Vec<String>)>,
}

impl V2Query {
    /// Reads a query string; `fields` are what `q` may name.
    pub(super) fn of(request: &HttpRequest, fields: &[&str]) -> Result<Self, V2Rejection> {
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
                    for condition in value.split(';').filter(|condition| !condition.is_empty()) {
                        query.conditions.push(condition_of(condition, fields)?);
                    }
                    query.written.push(value.into_owned());
                }
                _ => {}
            }
        }
        Ok(query)
    }

    /// The values of a filter, if it is there.
    pub(super) fn values(&self, field: &str) -> Option<&[String]> {
        let condition = self
            .conditions
            .iter()
            .find(|condition| condition.field == field);
        condition.map(|condition| condition.values.as_slice())
    }

    /// The page that was asked for.
    pub(super) fn answer(&self, rows: impl Iterator<Item = Row>) -> HttpResponse {
        let mut rows: Vec<_> = rows
            .filter(|row| self.admits(row))
            .map(|row| row.resource)
            .collect();
        rows.sort_by(|one, other| {
            (one.created_at, &one.guid).cmp(&(other.created_at, &other.guid))
        });
        if self.descending {
            rows.reverse();
        }
        let total = rows.len();
        let pages = total.div_ceil(self.page_size).max(1);
        let resources: Vec<_> = rows
            .into_iter()
            .skip((self.page - 1).saturating_mul(self.page_size))
            .take(self.page_size)
            .map(Resource::presented)
            .collect();
        let url = |there: bool, page: usize| there.then(|| self.location(page));
        ok(&json!({
            "total_results": total,
            "total_pages": pages,
            "prev_url": url(self.page > 1, self.page.saturating_sub(1)),
            "next_url": url(self.page < pages, self.page.saturating_add(1)),
            "resources": resources,
        }))
    }

    pub(super) fn admits(&self, row: &Row) -> bool {
        self.conditions.iter().all(|condition| {
            let values = row
                .fields
                .iter()
                .find(|(name, _)| *name == condition.field)
                .map_or(&[][..], |(_, values)| values.as_slice());
            values.iter().any(|value| condition.values.contains(value))
        })
    }

    /// Relative, its parameters in the order of their names.
    fn location(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair(
                "order-direction",
                if self.descending { "desc" } else { "asc" },
            )
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

fn condition_of(text: &str, fields: &[&str]) -> Result<Condition, V2Rejection> {
    let (field, values) = match (text.split_once(" IN "), text.split_once(':')) {
        (Some((field, values)), _) => (field, values.split(',').map(str::to_owned).collect()),
        (None, Some((field, value))) => (field, vec![value.to_owned()]),
        (None, None) => return Err(V2Rejection::bad_query(text)),
    };
    if !fields.contains(&field) {
        return Err(V2Rejection::bad_query(field));
    }
    Ok(Condition {
        field: field.to_owned(),
        values,
    })
}

impl Resource {
    pub(super) fn presented(self) -> Value {
        json!({
            "metadata": {
                "guid": self.guid,
                "url": self.url,
                "created_at": stamp(self.created_at),
                "updated_at": self.updated_at.map(stamp),
            },
            "entity": self.entity,
        })
    }

    /// The answer with this alone.
    pub(super) fn answer(self) -> HttpResponse {
        ok(&self.presented())
    }
}

/// The time of a change, unless it is that of the creation.
pub(super) fn changed(created_at: Timestamp, updated_at: Timestamp) -> Option<Timestamp> {
    (created_at != updated_at).then_some(updated_at)
}

/// `2016-06-08T16:41:29Z`
pub(super) fn stamp(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The parameters of a request that is not a list.
pub(super) fn parameters(request: &HttpRequest) -> BTreeMap<String, String> {
    form_urlencoded::parse(request.query_string().as_bytes())
        .into_owned()
        .collect()
}
