//! The members of a binding besides credentials (Open Service Broker API 2.17, "Binding"), as types. On the wire each
//! part is passed on unchanged; the Go broker drops volume mounts, endpoints and metadata.

use std::ops::RangeInclusive;
use std::time::SystemTime;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::Binding;
use crate::redaction::shows_only;

impl Binding {
    /// The answer to a backup agent: the address of the service's, and nothing else.
    pub fn backup_agent(url: impl Into<String>) -> Self {
        Self {
            backup_agent_url: Some(url.into()),
            ..Self::default()
        }
    }

    /// The same binding with a destination for the application's logs. The offering must require `syslog_drain`.
    #[must_use]
    pub fn with_syslog_drain(mut self, url: impl Into<String>) -> Self {
        self.syslog_drain_url = Some(url.into());
        self
    }

    /// The same binding with a route service: an `https` address that receives requests to a bound route first. The
    /// offering must require `route_forwarding`.
    #[must_use]
    pub fn with_route_service(mut self, url: impl Into<String>) -> Self {
        self.route_service_url = Some(url.into());
        self
    }

    /// The same binding with these file systems. The offering must require `volume_mount`.
    #[must_use]
    pub fn with_volume_mounts(mut self, mounts: impl IntoIterator<Item = VolumeMount>) -> Self {
        self.volume_mounts = Some(raw(&mounts.into_iter().collect::<Vec<_>>()));
        self
    }

    /// The same binding with the addresses that the application has to reach: all of them, as a
    /// platform may block every other.
    #[must_use]
    pub fn with_endpoints(mut self, endpoints: impl IntoIterator<Item = Endpoint>) -> Self {
        self.endpoints = Some(raw(&endpoints.into_iter().collect::<Vec<_>>()));
        self
    }

    /// The same binding with how long it is good for.
    #[must_use]
    pub fn with_metadata(mut self, metadata: &BindingMetadata) -> Self {
        self.metadata = Some(raw(metadata));
        self
    }
}

fn raw(part: &impl Serialize) -> Box<RawValue> {
    to_raw_value(part).expect("its keys are text and it writes to memory")
}

/// A file system to be mounted into the application's container.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct VolumeMount {
    /// Name of the volume driver.
    pub driver: String,
    /// Path in the container.
    pub container_dir: String,
    /// Whether it may be written to.
    pub mode: MountMode,
    /// Kind of the device: `shared` is all there is.
    pub device_type: DeviceType,
    /// The device.
    pub device: SharedDevice,
}

impl VolumeMount {
    /// A shared volume at a path of the container, to be written to.
    pub fn shared(
        driver: impl Into<String>,
        container_dir: impl Into<String>,
        volume_id: impl Into<String>,
    ) -> Self {
        Self {
            driver: driver.into(),
            container_dir: container_dir.into(),
            mode: MountMode::ReadWrite,
            device_type: DeviceType::Shared,
            device: SharedDevice {
                volume_id: volume_id.into(),
                mount_config: None,
            },
        }
    }

    /// The same volume, not to be written to.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.mode = MountMode::ReadOnly;
        self
    }

    /// The same volume with settings for its driver.
    #[must_use]
    pub fn with_mount_config(mut self, config: Map<String, Value>) -> Self {
        self.device.mount_config = Some(config);
        self
    }
}

// Settings for the driver may hold secrets and are not shown.
shows_only!(VolumeMount {
    driver,
    container_dir,
    mode
});

/// Whether a volume may be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MountMode {
    /// `r`
    #[serde(rename = "r")]
    ReadOnly,
    /// `rw`
    #[serde(rename = "rw")]
    ReadWrite,
}

/// Kind of a volume's device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DeviceType {
    /// `shared`: a distributed file system.
    Shared,
}

/// A distributed file system.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SharedDevice {
    /// Id of the volume.
    pub volume_id: String,
    /// Settings for the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_config: Option<Map<String, Value>>,
}

shows_only!(SharedDevice { volume_id });

/// An address that the application has to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Endpoint {
    /// Host name or IP address.
    pub host: String,
    /// Ports, each a number or a range such as `9000-9010`.
    pub ports: Vec<String>,
    /// Protocol; TCP where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<EndpointProtocol>,
}

impl Endpoint {
    /// A port of a host, over TCP.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            ports: vec![port.to_string()],
            protocol: None,
        }
    }

    /// The same host with one more port.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.ports.push(port.to_string());
        self
    }

    /// The same host with a range of ports more, both ends included.
    #[must_use]
    pub fn with_ports(mut self, ports: RangeInclusive<u16>) -> Self {
        self.ports
            .push(format!("{}-{}", ports.start(), ports.end()));
        self
    }

    /// The same ports over that protocol.
    #[must_use]
    pub fn over(mut self, protocol: EndpointProtocol) -> Self {
        self.protocol = Some(protocol);
        self
    }
}

/// Protocol of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EndpointProtocol {
    /// `tcp`
    Tcp,
    /// `udp`
    Udp,
    /// `all`
    All,
}

/// How long a binding is good for. Times are written in UTC, as `2030-01-31T12:00:00.000Z`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct BindingMetadata {
    /// When the credentials end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When the platform should ask for new ones, not after they end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_before: Option<String>,
}

/// Times that do not make sense for a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum BindingTimeError {
    #[error("the binding is to be renewed after it expires")]
    RenewedAfterExpiry,
    #[error("the time is outside the years 0 to 9999")]
    OutOfRange,
}

impl BindingMetadata {
    /// Credentials that end at that time.
    pub fn expires_at(time: SystemTime) -> Result<Self, BindingTimeError> {
        Ok(Self {
            expires_at: Some(written(time)?),
            renew_before: None,
        })
    }

    /// Credentials that end at one time, and are to be renewed before another that is not later.
    pub fn renewed_before(
        renew_before: SystemTime,
        expires_at: SystemTime,
    ) -> Result<Self, BindingTimeError> {
        if renew_before > expires_at {
            return Err(BindingTimeError::RenewedAfterExpiry);
        }
        Ok(Self {
            expires_at: Some(written(expires_at)?),
            renew_before: Some(written(renew_before)?),
        })
    }
}

fn written(time: SystemTime) -> Result<String, BindingTimeError> {
    let time = Timestamp::try_from(time).map_err(|_| BindingTimeError::OutOfRange)?;
    let text = format!("{time:.3}");
    if text.starts_with('-') {
        return Err(BindingTimeError::OutOfRange);
    }
    Ok(text)
}
