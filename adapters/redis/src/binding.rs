use odb_adapter_sdk::prelude::*;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::manifest::{GROUP, PASSWORD};

const PORT: u16 = 6379;

/// Answers `create-binding`: all applications share the password of the instance.
pub(crate) fn create(call: &CreateBinding) -> Result<Binding, AdapterError> {
    let password = call.resolve(&call.deployed()?, PASSWORD)?;
    let password = password.expose_secret();
    // If the plan has a DNS name, it stays the same when the VM gets another address.
    let host = match call.dns_addresses.values().next() {
        Some(name) => name,
        None => &call.addresses_of(GROUP)?[0],
    };
    let encoded = utf8_percent_encode(password, NON_ALPHANUMERIC);
    Ok(Binding::with_credentials(json!({
        "host": host,
        "port": PORT,
        "password": password,
        "uri": format!("redis://:{encoded}@{host}:{PORT}"),
    })))
}
