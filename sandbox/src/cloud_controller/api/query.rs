//! Query strings: filters, order, page, and what is to come along (`spec/contracts/platform-apis.md`, "Lists").

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::{
    call::View,
    resource::{Listed, Resource},
};
use crate::cloud_controller::rejection::{ErrorKind, Rejection};

const DEFAULT_PER_PAGE: usize = 50;
const MAXIMUM_PER_PAGE: usize = 5000;
const PAGING: [&str; 4] = ["page", "per_page", "order_by", "guids"];

#[derive(Debug)]
pub(super) struct Query {
    page: usize,
    per_page: usize,
    order: Order,
    filters: BTreeMap<String, Filter>,
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

/// The items of one parameter, as they were written and to be looked up.
#[derive(Debug)]
struct Filter {
    written: Vec<String>,
    wanted: HashSet<String>,
}

impl Query {
    /// Parses the query of a list. Parameters that the kind does not have are rejected.
    pub(super) fn of_list<R: Resource>(request: &HttpRequest) -> Result<Self, Rejection> {
        let names = if R::NAMED { &["names"][..] } else { &[] };
        let extras = extras::<R>();
        let extras: Vec<_> = extras.iter().map(String::as_str).collect();
        let query = Self::read(request, &[&PAGING[..], names, R::FILTERS, &extras].concat())?;
        for (filter, known) in R::CHOICES {
            query.must_be_one_of(filter, known)?;
        }
        query.checked::<R>()
    }

    /// Parses the query of a single resource. A kind that has no parameters ignores them.
    pub(super) fn of_one<R: Resource>(request: &HttpRequest) -> Result<Self, Rejection> {
        let extras = extras::<R>();
        if extras.is_empty() {
            return Ok(Self::without_filters(request));
        }
        let extras: Vec<_> = extras.iter().map(String::as_str).collect();
        Self::read(request, &extras)?.checked::<R>()
    }

    /// The query of a list whose parameters make no difference.
    pub(super) fn without_filters(request: &HttpRequest) -> Self {
        Self {
            page: 1,
            per_page: DEFAULT_PER_PAGE,
            order: Order {
                by: OrderBy::CreatedAt,
                descending: false,
            },
            path: request.path().to_owned(),
            filters: BTreeMap::new(),
        }
    }

    fn read(request: &HttpRequest, allowed: &[&str]) -> Result<Self, Rejection> {
        let mut filters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(request.query_string().as_bytes()) {
            if !allowed.contains(&name.as_ref()) {
                let detail = match name.split_once('[') {
                    Some(("fields", resource)) => field_error(resource, allowed),
                    _ => None,
                };
                return Err(bad_query(&detail.unwrap_or_else(|| {
                    format!(
                        "Unknown query parameter(s): '{name}'. Valid parameters are: '{}'",
                        allowed.join("', '")
                    )
                })));
            }
            let written = items(&value)?;
            let wanted = written.iter().cloned().collect();
            filters.insert(name.into_owned(), Filter { written, wanted });
        }
        let first = |name: &str| filters.get(name).and_then(|filter| filter.written.first());
        Ok(Self {
            page: number(first("page"), "Page", 1, usize::MAX)?,
            per_page: number(
                first("per_page"),
                "Per page",
                DEFAULT_PER_PAGE,
                MAXIMUM_PER_PAGE,
            )?,
            order: order(first("order_by"))?,
            path: request.path().to_owned(),
            filters,
        })
    }

    /// Makes sure that all items of `include` and `fields[…]` are known.
    fn checked<R: Resource>(self) -> Result<Self, Rejection> {
        let mut known: Vec<_> = R::INCLUDES.iter().map(|(item, _)| *item).collect();
        known.dedup();
        let items = self.wanted("include").unwrap_or_default();
        if let Some(unknown) = items.iter().find(|item| !known.contains(&item.as_str())) {
            return Err(bad_query(&format!(
                "Invalid included resource: '{unknown}'. Valid included resources are: '{}'",
                known.join("', '")
            )));
        }
        for (resource, _, known) in R::FIELDS {
            let items = self.fields(resource);
            if !items.iter().all(|item| known.contains(&item.as_str())) {
                return Err(bad_query(&format!(
                    "Fields valid keys for '{resource}' are: '{}'",
                    known.join("', '")
                )));
            }
        }
        Ok(self)
    }

    /// The pagination block, and the rows of the page that was asked for.
    pub(super) fn page<'a, R: Listed>(
        &self,
        view: &View<'_>,
        mut rows: Vec<&'a R>,
    ) -> (Value, Vec<&'a R>) {
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
        let link = |there: bool, page: usize| there.then(|| view.link(self.location(page)));
        let page = json!({
            "pagination": {
                "total_results": total,
                "total_pages": pages,
                "first": link(true, 1),
                "last": link(true, pages),
                "next": link(self.page < pages, self.page.saturating_add(1)),
                "previous": link(self.page > 1, self.page.saturating_sub(1)),
            },
            "resources": [],
        });
        let rows = rows
            .into_iter()
            .skip((self.page - 1).saturating_mul(self.per_page))
            .take(self.per_page)
            .collect();
        (page, rows)
    }

    /// Whether the filter of this name lets a value through: there is no such filter, or it has the value.
    pub(super) fn admits(&self, filter: &str, value: &str) -> bool {
        self.filters
            .get(filter)
            .is_none_or(|filter| filter.wanted.contains(value))
    }

    /// The same for a thing that may have several values, or none.
    pub(super) fn admits_any<'a>(
        &self,
        filter: &str,
        mut values: impl Iterator<Item = &'a str>,
    ) -> bool {
        self.filters
            .get(filter)
            .is_none_or(|filter| values.any(|value| filter.wanted.contains(value)))
    }

    /// The items of a filter, for those who can find rows by them faster than by looking at all rows.
    pub(super) fn wanted(&self, filter: &str) -> Option<&[String]> {
        self.filters
            .get(filter)
            .map(|filter| filter.written.as_slice())
    }

    /// Whether `include` has an item.
    pub(super) fn includes(&self, item: &str) -> bool {
        let items = self.wanted("include").unwrap_or_default();
        items.iter().any(|wanted| wanted == item)
    }

    /// The items of `fields[resource]`.
    pub(super) fn fields(&self, resource: &str) -> &[String] {
        let items = self.wanted(&format!("fields[{resource}]"));
        items.unwrap_or_default()
    }

    /// The value of a filter that takes one of a few words.
    fn must_be_one_of(&self, filter: &str, known: &[&str]) -> Result<(), Rejection> {
        let items = self.wanted(filter).unwrap_or_default();
        if items.iter().all(|item| known.contains(&item.as_str())) {
            return Ok(());
        }
        let mut title = filter.to_owned();
        if let Some(first) = title.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Err(bad_query(&format!(
            "{title} must be one of '{}'",
            known.join("', '")
        )))
    }

    /// Path and query of another page of the same list.
    fn location(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, filter) in self
            .filters
            .iter()
            .filter(|(name, _)| !["page", "per_page"].contains(&name.as_str()))
        {
            // A comma inside an item is encoded once more, as clients do.
            let items: Vec<_> = filter
                .written
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

/// The parameters with which a kind adds related resources.
fn extras<R: Resource>() -> Vec<String> {
    let include = (!R::INCLUDES.is_empty()).then(|| "include".to_owned());
    let fields = R::FIELDS
        .iter()
        .map(|(resource, ..)| format!("fields[{resource}]"));
    include.into_iter().chain(fields).collect()
}

pub(super) fn bad_query(detail: &str) -> Rejection {
    ErrorKind::BadQueryParameter.with(format!("The query parameter is invalid: {detail}"))
}

/// `fields[…]` of a resource that has none here.
fn field_error(resource: &str, allowed: &[&str]) -> Option<String> {
    let known: Vec<_> = allowed
        .iter()
        .filter_map(|name| name.strip_prefix("fields[")?.strip_suffix(']'))
        .map(|name| format!("'{name}'"))
        .collect();
    (!known.is_empty()).then(|| {
        format!(
            "Fields [{} valid resources are: {}",
            resource,
            known.join(", ")
        )
    })
}

fn number(
    given: Option<&String>,
    title: &str,
    default: usize,
    maximum: usize,
) -> Result<usize, Rejection> {
    let Some(text) = given else {
        return Ok(default);
    };
    match text.parse() {
        Ok(number) if (1..=maximum).contains(&number) => Ok(number),
        Ok(number) if number > maximum => Err(bad_query(&format!(
            "{title} must be between 1 and {maximum}"
        ))),
        _ => Err(bad_query(&format!("{title} must be a positive integer"))),
    }
}

/// The items of a comma list, each decoded once more: so a comma inside an item arrives as `%252C`.
fn items(value: &str) -> Result<Vec<String>, Rejection> {
    let decoded = |item: &str| {
        percent_decode_str(item.trim_start())
            .decode_utf8()
            .map(Cow::into_owned)
    };
    value
        .split(',')
        .map(decoded)
        .collect::<Result<_, _>>()
        .map_err(|_| bad_query("not valid UTF-8"))
}

fn order(given: Option<&String>) -> Result<Order, Rejection> {
    let text = given.map_or("created_at", String::as_str);
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
