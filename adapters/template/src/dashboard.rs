//! Answers `dashboard-url`.

use odb_adapter_sdk::protocol::{DashboardUrl, GenerateDashboardUrl};
use odb_adapter_sdk::{AdapterError, yaml};
use serde_json::Value;

use crate::context;
use crate::folder::{DASHBOARD, Folder};

/// Why a rendered text is no address.
#[derive(Debug, thiserror::Error)]
#[error("`{DASHBOARD}` must render one address that begins with `http://` or `https://`")]
pub(crate) struct NotAnAddress;

pub(crate) fn url(
    folder: &Folder,
    call: &GenerateDashboardUrl,
) -> Result<DashboardUrl, AdapterError> {
    let manifest: Value = yaml::from_str(call.manifest.as_str())?;
    folder.engine.session.facts().manifest = Some(manifest.clone());
    let context = context::of_dashboard(call, &manifest, &folder.settings);
    let address = folder
        .engine
        .address(DASHBOARD, &context)
        .map_err(|error| folder.failed(error))?;
    let is_an_address = ["http://", "https://"]
        .iter()
        .any(|scheme| address.starts_with(scheme));
    if is_an_address && !address.contains(char::is_whitespace) {
        Ok(DashboardUrl::new(address))
    } else {
        Err(NotAnAddress.into())
    }
}
