//! `GET /ui`: the service instances, filtered and paged here.

use std::sync::Arc;

use actix_web::HttpResponse;
use futures_util::TryStreamExt;
use jiff::{SignedDuration, Timestamp};
use odb_api_types::management::{InventoryEntry, OperationState};
use odb_core::operations::InventoryFilter;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::{
    answer::{ErrorView, PageError, page},
    latest::Dated,
    words::{self, Moment, Toned},
};
use crate::api::{ApiError, Parameters, RequestKind, Run};

const ROWS: usize = 50;

/// How long a list is shown.
const KEPT: SignedDuration = SignedDuration::from_secs(10);

/// What of the list is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wanted {
    text: String,
    plan: String,
    state: Option<State>,
    page: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InProgress,
    Failed,
    Outdated,
}

impl State {
    /// Its name in queries, and for people.
    const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::InProgress, "in-progress", "In progress"),
        (Self::Failed, "failed", "Failed"),
        (Self::Outdated, "outdated", "Outdated"),
    ];

    fn is_of(self, entry: &InventoryEntry) -> bool {
        let state = entry.operation.as_ref().map(|operation| operation.state);
        match self {
            Self::InProgress => state == Some(OperationState::InProgress),
            Self::Failed => state == Some(OperationState::Failed),
            Self::Outdated => entry.up_to_date == Some(false),
        }
    }

    fn name(self) -> &'static str {
        let mut all = Self::ALL.into_iter();
        all.find(|(state, ..)| *state == self)
            .map_or("", |(_, name, _)| name)
    }
}

#[derive(Serialize)]
struct Content {
    text: String,
    plan: String,
    state: &'static str,
    plans: Vec<String>,
    is_filtered: bool,
    error: Option<ErrorView>,
    read: Option<Moment>,
    tabs: Vec<Tab>,
    rows: Vec<Row>,
    found: usize,
    first: usize,
    last: usize,
    previous: Option<String>,
    next: Option<String>,
}

/// A state with the number of its instances.
#[derive(Serialize)]
struct Tab {
    label: &'static str,
    count: usize,
    href: String,
    is_current: bool,
}

#[derive(Serialize)]
struct Row {
    id: String,
    name: String,
    plan: String,
    place: String,
    operation: Option<Toned>,
    up_to_date: Toned,
}

pub(super) async fn list(run: Run, query: Parameters) -> Result<HttpResponse, PageError> {
    let wanted = Wanted::of(&query)?;
    let now = Timestamp::now();
    let (entries, read, error) = match all(&run).await {
        Ok(Dated { at, value }) => (value, Some(Moment::of(at, now)), None),
        Err(error) => (Arc::default(), None, Some(ErrorView::of(&error))),
    };
    let plans = run.app.operations.offering().plans.iter();
    let plans = plans.map(|plan| plan.name.clone()).collect();
    let content = Content {
        error,
        read,
        ..wanted.content(&entries, plans, now)
    };
    page(&run, "instances", "instances.html", &content)
}

/// All instances. Paging and filtering do not list them again.
pub(super) async fn all(run: &Run) -> Result<Dated<Vec<InventoryEntry>>, ApiError> {
    let Some(page) = &run.app.page else {
        return Err(ApiError::unattended());
    };
    let listing = run.operator(RequestKind::Inventory, |operations, context| async move {
        let entries = operations.inventory(context, InventoryFilter::default());
        entries.await?.try_collect().await
    });
    page.inventory().get(KEPT, listing).await
}

impl Wanted {
    fn of(query: &Parameters) -> Result<Self, ApiError> {
        let text = |name| query.get(name).unwrap_or_default().trim().to_owned();
        let state = match query.get("state") {
            None => None,
            Some(given) => {
                let mut all = State::ALL.into_iter();
                let known = all.find(|(_, name, _)| *name == given);
                let (state, ..) = known.ok_or_else(|| ApiError::malformed("Unknown state."))?;
                Some(state)
            }
        };
        let page = query.get("page").unwrap_or("1").parse();
        Ok(Self {
            text: text("q"),
            plan: text("plan"),
            state,
            page: page
                .ok()
                .filter(|page| *page > 0)
                .ok_or_else(|| ApiError::malformed("A page is a number from 1."))?,
        })
    }

    /// Whether it is on the plan, and the text is part of a name or an id.
    fn selects(&self, entry: &InventoryEntry) -> bool {
        let text = self.text.to_lowercase();
        let names = [
            entry.name.as_deref(),
            Some(entry.service_instance_id.as_str()),
            entry.organization_name.as_deref(),
            entry.organization_guid.as_deref(),
            entry.space_name.as_deref(),
            entry.space_guid.as_deref(),
        ];
        let mut names = names.into_iter().flatten();
        let is_on_plan = self.plan.is_empty() || words::plan(entry) == self.plan;
        is_on_plan && (text.is_empty() || names.any(|name| name.to_lowercase().contains(&text)))
    }

    fn content(&self, all: &[InventoryEntry], plans: Vec<String>, now: Timestamp) -> Content {
        let mut entries: Vec<&InventoryEntry> =
            all.iter().filter(|entry| self.selects(entry)).collect();
        let tab = |state: Option<State>, label| Tab {
            label,
            count: match state {
                None => entries.len(),
                Some(state) => entries.iter().filter(|entry| state.is_of(entry)).count(),
            },
            href: self.href(state, 1),
            is_current: state == self.state,
        };
        let states = State::ALL.into_iter();
        let tabs = std::iter::once(tab(None, "All"))
            .chain(states.map(|(state, _, label)| tab(Some(state), label)))
            .collect();
        entries.retain(|entry| self.state.is_none_or(|state| state.is_of(entry)));
        entries.sort_by_cached_key(|entry| {
            let id = entry.service_instance_id.to_string();
            (words::name(entry).to_lowercase(), id)
        });
        let found = entries.len();
        let pages = found.div_ceil(ROWS).max(1);
        let current = self.page.min(pages);
        let begin = (current - 1) * ROWS;
        let shown = entries.iter().skip(begin).take(ROWS);
        let rows: Vec<Row> = shown.map(|entry| row(entry, now)).collect();
        Content {
            text: self.text.clone(),
            plan: self.plan.clone(),
            state: self.state.map_or("", State::name),
            plans,
            is_filtered: !self.text.is_empty() || !self.plan.is_empty() || self.state.is_some(),
            error: None,
            read: None,
            tabs,
            first: begin + rows.len().min(1),
            last: begin + rows.len(),
            rows,
            found,
            previous: (current > 1).then(|| self.href(self.state, current - 1)),
            next: (current < pages).then(|| self.href(self.state, current + 1)),
        }
    }

    /// The address of the list with the same text and plan.
    fn href(&self, state: Option<State>, page: usize) -> String {
        let page = if page > 1 {
            page.to_string()
        } else {
            String::new()
        };
        let query: Vec<String> = [
            ("q", self.text.as_str()),
            ("plan", &self.plan),
            ("state", state.map_or("", State::name)),
            ("page", &page),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)))
        .collect();
        if query.is_empty() {
            "/ui".to_owned()
        } else {
            format!("/ui?{}", query.join("&"))
        }
    }
}

fn row(entry: &InventoryEntry, now: Timestamp) -> Row {
    let operation = entry.operation.as_ref();
    Row {
        id: entry.service_instance_id.to_string(),
        name: words::name(entry).to_owned(),
        plan: words::plan(entry),
        place: words::place(entry),
        operation: operation.map(|operation| {
            words::operation(operation.kind, operation.state, operation.began, now)
        }),
        up_to_date: words::up_to_date(entry),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(id: &str, more: &Value) -> InventoryEntry {
        let mut entry = json!({
            "service_instance_id": id, "deployment": "present", "owner": "this_broker",
        });
        for (name, value) in more.as_object().unwrap() {
            entry[name] = value.clone();
        }
        serde_json::from_value(entry).unwrap()
    }

    fn shown(wanted: &Wanted, entries: &[InventoryEntry]) -> Content {
        wanted.content(entries, Vec::new(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_list_is_filtered_counted_sorted_and_paged() {
        let failed = json!({ "name": "Beta", "space_name": "prod",
            "operation": { "kind": "upgrade", "state": "failed" } });
        let outdated = json!({ "name": "alpha", "up_to_date": false });
        let entries = [entry("i1", &failed), entry("i2", &outdated)];
        let all = Wanted {
            page: 1,
            ..Wanted::default()
        };

        let content = shown(&all, &entries);
        let names: Vec<&str> = content.rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names, ["alpha", "Beta"]);
        let counts: Vec<usize> = content.tabs.iter().map(|tab| tab.count).collect();
        assert_eq!(counts, [2, 0, 1, 1]);

        let by_text = Wanted {
            text: "PROD".to_owned(),
            state: Some(State::Failed),
            ..all.clone()
        };
        let content = shown(&by_text, &entries);
        assert_eq!((content.found, &*content.rows[0].id), (1, "i1"));
        assert_eq!(content.tabs[0].href, "/ui?q=PROD");

        let many = (0..120).map(|number| entry(&format!("i{number:03}"), &json!({})));
        let last = Wanted { page: 9, ..all };
        let many: Vec<InventoryEntry> = many.collect();
        let content = shown(&last, &many);
        assert_eq!(
            (content.first, content.last, content.found),
            (101, 120, 120)
        );
        assert_eq!(content.previous.as_deref(), Some("/ui?page=2"));
        assert_eq!(content.next, None);
    }

    #[test]
    fn an_address_keeps_every_character_of_a_text() {
        let wanted = Wanted {
            text: "a&b=\"<".to_owned(),
            ..Wanted::default()
        };
        assert_eq!(wanted.href(None, 2), "/ui?q=a%26b%3D%22%3C&page=2");
    }
}
