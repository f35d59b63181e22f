//! The valid answers of an adapter to a bind (Open Service Broker API 2.17, "Binding"; `spec/contracts/osb-api.md`
//! §8.2).

use std::{borrow::Cow, fmt};

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
    error: Cow<'static, str>,
}

/// A member that platforms take only from offerings that announce it, in the spelling of `requires`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unannounced {
    /// The member of the answer.
    pub member: &'static str,
    /// The entry that `service_catalog.requires` lacks.
    pub requirement: &'static str,
}

/// Checks an adapter's answer against the specification. Returns the members that platforms accept only if they are
/// announced, as findings for the operator; platforms decide whether they reject such a binding.
pub fn check_binding(
    binding: &Binding,
    requires: &[String],
) -> Result<Vec<Unannounced>, InvalidBinding> {
    if let Some(credentials) = &binding.credentials {
        let read = Read::new("credentials", credentials)?;
        if !read.value.is_null() {
            read.object()?;
        }
    }
    let mounts = binding.volume_mounts.as_deref();
    let mounts = mounts.map(|mounts| Read::new("volume_mounts", mounts)?.list());
    let mounts = mounts.transpose()?.unwrap_or_default();
    for mount in &mounts {
        check_volume_mount(mount)?;
    }
    if let Some(endpoints) = &binding.endpoints {
        for endpoint in Read::new("endpoints", endpoints)?.list()? {
            check_endpoint(&endpoint)?;
        }
    }
    if let Some(metadata) = &binding.metadata {
        check_metadata(&Read::new("metadata", metadata)?)?;
    }
    if let Some(drain) = &binding.syslog_drain_url {
        check_log_drain(drain).map_err(|error| InvalidBinding {
            member: "syslog_drain_url".to_owned(),
            error: error.to_string().into(),
        })?;
    }

    let given = [
        (
            binding.syslog_drain_url.is_some(),
            "syslog_drain_url",
            "syslog_drain",
        ),
        (
            binding.route_service_url.is_some(),
            "route_service_url",
            "route_forwarding",
        ),
        (!mounts.is_empty(), "volume_mounts", "volume_mount"),
    ];
    let unannounced = given
        .into_iter()
        .filter(|(is_given, _, requirement)| {
            *is_given && !requires.iter().any(|announced| announced == requirement)
        })
        .map(|(_, member, requirement)| Unannounced {
            member,
            requirement,
        });
    Ok(unannounced.collect())
}

impl fmt::Display for Unannounced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            member,
            requirement,
        } = self;
        write!(
            f,
            "`{member}`, which needs `{requirement}` in `service_catalog.requires`"
        )
    }
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
    for port in listed {
        check_ports(&port)?;
    }
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
    let moment = |member| match metadata.optional(member)? {
        Some(moment) => moment.moment().map(Some),
        None => Ok(None),
    };
    match (moment("expires_at")?, moment("renew_before")?) {
        (Some(expires), Some(renew)) if renew > expires => {
            Err(metadata.error("sets the renewal of the binding after its expiry"))
        }
        _ => Ok(()),
    }
}

/// A value of the answer with its location.
struct Read {
    path: String,
    value: Value,
}

impl Read {
    /// Unreadable JSON has numbers that programs cannot represent, such as `1e999`, or too deep nesting.
    fn new(path: &str, raw: &RawValue) -> Result<Self, InvalidBinding> {
        let path = path.to_owned();
        match serde_json::from_str(raw.get()) {
            Ok(value) => Ok(Self { path, value }),
            Err(_) => Err(InvalidBinding {
                member: path,
                error: "cannot be read: it has a number that is too large, or too many brackets in one another".into(),
            }),
        }
    }

    fn error(&self, error: &'static str) -> InvalidBinding {
        InvalidBinding {
            member: self.path.clone(),
            error: error.into(),
        }
    }

    fn object(&self) -> Result<&Map<String, Value>, InvalidBinding> {
        self.value
            .as_object()
            .ok_or_else(|| self.error("is no JSON object"))
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
        self.optional(member)?.ok_or_else(|| InvalidBinding {
            member: format!("{}.{member}", self.path),
            error: "is missing".into(),
        })
    }

    fn list(&self) -> Result<Vec<Self>, InvalidBinding> {
        let items = self
            .value
            .as_array()
            .ok_or_else(|| self.error("is no list"))?;
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

    fn moment(&self) -> Result<Timestamp, InvalidBinding> {
        let moment = self.text()?.parse();
        moment.map_err(|_| self.error("is not a time such as `2030-01-31T12:00:00.0Z`"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(answer: &Value, requires: &[&str]) -> Result<Vec<&'static str>, String> {
        let binding: Binding = serde_json::from_value(answer.clone()).unwrap();
        let requires: Vec<String> = requires.iter().map(|&word| word.to_owned()).collect();
        let unannounced = check_binding(&binding, &requires).map_err(|error| error.to_string())?;
        Ok(unannounced.iter().map(|entry| entry.requirement).collect())
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
        assert_eq!(check(&answer, &[]), Ok(all.to_vec()));
        assert_eq!(check(&answer, &all[..2]), Ok(vec!["volume_mount"]));
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
