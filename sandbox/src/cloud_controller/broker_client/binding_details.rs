//! The details that a broker may return with a binding.

use serde_json::{Map, Value};
use url::Url;

use super::{
    failure::{BrokerError, BrokerFailure},
    raw::RawAnswer,
};

/// Looks at credentials, drain, route service and volumes, in this order. Drains and volumes need a `requires`.
pub(super) fn check(
    raw: &RawAnswer,
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

fn wrong_mount(mounts: &Value, raw: &RawAnswer) -> Option<String> {
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
