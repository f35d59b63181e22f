//! Lists as SCIM 1.1 has them: filters, order, pages (Simple Cloud Identity Management protocol 1.1, section 3.2.2).

mod filter;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use filter::{Filter, InvalidFilter, attribute};

/// How many entries a page has at most.
const PAGE_LIMIT: usize = 500;

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    attributes: Option<String>,
    filter: Option<String>,
    #[serde(rename = "sortBy")]
    sort_by: Option<String>,
    #[serde(rename = "sortOrder")]
    sort_order: Option<String>,
    #[serde(rename = "startIndex")]
    start_index: Option<i64>,
    count: Option<i64>,
}

pub(super) struct Kind {
    pub(super) attributes: &'static [&'static str],
    /// The default sort attribute.
    pub(super) sorted_by: &'static str,
    pub(super) schema: &'static str,
    pub(super) items_per_page: ItemsPerPage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemsPerPage {
    Asked,
    /// The requested size, or the total if that is smaller.
    Found,
}

#[derive(Debug, thiserror::Error)]
#[error("Invalid filter expression: [{filter}] [{sort_by}]")]
pub(super) struct RefusedQuery {
    filter: String,
    sort_by: String,
}

impl ListQuery {
    /// The page that is asked for, of entries as the API shows them.
    pub(super) fn page(&self, kind: &Kind, entries: Vec<Value>) -> Result<Value, RefusedQuery> {
        self.chosen(kind, entries).map_err(|_| RefusedQuery {
            filter: self.filter.clone().unwrap_or_default(),
            sort_by: self.sort_by(kind).to_owned(),
        })
    }

    fn chosen(&self, kind: &Kind, entries: Vec<Value>) -> Result<Value, InvalidFilter> {
        let filter = match self.filter.as_deref() {
            Some(text) => Some(Filter::parse(text, kind.attributes)?),
            None => None,
        };
        let matches = |entry: &Value| filter.as_ref().is_none_or(|filter| filter.matches(entry));
        let mut entries: Vec<_> = entries.into_iter().filter(matches).collect();
        self.sort(kind, &mut entries)?;
        let total = entries.len();
        let start = self.start_index.unwrap_or(1).max(1);
        let count = usize::try_from(self.count.unwrap_or(100).max(0)).unwrap_or(PAGE_LIMIT);
        let count = match kind.items_per_page {
            ItemsPerPage::Asked => count.min(PAGE_LIMIT),
            ItemsPerPage::Found => count.min(PAGE_LIMIT).min(total),
        };
        let skipped = usize::try_from(start - 1).unwrap_or(usize::MAX);
        let page = entries.into_iter().skip(skipped).take(count);
        let resources: Vec<_> = page.map(|entry| self.cut_down(entry)).collect();
        Ok(json!({
            "resources": resources, "startIndex": start, "itemsPerPage": count, "totalResults": total,
            "schemas": [kind.schema],
        }))
    }

    fn sort(&self, kind: &Kind, entries: &mut [Value]) -> Result<(), InvalidFilter> {
        let by = self.sort_by(kind);
        if !kind
            .attributes
            .iter()
            .any(|known| known.eq_ignore_ascii_case(by))
        {
            return Err(InvalidFilter);
        }
        let key = |entry: &Value| {
            attribute(entry, by)
                .first()
                .map(|value| match value {
                    Value::String(text) => text.to_lowercase(),
                    other => format!("{other:>20}"),
                })
                .unwrap_or_default()
        };
        entries.sort_by_cached_key(key);
        if self
            .sort_order
            .as_deref()
            .is_some_and(|order| !order.eq_ignore_ascii_case("ascending"))
        {
            entries.reverse();
        }
        Ok(())
    }

    /// Only the attributes that were asked for.
    fn cut_down(&self, entry: Value) -> Value {
        let Some(wanted) = self
            .attributes
            .as_deref()
            .filter(|wanted| !wanted.is_empty())
        else {
            return entry;
        };
        let wanted = wanted.split(',').map(str::trim);
        let kept: Map<_, _> = wanted
            .filter_map(|name| {
                let found = attribute(&entry, name);
                let value = match found.as_slice() {
                    [] => return None,
                    [one] if !matches!(entry.get(name), Some(Value::Array(_))) => (*one).clone(),
                    many => json!(many),
                };
                Some((name.to_owned(), value))
            })
            .collect();
        Value::Object(kept)
    }

    fn sort_by<'a>(&'a self, kind: &'a Kind) -> &'a str {
        self.sort_by.as_deref().unwrap_or(kind.sorted_by)
    }
}
