//! The functions that templates can call.

use std::collections::BTreeSet;
use std::sync::Arc;

use odb_adapter_sdk::manifest::{InstanceGroup, Stemcell, find_release_for_job};
use odb_adapter_sdk::secrets::references_in;
use serde_json::{Value, json};
use tera::{Kwargs, State, Tera, TeraResult};

use super::session::{SecretFacts, Session, Stop};
use crate::near::NearNames;
use crate::needs;
use crate::path::{ManifestPath, first_found};

const EVERYWHERE: [&str; 3] = ["misconfigured", "range", "refuse"];

pub(crate) fn of_manifests() -> BTreeSet<&'static str> {
    let own = [
        "has_instance_group",
        "instance_group",
        "previous",
        "release_of",
        "secret",
        "stemcell",
    ];
    own.into_iter().chain(EVERYWHERE).collect()
}

pub(crate) fn of_bindings() -> BTreeSet<&'static str> {
    let own = [
        "app_guid_required",
        "binding_exists",
        "binding_not_found",
        "deployed",
        "resolve",
        "secret",
    ];
    own.into_iter().chain(EVERYWHERE).collect()
}

pub(crate) fn of_dashboards() -> BTreeSet<&'static str> {
    EVERYWHERE.into_iter().chain(["deployed"]).collect()
}

pub(super) fn register(tera: &mut Tera, session: &Arc<Session>) {
    let mut function = |name: &'static str, needed: Names, optional: Names, answer: Function| {
        let session = Arc::clone(session);
        tera.register_function(name, move |kwargs: Kwargs, _: &State<'_>| {
            check_arguments(name, needed, optional, &kwargs)
                .map_err(|message| wrong_call(&session, message))?;
            answer(&session, &kwargs)
        });
    };
    function("refuse", &["message"], &[], refuse);
    function(
        "misconfigured",
        &["message"],
        &["user_message"],
        misconfigured,
    );
    function("range", &["end"], &["start", "step_by"], range);
    function("previous", &["path"], &[], previous);
    function("deployed", &["path"], &[], deployed);
    function("secret", &["name"], &["default"], secret);
    function("resolve", &["reference"], &["default"], resolve);
    function("release_of", &["job"], &[], release_of);
    function("stemcell", &["alias"], &["os"], stemcell);
    function("instance_group", &["name"], &[], instance_group);
    function("has_instance_group", &["name"], &[], has_instance_group);
    function("app_guid_required", &[], &[], |session, _| {
        Err(session.stop(Stop::AppGuidRequired))
    });
    function("binding_exists", &[], &[], |session, _| {
        Err(session.stop(Stop::BindingExists))
    });
    function("binding_not_found", &[], &[], |session, _| {
        Err(session.stop(Stop::BindingNotFound))
    });
}

type Names = &'static [&'static str];

type Function = fn(&Session, &Kwargs) -> TeraResult<tera::Value>;

fn check_arguments(
    function: &str,
    needed: Names,
    optional: Names,
    kwargs: &Kwargs,
) -> Result<(), String> {
    let given: BTreeSet<String> = kwargs.iter().map(|(name, _)| name.to_string()).collect();
    let known = || needed.iter().chain(optional).copied();
    if let Some(name) = given
        .iter()
        .find(|name| known().all(|known| known != **name))
    {
        let near = NearNames::to(name, known());
        return Err(format!("`{function}` has no argument `{name}`; {near}"));
    }
    match needed.iter().find(|name| !given.contains(**name)) {
        Some(name) => Err(format!("`{function}` needs `{name}`")),
        None => Ok(()),
    }
}

fn wrong_call(session: &Session, message: String) -> tera::Error {
    session.stop(Stop::WrongCall { message })
}

fn refuse(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let message = text(session, kwargs, "message")?;
    Err(session.stop(Stop::Refused { message }))
}

fn misconfigured(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let message = text(session, kwargs, "message")?;
    let for_user = optional_text(session, kwargs, "user_message")?;
    Err(session.stop(Stop::Misconfigured { message, for_user }))
}

/// As the engine has it, with a limit that fits a manifest.
fn range(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    const LONGEST: usize = 10_000;
    let start = kwargs.get::<i64>("start")?.unwrap_or_default();
    let end = kwargs.must_get::<i64>("end")?;
    let step = kwargs.get::<usize>("step_by")?.unwrap_or(1).max(1);
    let numbers: Vec<i64> = (start..end).step_by(step).take(LONGEST + 1).collect();
    if numbers.len() > LONGEST {
        let message = format!("`range` gives at most {LONGEST} numbers");
        return Err(wrong_call(session, message));
    }
    Ok(tera::Value::from_serializable(&numbers))
}

fn previous(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let path = path(session, kwargs)?;
    Ok(found(&path, session.facts().previous_manifest.as_ref()))
}

fn deployed(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let path = path(session, kwargs)?;
    Ok(found(&path, session.facts().manifest.as_ref()))
}

/// The value of a declared secret in this template: its reference while a manifest is generated, afterwards its value.
fn secret(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let name = text(session, kwargs, "name")?;
    let default = kwargs.get::<tera::Value>("default")?;
    let facts = session.facts();
    let unknown = |names: Vec<&String>| {
        let near = NearNames::to(&name, names);
        wrong_call(
            session,
            format!("`adapter.yml` declares no secret `{name}`; {near}"),
        )
    };
    match &facts.secrets {
        SecretFacts::Nowhere => Err(unknown(Vec::new())),
        SecretFacts::References(references) => match references.get(&name) {
            Some(reference) => Ok(match reference {
                Some(reference) => tera::Value::from_serializable(reference),
                None => default.unwrap_or_else(tera::Value::undefined),
            }),
            None => Err(unknown(references.keys().collect())),
        },
        SecretFacts::Values {
            locations,
            resolved,
        } => {
            let Some(paths) = locations.get(&name) else {
                return Err(unknown(locations.keys().collect()));
            };
            let at_location = first_found(paths, facts.manifest.as_ref()).and_then(scalar_text);
            let value = at_location
                .as_deref()
                .and_then(|text| resolved_text(text, resolved.as_ref()));
            match (value, default) {
                (Some(value), _) => Ok(tera::Value::from(value)),
                (None, Some(default)) => Ok(default),
                (None, None) => Err(wrong_call(
                    session,
                    match at_location {
                        Some(_) => format!(
                            "the broker sends no value of secret `{name}`; does it enable secure manifests?"
                        ),
                        None => format!("the deployed manifest has no secret `{name}`"),
                    },
                )),
            }
        }
    }
}

fn resolve(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let reference = text(session, kwargs, "reference")?;
    let default = kwargs.get::<tera::Value>("default")?;
    let facts = session.facts();
    let resolved = match &facts.secrets {
        SecretFacts::Values { resolved, .. } => resolved.as_ref(),
        _ => None,
    };
    match (resolved_text(&reference, resolved), default) {
        (Some(value), _) => Ok(tera::Value::from(value)),
        (None, Some(default)) => Ok(default),
        (None, None) => Err(wrong_call(
            session,
            format!("the broker sends no value of `{reference}`; does it enable secure manifests?"),
        )),
    }
}

/// The value behind a reference; a text that is none is its own value.
fn resolved_text<'t>(
    text: &'t str,
    resolved: Option<&'t odb_adapter_sdk::protocol::Secrets>,
) -> Option<&'t str> {
    if is_reference(text) {
        resolved?.expose(text).filter(|value| !value.is_empty())
    } else {
        Some(text)
    }
}

/// A text, number or boolean as text: YAML takes an unquoted password of digits for a number.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(boolean) => Some(boolean.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a text of a manifest holds a reference, alone or among other text.
pub(crate) fn holds_reference(text: &str) -> bool {
    references_in(text).next().is_some()
}

fn is_reference(text: &str) -> bool {
    text.starts_with("((") && text.ends_with("))")
}

fn release_of(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let job = text(session, kwargs, "job")?;
    let facts = session.facts();
    let releases = facts.deployment.as_ref().map(|d| &d.releases[..]);
    match find_release_for_job(&job, releases.unwrap_or_default()) {
        Ok(release) => Ok(tera::Value::from(release.name.as_str())),
        Err(error) => Err(session.stop(Stop::DoesNotFit {
            message: needs::no_release(&error, releases.unwrap_or_default()),
        })),
    }
}

fn stemcell(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let alias = text(session, kwargs, "alias")?;
    let os = optional_text(session, kwargs, "os")?;
    let facts = session.facts();
    let stemcells = facts.deployment.as_ref().map(|d| &d.stemcells[..]);
    let stemcell = stemcells
        .unwrap_or_default()
        .iter()
        .find(|stemcell| os.as_ref().is_none_or(|os| *os == stemcell.os));
    match stemcell {
        Some(stemcell) => Ok(tera::Value::from_serializable(&Stemcell::of(
            alias, stemcell,
        ))),
        None => Err(session.stop(Stop::DoesNotFit {
            message: match os {
                Some(os) => needs::no_stemcell(&os, stemcells.unwrap_or_default()),
                None => "the service deployment has no stemcell".to_owned(),
            },
        })),
    }
}

fn instance_group(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let name = text(session, kwargs, "name")?;
    let facts = session.facts();
    let plan = facts.plan.as_ref();
    let Some(group) = plan.and_then(|plan| plan.instance_group(&name)) else {
        let groups = plan.map(|plan| &plan.instance_groups[..]);
        return Err(session.stop(Stop::DoesNotFit {
            message: needs::no_instance_group(&name, groups.unwrap_or_default()),
        }));
    };
    let mut group = json!(InstanceGroup::from(group));
    if let Value::Object(members) = &mut group {
        // The template's matter.
        members.shift_remove("jobs");
        members.shift_remove("stemcell");
    }
    Ok(tera::Value::from_serializable(&group))
}

fn has_instance_group(session: &Session, kwargs: &Kwargs) -> TeraResult<tera::Value> {
    let name = text(session, kwargs, "name")?;
    let facts = session.facts();
    let plan = facts.plan.as_ref();
    let group = plan.and_then(|plan| plan.instance_group(&name));
    Ok(tera::Value::from(group.is_some()))
}

fn path(session: &Session, kwargs: &Kwargs) -> TeraResult<ManifestPath> {
    text(session, kwargs, "path")?
        .parse()
        .map_err(|error: crate::path::NotAPath| wrong_call(session, error.to_string()))
}

/// Stand-ins in an argument, as of `{% set %}` blocks, become their values.
fn text(session: &Session, kwargs: &Kwargs, name: &str) -> TeraResult<String> {
    let text = kwargs.must_get::<&str>(name)?;
    let text = session.stand_ins().text(text, str::to_owned);
    text.map_err(|error| wrong_call(session, error.to_string()))
}

fn optional_text(session: &Session, kwargs: &Kwargs, name: &str) -> TeraResult<Option<String>> {
    match kwargs.get::<&str>(name)? {
        Some(_) => text(session, kwargs, name).map(Some),
        None => Ok(None),
    }
}

fn found(path: &ManifestPath, manifest: Option<&Value>) -> tera::Value {
    let value = manifest.and_then(|manifest| path.find(manifest));
    value.map_or_else(tera::Value::undefined, tera::Value::from_serializable)
}
