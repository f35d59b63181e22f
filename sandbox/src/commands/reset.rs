//! `odb-sandbox reset`: a fresh foundation in the place of a used one.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use super::remote::{Remote, RemoteArgs};
use crate::{
    foundation::{DESCRIPTION_FILE, wipe},
    store::{Store, StoreError},
};

/// How long a foundation may take to go down and come up again.
const LIMIT: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(100);

/// Puts a fresh foundation in the place of a used one: no deployments, no brokers, new credentials and certificates.
///
/// One that runs starts anew on the same net; when this command returns it is up. Of one that does not run the state is
/// removed, and the next start makes a fresh one.
#[derive(Debug, Args)]
pub struct ResetArgs {
    /// State folder of the foundation, running or not.
    #[arg(long, value_name = "DIR", required_unless_present = "control")]
    state: Option<PathBuf>,
    /// URL of the control API of a running foundation.
    #[arg(long, value_name = "URL", conflicts_with = "state")]
    control: Option<Url>,
}

#[derive(Deserialize)]
struct Health {
    run: Uuid,
}

impl ResetArgs {
    /// Does what the arguments say.
    pub async fn run(self) -> anyhow::Result<()> {
        let Some(state) = self.state else {
            let args = RemoteArgs {
                foundation: PathBuf::new(),
                control: self.control,
            };
            return restart(&args.remote()?).await;
        };
        let description = state.join(DESCRIPTION_FILE);
        if description.exists() {
            let args = RemoteArgs {
                foundation: description,
                control: None,
            };
            let remote = args.remote()?;
            // A sandbox that was killed leaves its description behind.
            if remote.get::<Value>("/").await.is_ok() {
                return restart(&remote).await;
            }
        }
        if !state.is_dir() {
            bail!("there is no folder `{}`", state.display());
        }
        tokio::task::spawn_blocking(move || remove(&state)).await?
    }
}

fn remove(state: &Path) -> anyhow::Result<()> {
    match Store::open(state) {
        Ok(store) => store.close(),
        // Of another version, perhaps; that is what a reset is for.
        Err(StoreError::OtherFormat { .. }) => {}
        Err(error) => {
            return Err(error)
                .context("a sandbox may be starting on it; if none is, remove the file");
        }
    }
    Ok(wipe(state)?)
}

async fn restart(remote: &Remote) -> anyhow::Result<()> {
    let before: Health = remote.post("/reset", &json!({})).await?;
    let until = Instant::now() + LIMIT;
    loop {
        match remote.get::<Health>("/").await {
            Ok(health) if health.run != before.run => return Ok(()),
            _ if Instant::now() > until => {
                bail!(
                    "the foundation has not come up again within {} s",
                    LIMIT.as_secs()
                )
            }
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
}
