//! The required types of an answer's members, if they are present: the error texts of a Cloud Controller, verbatim.
//!
//! The details that a broker may return with a binding.

use serde_json::{Map, Value};
use url::Url;

use super::{
    exchange::RawResponse,
    failure::{BrokerError, BrokerFailure},
};

const OPERATION_LIMIT: usize = 10_000;

/// The types of JSON values, as these errors name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonType {
    Object,
    Array,
    String,
    Null,
}

struct Member {
    name: &'static str,
    types: &'static [JsonType],
    within: &'static [Member],
}

const OPERATION: Member = Member {
    name: "operation",
    types: &[JsonType::String],
    within: &[],
};

const fn object(name: &'static str) -> Member {
    Member {
        name,
        types: &[JsonType::Object],
        within: &[],
    }
}

const fn text(name: &'static str) -> Member {
    Member {
        name,
        types: &[JsonType::String],
        within: &[],
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Instance,
    /// A 202 to anything else.
    Accepted,
    Fetched,
}

impl Shape {
    fn members(self) -> &'static [Member] {
        match self {
            Self::Instance => {
                const {
                    &[
                        Member {
                            name: "dashboard_url",
                            types: &[JsonType::String, JsonType::Null],
                            within: &[],
                        },
                        OPERATION,
                        Member {
                            name: "metadata",
                            types: &[JsonType::Object],
                            within: &[object("labels"), object("attributes")],
                        },
                    ]
                }
            }
            Self::Accepted => const { &[OPERATION] },
            Self::Fetched => {
                const {
                    &[
                        text("service_id"),
                        text("plan_id"),
                        text("dashboard_url"),
                        object("parameters"),
                        object("credentials"),
                        text("syslog_drain_url"),
                        text("route_service_url"),
                        Member {
                            name: "volume_mounts",
                            types: &[JsonType::Array],
                            within: &[],
                        },
                    ]
                }
            }
        }
    }

    /// The errors of a body, one per line, or `None`.
    pub(super) fn errors(self, body: &Map<String, Value>) -> Option<String> {
        let mut found = Vec::new();
        look("#", body, self.members(), &mut found);
        (!found.is_empty()).then(|| format!("\n{}", found.join("\n")))
    }
}

fn look(path: &str, body: &Map<String, Value>, members: &[Member], found: &mut Vec<String>) {
    for member in members {
        let Some(value) = body.get(member.name) else {
            continue;
        };
        let path = format!("{path}/{}", member.name);
        if !member.types.iter().any(|wanted| wanted.admits(value)) {
            found.push(wrong_type(&path, value, member.types));
        } else if let Value::Object(inner) = value {
            look(&path, inner, member.within, found);
        } else if member.name == OPERATION.name
            && value
                .as_str()
                .is_some_and(|text| text.chars().count() > OPERATION_LIMIT)
        {
            found.push(format!(
                "The property '{path}' was not of a maximum string length of {OPERATION_LIMIT}"
            ));
        }
    }
}

impl JsonType {
    fn admits(self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::String => value.is_string(),
            Self::Null => value.is_null(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Null => "null",
        }
    }
}

fn wrong_type(path: &str, value: &Value, wanted: &[JsonType]) -> String {
    let names: Vec<_> = wanted.iter().map(|wanted| wanted.name()).collect();
    let must = match names.as_slice() {
        [one] => format!("the following type: {one}"),
        several => format!("one or more of the following types: {}", several.join(", ")),
    };
    format!(
        "The property '{path}' of type {} did not match {must}",
        type_name(value)
    )
}

/// The type of a value, as these errors name it.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Looks at credentials, drain, route service and volumes, in this order. Drains and volumes need a `requires`.
pub(super) fn check(
    raw: &RawResponse,
    body: &Map<String, Value>,
    requires: &[String],
) -> Result<(), BrokerFailure> {
    let given = |key: &str| body.get(key).filter(|value| !value.is_null());
    let may = |permission: &str| requires.iter().any(|required| required == permission);
    if given("credentials").is_some_and(|credentials| !credentials.is_object()) {
        return Err(BrokerFailure::malformed(
            raw,
            "expected credentials to be a valid JSON object",
        ));
    }
    if given("syslog_drain_url").is_some() && !may("syslog_drain") {
        let text = "The service is attempting to stream logs from your application, but is not registered as a \
                    logging service. Please contact the service provider.";
        return Err(BrokerFailure::of(
            BrokerError::InvalidSyslogDrain,
            text,
            raw,
        ));
    }
    if given("route_service_url").is_some_and(|url| !is_route_service(url)) {
        return Err(BrokerFailure::bad_response(raw));
    }
    let Some(mounts) = given("volume_mounts") else {
        return Ok(());
    };
    let wrong = if may("volume_mount") {
        wrong_mount(mounts, raw)
    } else {
        Some(
            "The service is attempting to supply volume mounts from your application, but is not registered as a \
             volume mount service. Please contact the service provider."
                .to_owned(),
        )
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => {
            let text = format!("The service broker returned an invalid response: {wrong}");
            Err(BrokerFailure::of(
                BrokerError::InvalidVolumeMounts,
                text,
                raw,
            ))
        }
    }
}

fn is_route_service(url: &Value) -> bool {
    let url = url.as_str().and_then(|url| Url::parse(url).ok());
    url.is_some_and(|url| {
        url.scheme() == "https" && url.host_str().is_some_and(|host| !host.starts_with('.'))
    })
}

fn wrong_mount(mounts: &Value, raw: &RawResponse) -> Option<String> {
    let objects: Option<Vec<_>> = mounts
        .as_array()
        .and_then(|mounts| mounts.iter().map(Value::as_object).collect());
    let Some(mounts) = objects else {
        return Some(format!(
            "expected \"volume_mounts\" key to contain an array of JSON objects in body, broker returned '{}'",
            raw.body
        ));
    };
    mounts.into_iter().find_map(wrong_member)
}

fn wrong_member(mount: &Map<String, Value>) -> Option<String> {
    let filled = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty())
    };
    for key in ["device_type", "device", "mode", "container_dir", "driver"] {
        if !mount.contains_key(key) || (key != "device" && !filled(mount.get(key))) {
            return Some(format!("missing required field '{key}'"));
        }
    }
    let Some(device) = mount.get("device").and_then(Value::as_object) else {
        return Some("required field 'device' must be an object".to_owned());
    };
    if !filled(device.get("volume_id")) {
        return Some("required field 'device.volume_id' must be a non-empty string".to_owned());
    }
    let config = device
        .get("mount_config")
        .filter(|config| !config.is_null());
    config
        .filter(|config| !config.is_object())
        .map(|_| "field 'device.mount_config' must be an object if it is defined".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_as_it_must_be_is_reported_with_its_location() {
        let body = json!({
            "operation": null,
            "dashboard_url": 7,
            "metadata": {"labels": [], "attributes": {}},
            "else": true,
        });
        let errors = Shape::Instance.errors(body.as_object().unwrap()).unwrap();
        assert_eq!(
            errors,
            "\nThe property '#/dashboard_url' of type integer did not match one or more of the following types: \
             string, null\nThe property '#/operation' of type null did not match the following type: string\nThe \
             property '#/metadata/labels' of type array did not match the following type: object"
        );
        let long = json!({"operation": "x".repeat(OPERATION_LIMIT + 1)});
        let errors = Shape::Accepted.errors(long.as_object().unwrap()).unwrap();
        assert_eq!(
            errors,
            "\nThe property '#/operation' was not of a maximum string length of 10000"
        );
    }
}
