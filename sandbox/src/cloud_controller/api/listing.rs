//! Lists: order and pages (`spec/contracts/platform-apis.md`, "Lists").

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::query::{OrderBy, Query};
use crate::cloud_controller::{
    CloudController,
    model::{
        App, Binding, Broker, Instance, Offering, Organization, Plan, Role, Route, Space, User,
        UserProvidedInstance,
    },
};

/// A row of a list.
pub(super) trait Listed {
    fn guid(&self) -> &str;
    /// Nothing where rows have no names.
    fn name(&self) -> &str;
    fn created_at(&self) -> Timestamp;
    fn updated_at(&self) -> Timestamp;
}

impl Query {
    /// The rows of the page that was asked for, and the pagination block.
    pub(super) fn page<R: Listed>(
        &self,
        controller: &CloudController,
        mut rows: Vec<R>,
    ) -> Page<R> {
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
}

impl Query {
    /// The answer to a list of which there is nothing here.
    pub(super) fn nothing(&self, controller: &CloudController) -> Value {
        let nothing: Vec<&App> = Vec::new();
        self.page(controller, nothing).presented(|_| Value::Null)
    }
}

/// One page of a list.
pub(super) struct Page<R> {
    pagination: Value,
    pub(super) rows: Vec<R>,
}

impl<R> Page<R> {
    /// The answer, each row presented.
    pub(super) fn presented(&self, present: impl Fn(&R) -> Value) -> Value {
        let resources: Vec<_> = self.rows.iter().map(present).collect();
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

macro_rules! listed {
    ($($row:ident { $updated:ident, $name:expr })*) => {$(
        impl Listed for &$row {
            fn guid(&self) -> &str {
                self.guid.as_str()
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
    Organization { updated_at, |row| &row.name }
    Space { updated_at, |row| &row.name }
    App { updated_at, |row| &row.name }
    Broker { updated_at, |row| &row.name }
    Offering { updated_at, |row| &row.name }
    Plan { updated_at, |row| &row.name }
    Instance { updated_at, |row| &row.name }
    UserProvidedInstance { updated_at, |row| &row.name }
    // App bindings need not have a name.
    Binding { updated_at, |row| row.name.as_deref().unwrap_or_default() }
    Role { created_at, |_| "" }
    Route { created_at, |_| "" }
    User { created_at, |row| row.name.as_str() }
}
