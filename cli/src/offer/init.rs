//! `odb offer init`: a new package.

use std::{fs, path::PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use odb_errand::ExitStatus;
use odb_offer::package::new;
use serde_json::json;

use crate::output::Output;

/// Create a package with two plans, to be filled in
///
/// Writes offer.yaml, plans.yaml, a file of values for each plan, values of all plans, and bind.yaml into a new folder.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb offer init cache\n  odb offer init cache --chart redis --chart-version 18.1.0"
)]
pub(crate) struct Init {
    /// Name in the marketplace, and of the new folder.
    name: String,
    /// Name of the chart; default: that of the offer.
    #[arg(long, value_name = "NAME")]
    chart: Option<String>,
    /// Version of the chart, as in its Chart.yaml.
    #[arg(long, value_name = "VERSION", default_value = "1.0.0")]
    chart_version: String,
}

impl Init {
    pub(super) fn run(self, output: &Output) -> anyhow::Result<ExitStatus> {
        let Self {
            name,
            chart,
            chart_version,
        } = self;
        if !new::is_name(&name) {
            bail!(
                "`{name}` is not a name of an offer: use lower-case letters, digits, `-` and `.`"
            );
        }
        let folder = PathBuf::from(&name);
        if folder.exists() {
            bail!("`{name}` exists. Choose another name, or remove it");
        }
        let files = new::files(&name, chart.as_deref().unwrap_or(&name), &chart_version);
        let mut written = Vec::new();
        for (file, text) in files {
            let path = folder.join(file);
            let parent = path.parent().unwrap_or(&folder);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, text))
                .with_context(|| format!("cannot write `{}`", path.display()))?;
            written.push(path.display().to_string());
        }
        let text = written.join("\n") + "\n";
        output.print_text(&json!({ "offer": name, "files": written }), &text)?;
        Ok(ExitStatus::Success)
    }
}
