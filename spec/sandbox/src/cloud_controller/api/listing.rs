//! Lists: filters, order, pages (`spec/contracts/platform-apis.md`, "Lists").

use std::{borrow::Cow, collections::BTreeMap};

use actix_web::HttpRequest;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::cloud_controller::{
    CloudController,
    model::{App, Binding, Broker, Instance, Offering, Organization, Plan, Space},
    refusal::{Fault, Refusal},
};

const DEFAULT_PER_PAGE: usize = 50;
const MAXIMUM_PER_PAGE: usize = 5000;
const COMMON: [&str; 5] = ["page", "per_page", "order_by", "guids", "names"];

/// What a list is asked for.
#[derive(Debug)]
pub(super) struct Query {
    page: usize,
    per_page: usize,
    order: Order,
    values: BTreeMap<String, Vec<String>>,
    path: String,
}

#[derive(Clone, Copy, Debug)]
struct Order {
    by: OrderBy,
    descending: bool,
}

#[derive(Clone, Copy, Debug)]
enum OrderBy {
    CreatedAt,
    UpdatedAt,
    Name,
}

/// A row that can stand in a list.
pub(super) trait Listed {
    fn guid(&self) -> &str;
    fn name(&self) -> &str;
    fn created_at(&self) -> Timestamp;
    fn updated_at(&self) -> Timestamp;
}

impl Query {
    /// Reads a query string. Parameters beyond the common ones and `allowed` are refused.
    pub(super) fn of(request: &HttpRequest, allowed: &[&str]) -> Result<Self, Refusal> {
        let mut values = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(request.query_string().as_bytes()) {
            if !COMMON.contains(&name.as_ref()) && !allowed.contains(&name.as_ref()) {
                let valid = [&COMMON, allowed].concat().join("', '");
                let detail = format!(
                    "Unknown query parameter(s): '{name}'. Valid parameters are: '{valid}'"
                );
                return Err(bad_query(&detail));
            }
            values.insert(name.into_owned(), items(&value)?);
        }
        let number = |name: &str, default: usize, maximum: usize| match values
            .get(name)
            .and_then(|all| all.first())
        {
            None => Ok(default),
            Some(text) => match text.parse() {
                Ok(number) if (1..=maximum).contains(&number) => Ok(number),
                Ok(number) if number > maximum => Err(bad_query(&format!(
                    "{name} must be less than or equal to {maximum}"
                ))),
                _ => Err(bad_query(&format!("{name} must be greater than 0"))),
            },
        };
        Ok(Self {
            page: number("page", 1, usize::MAX)?,
            per_page: number("per_page", DEFAULT_PER_PAGE, MAXIMUM_PER_PAGE)?,
            order: order(values.get("order_by"))?,
            path: request.path().to_owned(),
            values,
        })
    }

    /// Whether the filter of this name lets a value through: there is no such filter, or it has the value.
    pub(super) fn admits(&self, filter: &str, value: &str) -> bool {
        self.values
            .get(filter)
            .is_none_or(|wanted| wanted.iter().any(|wanted| wanted == value))
    }

    /// The same for a thing that may have several values, or none.
    pub(super) fn admits_any<'a>(
        &self,
        filter: &str,
        mut values: impl Iterator<Item = &'a str>,
    ) -> bool {
        self.values
            .get(filter)
            .is_none_or(|wanted| values.any(|value| wanted.iter().any(|wanted| wanted == value)))
    }

    /// Whether the guid and the name are among those asked for.
    pub(super) fn admits_row(&self, row: &impl Listed) -> bool {
        self.admits("guids", row.guid()) && self.admits("names", row.name())
    }

    /// The items of a parameter such as `include` or `fields[…]`, each of which must be one of `known`.
    pub(super) fn items(&self, parameter: &str, known: &[&str]) -> Result<&[String], Refusal> {
        let items = self.values.get(parameter).map_or(&[][..], Vec::as_slice);
        match items.iter().find(|item| !known.contains(&item.as_str())) {
            None => Ok(items),
            Some(unknown) => Err(bad_query(&format!(
                "{parameter}: '{unknown}' is not valid. Valid values are: '{}'",
                known.join("', '")
            ))),
        }
    }

    /// The rows of the page that was asked for, and the pagination block.
    pub(super) fn page<'a, T: Listed>(
        &self,
        controller: &CloudController,
        mut rows: Vec<&'a T>,
    ) -> Page<'a, T> {
        rows.sort_by(|one, other| {
            let ascending = match self.order.by {
                OrderBy::CreatedAt => one.created_at().cmp(&other.created_at()),
                OrderBy::UpdatedAt => one.updated_at().cmp(&other.updated_at()),
                OrderBy::Name => one.name().cmp(other.name()),
            };
            let ordered = if self.order.descending {
                ascending.reverse()
            } else {
                ascending
            };
            ordered.then_with(|| one.guid().cmp(other.guid()))
        });
        let total = rows.len();
        let pages = total.div_ceil(self.per_page).max(1);
        let href = |page: usize| json!({"href": controller.href(self.location(page))});
        let pagination = json!({
            "total_results": total,
            "total_pages": pages,
            "first": href(1),
            "last": href(pages),
            "next": if self.page < pages { href(self.page + 1) } else { Value::Null },
            "previous": if self.page > 1 { href(self.page - 1) } else { Value::Null },
        });
        let rows = rows
            .into_iter()
            .skip((self.page - 1).saturating_mul(self.per_page))
            .take(self.per_page)
            .collect();
        Page { pagination, rows }
    }

    fn location(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, items) in self
            .values
            .iter()
            .filter(|(name, _)| !["page", "per_page"].contains(&name.as_str()))
        {
            // A comma inside an item is encoded once more, as clients do.
            let items: Vec<_> = items
                .iter()
                .map(|item| item.replace('%', "%25").replace(',', "%2C"))
                .collect();
            query.append_pair(name, &items.join(","));
        }
        query
            .append_pair("page", &page.to_string())
            .append_pair("per_page", &self.per_page.to_string());
        format!("{}?{}", self.path, query.finish())
    }
}

/// One page of a list.
pub(super) struct Page<'a, T> {
    pagination: Value,
    pub(super) rows: Vec<&'a T>,
}

impl<T> Page<'_, T> {
    /// The answer, each row presented.
    pub(super) fn presented(&self, present: impl Fn(&T) -> Value) -> Value {
        let resources: Vec<_> = self.rows.iter().map(|row| present(row)).collect();
        json!({"pagination": self.pagination, "resources": resources})
    }
}

/// Related resources beside a list, each of them once.
#[derive(Default)]
pub(super) struct Included(BTreeMap<&'static str, Map<String, Value>>);

impl Included {
    /// Has a place for a kind, empty as yet.
    pub(super) fn of(&mut self, kind: &'static str) {
        self.0.entry(kind).or_default();
    }

    pub(super) fn add(&mut self, kind: &'static str, guid: &str, resource: impl FnOnce() -> Value) {
        self.0
            .entry(kind)
            .or_default()
            .entry(guid)
            .or_insert_with(resource);
    }

    /// The answer with what was included, if anything was asked for.
    pub(super) fn beside(self, mut answer: Value) -> Value {
        if !self.0.is_empty() {
            let included = self.0.into_iter().map(|(kind, resources)| {
                (
                    kind.to_owned(),
                    resources
                        .into_iter()
                        .map(|(_, resource)| resource)
                        .collect::<Value>(),
                )
            });
            answer["included"] = included.collect::<Map<_, _>>().into();
        }
        answer
    }
}

fn bad_query(detail: &str) -> Refusal {
    Fault::BadQueryParameter.with(format!("The query parameter is invalid: {detail}"))
}

/// The items of a comma list, each decoded once more: so a comma inside an item arrives as `%252C`.
fn items(value: &str) -> Result<Vec<String>, Refusal> {
    let decoded = |item: &str| percent_decode_str(item).decode_utf8().map(Cow::into_owned);
    value
        .split(',')
        .map(decoded)
        .collect::<Result<_, _>>()
        .map_err(|_| bad_query("not valid UTF-8"))
}

fn order(given: Option<&Vec<String>>) -> Result<Order, Refusal> {
    let text = given
        .and_then(|all| all.first())
        .map_or("created_at", String::as_str);
    let (descending, name) = match text.split_at_checked(1) {
        Some(("-", name)) => (true, name),
        // A plus that was not encoded arrives as a space.
        Some(("+" | " ", name)) => (false, name),
        _ => (false, text),
    };
    let by = match name {
        "created_at" => OrderBy::CreatedAt,
        "updated_at" => OrderBy::UpdatedAt,
        "name" => OrderBy::Name,
        _ => {
            return Err(bad_query(
                "Order by can only be: 'created_at', 'updated_at', 'name'",
            ));
        }
    };
    Ok(Order { by, descending })
}

macro_rules! listed {
    ($($row:ident: $updated:ident),*) => {$(
        impl Listed for $row {
            fn guid(&self) -> &str {
                self.guid.as_str()
            }

            fn name(&self) -> &str {
                &self.name
            }

            fn created_at(&self) -> Timestamp {
                self.created_at
            }

            fn updated_at(&self) -> Timestamp {
                self.$updated
            }
        }
    )*};
}

listed!(
    Organization: created_at,
    Space: created_at,
    App: created_at,
    Broker: updated_at,
    Offering: updated_at,
    Plan: updated_at,
    Instance: updated_at
);

/// App bindings need not have a name.
impl Listed for Binding {
    fn guid(&self) -> &str {
        self.guid.as_str()
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn created_at(&self) -> Timestamp {
        self.created_at
    }

    fn updated_at(&self) -> Timestamp {
        self.updated_at
    }
}
