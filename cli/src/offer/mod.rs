//! `odb offer`: packages that make a service of Helm charts. Without a broker and without a cluster.
//!
//! | file | contents |
//! | --- | --- |
//! | here | the commands, and the work in the background |
//! | `init` | a new package |
//! | `check` | all findings of a package |
//! | `render` | values and manifests of a plan |

mod check;
mod init;
mod render;

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use odb_errand::{Dependencies, ExitStatus};
use odb_offer::{
    check::Options,
    helm::{Helm, WANTED},
};
use odb_process::Orphans;

use crate::output::Output;

/// Make services of Helm charts: create, check and render offer packages
///
/// An offer package is a folder with plans, values and a bind template beside one or several charts. These commands need
/// neither a broker nor a cluster.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  odb offer init cache\n  odb offer check cache cache-1.0.0.tgz\n  odb offer render cache cache-1.0.0.tgz --plan small"
)]
pub(crate) enum OfferCommand {
    Init(init::Init),
    Check(check::Check),
    Render(render::Render),
}

/// A package with its charts, and how it is rendered.
#[derive(Clone, Debug, Args)]
struct Source {
    /// Folder of the offer package, or a tar of it.
    #[arg(value_name = "DIR")]
    package: PathBuf,
    /// Charts of the offer: `NAME-VERSION.tgz`, or the folder of a chart.
    #[arg(value_name = "CHART")]
    charts: Vec<PathBuf>,
    /// The helm executable, 3.16 or later, or 4.
    #[arg(long, value_name = "PATH", default_value = "helm")]
    helm: PathBuf,
    /// Version of Kubernetes that the charts are rendered for, such as 1.33.0; default: that of helm.
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
}

impl Source {
    fn options(&self, helm: Option<Helm>) -> Options {
        Options {
            helm,
            kube_version: self.kube_version.clone(),
            clusters: None,
        }
    }

    fn find_helm(&self, programs: Option<&str>) -> anyhow::Result<Helm> {
        Helm::find(&self.helm, programs, Orphans::Ignored)
            .with_context(|| format!("Charts are rendered by {WANTED}. Give it with --helm PATH"))
    }
}

impl OfferCommand {
    pub(crate) async fn run(
        self,
        programs: Option<String>,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        match self {
            Self::Init(command) => command.run(output),
            Self::Check(command) => command.run(programs, output, dependencies).await,
            Self::Render(command) => command.run(programs, output, dependencies).await,
        }
    }
}

/// Does work that starts helm. After a signal, helm is stopped and its files are removed.
async fn with_helm<T: Send + 'static>(
    helm: Option<Helm>,
    dependencies: &Dependencies,
    work: impl FnOnce(Option<Helm>) -> T + Send + 'static,
) -> anyhow::Result<T> {
    let (reader, writer) = io::pipe()?;
    let helm = helm.map(|helm| helm.with_cancel(reader));
    let mut work = tokio::task::spawn_blocking(move || work(helm));
    let done = dependencies.unless_stopped(&mut work).await;
    drop(writer);
    match done {
        Ok(done) => Ok(done?),
        Err(stopped) => {
            let _ = work.await;
            Err(stopped.into())
        }
    }
}

/// A folder that is not there is a mistyped one.
fn require(path: &Path) -> anyhow::Result<()> {
    if !path.exists() {
        bail!(
            "There is no `{}`. Make a package with `odb offer init NAME`",
            path.display()
        );
    }
    Ok(())
}
