//! The project's own filters, in addition to those of the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use odb_adapter_sdk::{json, yaml};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tera::{Kwargs, State, Tera, TeraResult};

use super::session::{Session, Stop};
use super::source::{Source, TemplateError};
use crate::near::NearNames;
use crate::needs::{BEGIN, may_refer};

/// Takes the value of an expression out of the text; nothing is an error.
pub(crate) const VALUE: &str = "__value";

/// Takes the value of an expression out of the text; nothing is nothing.
pub(crate) const VALUE_OR_NOTHING: &str = "__value_or_nothing";

const NOT_PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

/// Most values that one call may put into texts.
const MOST_VALUES: usize = 100_000;

pub(super) fn register(
    tera: &mut Tera,
    session: &Arc<Session>,
    sources: &Arc<BTreeMap<String, Source>>,
) {
    for (name, may_be_nothing) in [(VALUE, false), (VALUE_OR_NOTHING, true)] {
        let (session, sources) = (Arc::clone(session), Arc::clone(sources));
        tera.register_filter(
            name,
            move |value: tera::Value, kwargs: Kwargs, state: &State<'_>| {
                taken_out(&session, &sources, may_be_nothing, value, &kwargs, state)
            },
        );
    }
    let shared = Arc::clone(session);
    tera.register_filter(
        "json",
        move |value: tera::Value, _: Kwargs, _: &State<'_>| {
            Ok::<_, tera::Error>(tera::Value::from(json_value(&shared, &value)?.to_string()))
        },
    );
    let shared = Arc::clone(session);
    tera.register_filter(
        "from_json",
        move |text: &str, kwargs: Kwargs, _: &State<'_>| {
            let outcome = json::from_str(text).map_err(|error| error.to_string());
            parsed(&shared, "JSON", text, outcome, &kwargs)
        },
    );
    let shared = Arc::clone(session);
    tera.register_filter(
        "from_yaml",
        move |text: &str, kwargs: Kwargs, _: &State<'_>| {
            let outcome = yaml::from_str(text).map_err(|error| error.to_string());
            parsed(&shared, "YAML", text, outcome, &kwargs)
        },
    );
    tera.register_filter("urlencode", |text: &str, _: Kwargs, _: &State<'_>| {
        percent_encoded(text)
    });
}

fn taken_out(
    session: &Session,
    sources: &BTreeMap<String, Source>,
    may_be_nothing: bool,
    value: tera::Value,
    kwargs: &Kwargs,
    state: &State<'_>,
) -> TeraResult<tera::Value> {
    // The engine treats every value that is not a string as safe.
    if value.is_string() && value.is_safe() {
        return Ok(value);
    }
    let value = if value.is_undefined() {
        if !may_be_nothing {
            let file = kwargs.must_get::<&str>("file")?;
            let hole = kwargs.must_get::<usize>("hole")?;
            return Err(session.stop(undefined(sources, file, hole, state)));
        }
        None
    } else {
        Some(json_value(session, &value)?)
    };
    let mut stand_ins = session.stand_ins();
    if stand_ins.len() >= MOST_VALUES {
        let message = format!("the templates put in more than {MOST_VALUES} values");
        return Err(session.stop(Stop::misconfigured(message)));
    }
    Ok(tera::Value::safe_string(&stand_ins.put(value)))
}

/// A value as JSON. A text of `{% set %}…{% endset %}` may contain stand-ins, which become text.
fn json_value(session: &Session, value: &tera::Value) -> TeraResult<Value> {
    let value = serde_json::to_value(value)
        .map_err(|_| session.stop(Stop::misconfigured("a number is too large for JSON")))?;
    let Value::String(text) = value else {
        return Ok(value);
    };
    let text = session.stand_ins().text(&text, str::to_owned);
    text.map(Value::String)
        .map_err(|error| session.stop(Stop::misconfigured(error.to_string())))
}

/// An expression without a value: reports which of its names is missing and which names exist.
fn undefined(
    sources: &BTreeMap<String, Source>,
    file: &str,
    hole: usize,
    state: &State<'_>,
) -> Stop {
    let Some((source, (expression, offset))) = sources
        .get(file)
        .and_then(|source| Some((source, source.expression(hole)?)))
    else {
        return Stop::misconfigured(format!("`{file}`: an expression has no value"));
    };
    let advice = "ask with `is defined` or give `default(value=…)` where it may be missing";
    let missing = missing_name(expression, state);
    let (at, message) = match missing {
        Some(missing) if missing.parent.is_empty() => (
            missing.at,
            format!("`{}` has no value; {advice}", missing.name),
        ),
        Some(missing) => (
            missing.at,
            format!(
                "`{}` is not in `{}`; {}; {advice}",
                missing.name, missing.parent, missing.near
            ),
        ),
        None => (0, format!("the expression has no value; {advice}")),
    };
    Stop::Error(TemplateError::new(source.location(offset + at), message))
}

struct Missing {
    name: String,
    parent: String,
    /// Offset in the expression.
    at: usize,
    near: NearNames,
}

/// The first missing segment of a plain path.
fn missing_name(expression: &str, state: &State<'_>) -> Option<Missing> {
    let is_in_a_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if !expression.chars().all(is_in_a_path) {
        return None;
    }
    let mut value: Option<tera::Value> = None;
    let mut at = 0;
    for segment in expression.split('.') {
        let next = match &value {
            None => state.get::<tera::Value>(segment).ok()?,
            Some(value) => value.get_from_path(segment).cloned(),
        };
        let Some(next) = next.filter(|next| !next.is_undefined()) else {
            let members = value.as_ref().and_then(tera::Value::as_map);
            let names = members
                .into_iter()
                .flat_map(|members| members.keys().map(ToString::to_string));
            return Some(Missing {
                name: segment.to_owned(),
                parent: expression[..at].trim_end_matches('.').to_owned(),
                at,
                near: NearNames::to(segment, names),
            });
        };
        value = Some(next);
        at += segment.len() + 1;
    }
    None
}

fn parsed(
    session: &Session,
    format: &str,
    text: &str,
    outcome: Result<Value, String>,
    kwargs: &Kwargs,
) -> TeraResult<tera::Value> {
    // Escapes must not add characters that users may not send.
    let outcome = match outcome {
        Ok(value) if may_refer(&value) && !text.contains(BEGIN) => {
            Err("it has an escaped `((`".to_owned())
        }
        outcome => outcome,
    };
    match (outcome, kwargs.get::<&str>("refuse")?) {
        (Ok(value), _) => Ok(tera::Value::from_serializable(&value)),
        (Err(_), Some(message)) => Err(session.stop(Stop::Refused {
            message: message.to_owned(),
        })),
        (Err(error), None) => {
            let message = format!("a value is not valid {format}: {error}");
            Err(session.stop(Stop::misconfigured(message)))
        }
    }
}

/// Percent-encodes a text for an address: everything except letters, digits and characters that are plain in host, port
/// and path.
pub(crate) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, NOT_PLAIN).to_string()
}
