//! What all kinds of resources have in common: lists, single reads, and changes of metadata
//! (`spec/contracts/platform-apis.md`, "Lists").
//!
//! The forms of what many resources show.

use std::{collections::BTreeMap, fmt::Display};

use actix_web::{
    HttpRequest,
    web::{ServiceConfig, get},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    Response,
    call::{Call, View},
    ok,
    query::Query,
};
use crate::cloud_controller::{
    CloudController,
    model::{
        App, Binding, Broker, Instance, Job, LastOperation, Metadata, Offering, Organization, Plan,
        Role, Route, Space, Tables,
    },
    rejection::Rejection,
};

/// A row that lists show.
pub(super) trait Listed: Sized + 'static {
    fn all(tables: &Tables) -> Vec<&Self>;

    fn find<'a>(tables: &'a Tables, guid: &str) -> Option<&'a Self> {
        let mut rows = Self::all(tables).into_iter();
        rows.find(|row| row.guid() == guid)
    }

    fn guid(&self) -> &str;
    /// Nothing where rows have no names.
    fn name(&self) -> &str;
    fn created_at(&self) -> Timestamp;
    fn updated_at(&self) -> Timestamp;
}

pub(super) trait Resource: 'static {
    type Row: Listed;
    const KIND: &'static str;
    /// The path of the list; its last part names the rows that are included in other answers.
    const PATH: &'static str;
    /// Whether it is read without a token.
    const PUBLIC: bool = false;
    /// Whether lists have the filter `names`.
    const NAMED: bool = true;
    const FILTERS: &'static [&'static str] = &[];
    const CHOICES: &'static [(&'static str, &'static [&'static str])] = &[];
    /// The items of `include`, and the kind of resource that each adds.
    const INCLUDES: &'static [(&'static str, &'static str)] = &[];
    /// The parameters `fields[…]`, the kind of resource that each adds, and the members to choose from.
    const FIELDS: &'static [Fields] = &[];

    /// The rows that may match a query, found by its most selective filter.
    fn candidates<'a>(view: &View<'a>, _query: &Query) -> Vec<&'a Self::Row> {
        Listed::all(view.tables)
    }

    fn sees(view: &View<'_>, row: &Self::Row) -> bool;

    /// Whether the filters of its own let a row through.
    fn admits(_view: &View<'_>, _query: &Query, _row: &Self::Row) -> bool {
        true
    }

    /// All members but those that every resource has.
    fn body(view: &View<'_>, row: &Self::Row) -> Value;

    fn presented(view: &View<'_>, row: &Self::Row) -> Value {
        let mut presented = json!({
            "guid": row.guid(),
            "created_at": stamp(row.created_at()),
            "updated_at": stamp(row.updated_at()),
        });
        if let (Value::Object(all), Value::Object(own)) = (&mut presented, Self::body(view, row)) {
            all.extend(own);
        }
        presented["links"]["self"] = view.link(format_args!("{}/{}", Self::PATH, row.guid()));
        presented
    }

    /// Adds the resources that a query wants beside a row.
    fn include(_view: &View<'_>, _query: &Query, _row: &Self::Row, _beside: &mut Included) {}
}

/// The resource of a parameter `fields[…]`, the kind of resource that it adds, and the members to choose from.
pub(super) type Fields = (&'static str, &'static str, &'static [&'static str]);

/// Mounts the list and the single read of a kind.
pub(super) fn reads<R: Resource>(app: &mut ServiceConfig) {
    app.route(R::PATH, get().to(list::<R>))
        .route(&format!("{}/{{guid}}", R::PATH), get().to(one::<R>));
}

pub(super) async fn list<R: Resource>(request: HttpRequest) -> Response {
    let call = reader::<R>(&request)?;
    let query = Query::of_list::<R>(&request)?;
    call.read(|view| {
        let rows = R::candidates(view, &query);
        Ok(ok(&listed::<R>(view, &query, rows)))
    })
}

pub(super) async fn one<R: Resource>(request: HttpRequest) -> Response {
    let call = reader::<R>(&request)?;
    let query = Query::of_one::<R>(&request)?;
    call.read(|view| {
        let row = view.visible::<R>(call.guid())?;
        let presented = R::presented(view, row);
        Ok(ok(&included::<R>(view, &query, &[row]).beside(presented)))
    })
}

fn reader<R: Resource>(request: &HttpRequest) -> Result<Call, Rejection> {
    if R::PUBLIC {
        Call::of_anyone(request)
    } else {
        Call::of(request)
    }
}

/// The answer to a list: those of the rows that the caller sees and the query lets through.
pub(super) fn listed<'a, R: Resource>(
    view: &View<'a>,
    query: &Query,
    mut rows: Vec<&'a R::Row>,
) -> Value {
    rows.retain(|row| {
        query.admits("guids", row.guid())
            && query.admits("names", row.name())
            && R::admits(view, query, row)
            && R::sees(view, row)
    });
    let (mut page, rows) = query.page(view, rows);
    page["resources"] = rows.iter().map(|row| R::presented(view, row)).collect();
    included::<R>(view, query, &rows).beside(page)
}

pub(super) fn included<R: Resource>(view: &View<'_>, query: &Query, rows: &[&R::Row]) -> Included {
    let items = R::INCLUDES.iter().filter(|(item, _)| query.includes(item));
    let fields = R::FIELDS
        .iter()
        .filter(|(resource, ..)| !query.fields(resource).is_empty());
    let kinds = items
        .map(|(_, kind)| *kind)
        .chain(fields.map(|(_, kind, _)| *kind));
    let mut included = Included(kinds.map(|kind| (kind, Map::new())).collect());
    if !included.0.is_empty() {
        for row in rows {
            R::include(view, query, row, &mut included);
        }
    }
    included
}

impl<'a> View<'a> {
    /// A resource, if the caller sees it.
    pub(super) fn visible<R: Resource>(&self, guid: &str) -> Result<&'a R::Row, Rejection> {
        R::Row::find(self.tables, guid)
            .filter(|row| R::sees(self, row))
            .ok_or_else(|| Rejection::no_such(R::KIND))
    }
}

/// Related resources beside an answer, each of them once.
pub(super) struct Included(BTreeMap<&'static str, Map<String, Value>>);

impl Included {
    pub(super) fn add<R: Resource>(&mut self, view: &View<'_>, row: &R::Row) {
        self.add_with::<R>(row, |row| R::presented(view, row));
    }

    /// Adds those members that were asked for, if any were.
    pub(super) fn add_fields<R: Resource>(
        &mut self,
        view: &View<'_>,
        row: &R::Row,
        fields: &[String],
    ) {
        if !fields.is_empty() {
            self.add_with::<R>(row, |row| selected(&R::presented(view, row), fields));
        }
    }

    fn add_with<R: Resource>(&mut self, row: &R::Row, present: impl FnOnce(&R::Row) -> Value) {
        let kind = R::PATH.rsplit('/').next().unwrap_or_default();
        let rows = self.0.entry(kind).or_default();
        rows.entry(row.guid().to_owned())
            .or_insert_with(|| present(row));
    }

    /// The answer with what was included, if anything was asked for.
    pub(super) fn beside(self, mut answer: Value) -> Value {
        for (kind, rows) in self.0 {
            answer["included"][kind] = rows.into_iter().map(|(_, row)| row).collect();
        }
        answer
    }
}

macro_rules! listed {
    ($($row:ident in $table:ident { $updated:ident, $name:expr })*) => {$(
        impl Listed for $row {
            fn all(tables: &Tables) -> Vec<&Self> {
                tables.$table.values().collect()
            }

            fn find<'a>(tables: &'a Tables, guid: &str) -> Option<&'a Self> {
                tables.$table.get(guid)
            }

            fn guid(&self) -> &str {
                self.guid.as_ref()
            }

            fn name(&self) -> &str {
                let name: fn(&$row) -> &str = $name;
                name(self)
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

listed! {
    Organization in organizations { updated_at, |row| &row.name }
    Space in spaces { updated_at, |row| &row.name }
    App in apps { updated_at, |row| &row.name }
    Broker in brokers { updated_at, |row| &row.name }
    Offering in offerings { updated_at, |row| &row.name }
    Plan in plans { updated_at, |row| &row.name }
    Instance in instances { updated_at, |row| &row.name }
    // App bindings need not have a name.
    Binding in bindings { updated_at, |row| row.name.as_deref().unwrap_or_default() }
    Job in jobs { updated_at, |_| "" }
    Role in roles { created_at, |_| "" }
    Route in routes { created_at, |_| "" }
}

impl View<'_> {
    /// `{"href": …}` of a path. Links name the address of the settings, whatever address the client used.
    pub(super) fn link(&self, path: impl Display) -> Value {
        json!({"href": self.controller.href(path)})
    }
}

impl CloudController {
    pub(super) fn href(&self, path: impl Display) -> String {
        format!("{}{path}", self.0.settings.url)
    }
}

/// `2024-11-05T10:15:30Z`
pub(in crate::cloud_controller) fn stamp(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `{"data":{"guid":…}}`
pub(super) fn relation(guid: impl Display) -> Value {
    json!({"data": {"guid": guid.to_string()}})
}

/// The metadata of resources that have none.
pub(super) fn no_metadata() -> Value {
    json!(Metadata::default())
}

pub(super) fn last_operation(operation: &LastOperation) -> Value {
    json!({
        "type": operation.kind,
        "state": operation.state,
        "description": operation.description,
        "updated_at": stamp(operation.updated_at),
        "created_at": stamp(operation.created_at),
    })
}

/// Of a resource those members that were asked for; `relationships.x` keeps its place.
pub(super) fn selected(resource: &Value, fields: &[String]) -> Value {
    let mut selection = Map::new();
    for field in fields {
        match field.split_once('.') {
            None => {
                selection.insert(field.clone(), resource[field].clone());
            }
            Some((outer, inner)) => {
                let within = selection.entry(outer).or_insert_with(|| json!({}));
                within[inner] = resource[outer][inner].clone();
            }
        }
    }
    Value::Object(selection)
}
