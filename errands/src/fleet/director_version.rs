//! Whether the Director can recreate (`spec/contracts/errands.md` §4.1). The broker reports it; with a Go broker the
//! errand reads the Director's public info.

use std::time::Duration;

use anyhow::{Context, bail};
use odb_api_types::management::DirectorAbilities;
use odb_clients::http::{Call, HttpClient, Limits, Request, Trust, address};
use odb_config::errands::DirectorAddress;
use serde::Deserialize;

use crate::broker_api::{BrokerApi, BrokerApiRejection};

const TIMEOUT: Duration = Duration::from_mins(1);
const TALKING: &str = "an error occurred while talking to the BOSH director";

/// Fails unless the Director can recreate.
pub(super) async fn check(
    broker: &BrokerApi,
    director: Option<&DirectorAddress>,
) -> anyhow::Result<()> {
    let reported = broker.get::<DirectorAbilities>(&["mgmt", "v1", "director"], &[]);
    let abilities = match reported.await {
        Ok(abilities) => abilities,
        Err(error) if error.is_unknown_route() => match director {
            Some(director) => ask(director).await?,
            None => bail!(
                "{TALKING}: this broker does not report its version, and the file has no `bosh.url`"
            ),
        },
        Err(error) => {
            let activity = "could not read the version of the BOSH director from the broker";
            return Err(anyhow::Error::new(error).context(activity));
        }
    };
    if !abilities.can_recreate {
        bail!(
            "Insufficient BOSH director version: \"{}\". Instances can be recreated by 266.15 and later of 266, 267.9 and \
             later of 267, 268.2.2 and later of 268.2, and by 268.4 and everything after it",
            abilities.version
        );
    }
    Ok(())
}

async fn ask(director: &DirectorAddress) -> anyhow::Result<DirectorAbilities> {
    let trust = match &director.root_ca_cert {
        Some(pem) => Trust::system_and(pem),
        None => Trust::system(),
    };
    let trust = trust.context("`bosh.root_ca_cert` cannot be used")?;
    let http = HttpClient::new(&trust, Limits::default()).context(TALKING)?;
    let server = address::server(director.url.as_written()).context(TALKING)?;
    let request = Request::get(address::on(&server, &["info"], &[]));
    let answer = http.send(&Call::within(TIMEOUT), &request).await;
    let answer = answer.context(TALKING)?;
    if !answer.status().is_success() {
        bail!("{TALKING}: got HTTP {}", answer.status().as_u16());
    }
    let info: Info = answer.json().context(TALKING)?;
    Ok(DirectorAbilities::of(info.version))
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    version: String,
}
