//! The valid answers of an adapter to a bind (Open Service Broker API 2.17, "Binding"; `spec/contracts/osb-api.md`
//! §8.2).

use jiff::Timestamp;
use odb_adapter_sdk::protocol::Binding;
use serde_json::{Map, Value, value::RawValue};

use crate::shown::check_log_drain;

/// The answer is unusable for a platform. Its values may be secret and are not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{member}` of the adapter's answer to `create-binding` {error}")]
pub struct InvalidBinding {
    /// Where, such as `volume_mounts[0].driver`.
    member: String,
    /// The error, as the end of a sentence.
    error: String,
}

impl InvalidBinding {
    fn new(member: impl Into<String>, error: impl Into<String>) -> Self {
        let (member, error) = (member.into(), error.into());
        Self { member, error }
    }
}

/// Checks an adapter's answer against the specification. Returns the members that platforms accept only from offerings
/// that announce them, as findings for the operator; platforms decide whether they reject such a binding.
pub fn check_binding(
    binding: &Binding,
    requires: &[String],
) -> Result<Vec<String>, InvalidBinding> {
    if let Some(credentials) = &binding.credentials {
        let read = Read::new("credentials", credentials)?;
        if !read.value.is_null() {
            read.object()?;
        }
    }
    let mounts = match &binding.volume_mounts {
        Some(mounts) => Read::new("volume_mounts", mounts)?.list()?,
        None => Vec::new(),
    };
    mounts.iter().try_for_each(check_volume_mount)?;
    if let Some(endpoints) = &binding.endpoints {
        let endpoints = Read::new("endpoints", endpoints)?.list()?;
        endpoints.iter().try_for_each(check_endpoint)?;
    }
    if let Some(metadata) = &binding.metadata {
        check_metadata(&Read::new("metadata", metadata)?)?;
    }
    if let Some(drain) = &binding.syslog_drain_url {
        check_log_drain(drain)
            .map_err(|error| InvalidBinding::new("syslog_drain_url", error.to_string()))?;
    }

    let (drain, route) = (&binding.syslog_drain_url, &binding.route_service_url);
    let given = [
        (drain.is_some(), "syslog_drain_url", "syslog_drain"),
        (route.is_some(), "route_service_url", "route_forwarding"),
        (!mounts.is_empty(), "volume_mounts", "volume_mount"),
    ];
    let unannounced = given.into_iter().filter(|(is_given, _, requirement)| {
        *is_given && !requires.iter().any(|announced| announced == requirement)
    });
    Ok(unannounced
        .map(|(_, member, requirement)| {
            format!("`{member}`, which needs `{requirement}` in `service_catalog.requires`")
        })
        .collect())
}

fn check_volume_mount(mount: &Read) -> Result<(), InvalidBinding> {
    for member in ["driver", "container_dir"] {
        mount.member(member)?.text()?;
    }
    mount.member("mode")?.one_of(&["r", "rw"])?;
    mount.member("device_type")?.one_of(&["shared"])?;
    let device = mount.member("device")?;
    device.member("volume_id")?.text()?;
    match device.optional("mount_config")? {
        Some(config) => config.object().map(|_| ()),
        None => Ok(()),
    }
}

fn check_endpoint(endpoint: &Read) -> Result<(), InvalidBinding> {
    endpoint.member("host")?.text()?;
    let ports = endpoint.member("ports")?;
    let listed = ports.list()?;
    if listed.is_empty() {
        return Err(ports.error("is empty"));
    }
    listed.iter().try_for_each(check_ports)?;
    match endpoint.optional("protocol")? {
        Some(protocol) => protocol.one_of(&["tcp", "udp", "all"]),
        None => Ok(()),
    }
}

/// One port, or a range of them.
fn check_ports(ports: &Read) -> Result<(), InvalidBinding> {
    let text = ports.text()?;
    let bounds = text.split_once('-').unwrap_or((text, text));
    match (bounds.0.parse::<u16>(), bounds.1.parse::<u16>()) {
        (Ok(first), Ok(last)) if first <= last => Ok(()),
        _ => Err(ports.error("is neither a port nor a range such as `9000-9010`")),
    }
}

fn check_metadata(metadata: &Read) -> Result<(), InvalidBinding> {
    let moment = |member| -> Result<Option<Timestamp>, InvalidBinding> {
        let Some(moment) = metadata.optional(member)? else {
            return Ok(None);
        };
        let wrong = |_| moment.error("is not a time such as `2030-01-31T12:00:00.0Z`");
        moment.text()?.parse().map(Some).map_err(wrong)
    };
    match (moment("expires_at")?, moment("renew_before")?) {
        (Some(expires), Some(renew)) if renew > expires => {
            Err(metadata.error("sets the renewal of the binding after its expiry"))
        }
        _ => Ok(()),
    }
}

struct Read {
    path: String,
    value: Value,
}

impl Read {
    /// Unreadable JSON has numbers that programs cannot represent, such as `1e999`, or too deep nesting.
    fn new(path: &str, raw: &RawValue) -> Result<Self, InvalidBinding> {
        let unreadable = "cannot be read: it has a number that is too large, or too many brackets in one another";
        let value = serde_json::from_str(raw.get());
        Ok(Self {
            value: value.map_err(|_| InvalidBinding::new(path, unreadable))?,
            path: path.to_owned(),
        })
    }

    fn error(&self, error: &str) -> InvalidBinding {
        InvalidBinding::new(&self.path, error)
    }

    fn object(&self) -> Result<&Map<String, Value>, InvalidBinding> {
        let object = self.value.as_object();
        object.ok_or_else(|| self.error("is not a JSON object"))
    }

    /// Null counts as absent.
    fn optional(&self, member: &str) -> Result<Option<Self>, InvalidBinding> {
        let value = self.object()?.get(member).filter(|value| !value.is_null());
        Ok(value.map(|value| Self {
            path: format!("{}.{member}", self.path),
            value: value.clone(),
        }))
    }

    fn member(&self, member: &str) -> Result<Self, InvalidBinding> {
        let missing = || InvalidBinding::new(format!("{}.{member}", self.path), "is missing");
        self.optional(member)?.ok_or_else(missing)
    }

    fn list(&self) -> Result<Vec<Self>, InvalidBinding> {
        let items = self.value.as_array();
        let items = items.ok_or_else(|| self.error("is not a list"))?;
        let items = items.iter().enumerate().map(|(index, value)| Self {
            path: format!("{}[{index}]", self.path),
            value: value.clone(),
        });
        Ok(items.collect())
    }

    fn text(&self) -> Result<&str, InvalidBinding> {
        let text = self.value.as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| self.error("is not a string, or empty"))
    }

    fn one_of(&self, known: &[&str]) -> Result<(), InvalidBinding> {
        if known.contains(&self.text()?) {
            Ok(())
        } else {
            Err(self.error("is not one of the values of the specification"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(answer: &Value, requires: &[&str]) -> Result<Vec<String>, String> {
        let binding: Binding = serde_json::from_value(answer.clone()).unwrap();
        let requires: Vec<String> = requires.iter().map(|&word| word.to_owned()).collect();
        check_binding(&binding, &requires).map_err(|error| error.to_string())
    }

    fn mount() -> Value {
        json!({
            "driver": "nfs", "container_dir": "/data", "mode": "rw", "device_type": "shared",
            "device": { "volume_id": "v1", "mount_config": { "key": 1 } },
        })
    }

    /// `value` with another one at a JSON pointer.
    fn with(mut value: Value, pointer: &str, other: Value) -> Value {
        *value.pointer_mut(pointer).unwrap() = other;
        value
    }

    #[test]
    fn what_the_specification_has_may_be_answered() {
        for answer in [
            json!({}),
            json!({ "credentials": null, "endpoints": null, "volume_mounts": null, "metadata": null }),
            json!({ "credentials": { "uri": "redis://" }, "backup_agent_url": "https://backup" }),
            json!({ "endpoints": [{ "host": "a", "ports": ["1", "9000-9010"] }] }),
            json!({ "endpoints": [], "volume_mounts": [], "metadata": {} }),
            json!({ "metadata": { "expires_at": "2030-01-31T12:00:00.5Z", "labels": { "any": 1 } } }),
        ] {
            assert_eq!(check(&answer, &[]), Ok(vec![]), "{answer}");
        }
    }

    #[test]
    fn unreadable_numbers_are_named_and_others_stay_as_they_are() {
        let check = |answer: &str| {
            let binding: Binding = serde_json::from_str(answer).unwrap();
            check_binding(&binding, &[])
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        for fine in [
            r#"{"credentials":{"port":123456789012345678901234567890,"ratio":1e-999}}"#,
            r#"{"credentials":{"share":0.1000000000000000055511151231257827}}"#,
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for (answer, member) in [
            (r#"{"credentials":{"port":1e999}}"#, "`credentials` "),
            (
                r#"{"endpoints":[{"host":"a","ports":["1"],"weight":-1e400}]}"#,
                "`endpoints` ",
            ),
            (r#"{"metadata":{"cost":1e999}}"#, "`metadata` "),
        ] {
            let error = check(answer).unwrap_err();
            assert!(error.starts_with(member), "{answer}: {error}");
            assert!(
                error.contains("number") && !error.contains("e999"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_needs_an_announcement_is_named_where_there_is_none() {
        let answer = json!({
            "syslog_drain_url": "syslog://logs",
            "route_service_url": "https://route",
            "volume_mounts": [mount()],
        });
        let all = ["syslog_drain", "route_forwarding", "volume_mount"];
        let texts: Vec<String> = ["syslog_drain_url", "route_service_url", "volume_mounts"]
            .iter()
            .zip(all)
            .map(|(member, word)| {
                format!("`{member}`, which needs `{word}` in `service_catalog.requires`")
            })
            .collect();
        assert_eq!(check(&answer, &[]), Ok(texts.clone()));
        assert_eq!(check(&answer, &all[..2]), Ok(texts[2..].to_vec()));
        assert_eq!(check(&answer, &all), Ok(vec![]));
    }

    #[test]
    fn what_no_platform_could_use_is_named_and_its_value_is_not() {
        let mounts = |mount: Value| json!({ "volume_mounts": [self::mount(), mount] });
        let endpoint =
            |host: Value, ports: Value| json!({ "endpoints": [{ "host": host, "ports": ports }] });
        for (answer, member) in [
            (json!({ "credentials": "SECRET" }), "`credentials` "),
            (
                json!({ "syslog_drain_url": "http://SECRET" }),
                "`syslog_drain_url` ",
            ),
            (
                json!({ "syslog_drain_url": "syslog://SECRET\u{1b}" }),
                "`syslog_drain_url` ",
            ),
            (
                json!({ "volume_mounts": { "SECRET": 1 } }),
                "`volume_mounts` ",
            ),
            (mounts(json!("SECRET")), "`volume_mounts[1]` "),
            (
                mounts(with(mount(), "/driver", json!(""))),
                "`volume_mounts[1].driver` ",
            ),
            (
                mounts(with(mount(), "/container_dir", json!(null))),
                "`volume_mounts[1].container_dir` ",
            ),
            (
                mounts(with(mount(), "/mode", json!("SECRET"))),
                "`volume_mounts[1].mode` ",
            ),
            (
                mounts(with(mount(), "/device_type", json!(1))),
                "`volume_mounts[1].device_type` ",
            ),
            (
                mounts(with(mount(), "/device", json!([]))),
                "`volume_mounts[1].device` ",
            ),
            (
                mounts(with(mount(), "/device/volume_id", json!(7))),
                "`volume_mounts[1].device.volume_id` ",
            ),
            (
                mounts(with(mount(), "/device/mount_config", json!([]))),
                "`volume_mounts[1].device.mount_config` ",
            ),
            (endpoint(json!(null), json!(["1"])), "`endpoints[0].host` "),
            (endpoint(json!("a"), json!([])), "`endpoints[0].ports` "),
            (
                endpoint(json!("a"), json!([6379])),
                "`endpoints[0].ports[0]` ",
            ),
            (
                endpoint(json!("a"), json!(["1", "65536"])),
                "`endpoints[0].ports[1]` ",
            ),
            (
                endpoint(json!("a"), json!(["9-1"])),
                "`endpoints[0].ports[0]` ",
            ),
            (
                json!({ "endpoints": [{ "host": "a", "ports": ["1"], "protocol": "SECRET" }] }),
                "`endpoints[0].protocol` ",
            ),
            (json!({ "metadata": [] }), "`metadata` "),
            (
                json!({ "metadata": { "expires_at": "SECRET" } }),
                "`metadata.expires_at` ",
            ),
            (
                json!({ "metadata": { "expires_at": "2030-01-01T00:00:00Z", "renew_before": "2030-01-01T00:00:01Z" } }),
                "`metadata` ",
            ),
        ] {
            let error = check(&answer, &["volume_mount"]).unwrap_err();
            assert!(error.starts_with(member), "{answer}: {error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
    }
}
