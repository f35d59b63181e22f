//! `odb offer check`: everything that is wrong with a package.

use std::fmt::Write as _;

use clap::Args;
use odb_errand::{Dependencies, ExitStatus, harmless};
use odb_offer::{
    check::{open, render_plans},
    findings::{FindingRow, Findings, line},
    offer::Offer,
};
use serde::Serialize;

use super::{Source, require, with_helm};
use crate::output::{Output, Tone};

/// Check a package with its charts, and report all findings with their lines
///
/// Reads every file, renders each plan with helm as for a new instance, and validates the values against the chart's
/// schema. Exit status: 0 no errors, 1 errors; with --strict also for warnings.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb offer check cache cache-1.0.0.tgz\n  odb offer check cache ./charts/cache --kube-version 1.33.0 --strict\n  odb offer check cache cache-1.0.0.tgz -o json"
)]
pub(crate) struct Check {
    #[command(flatten)]
    source: Source,
    /// Count warnings as errors.
    #[arg(long)]
    strict: bool,
    /// Leave out what needs helm: for charts that only a cluster can render.
    #[arg(long)]
    no_render: bool,
}

/// The result for programs.
#[derive(Serialize)]
struct Report<'f> {
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<Summary>,
    passed: bool,
    errors: usize,
    warnings: usize,
    /// Whether the plans were rendered.
    rendered: bool,
    findings: Vec<FindingRow<'f>>,
}

/// The offer, if the package makes one.
#[derive(Serialize)]
struct Summary {
    name: String,
    service_id: String,
    charts: Vec<String>,
    plans: Vec<String>,
}

impl Check {
    pub(super) async fn run(
        self,
        programs: Option<String>,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        require(&self.source.package)?;
        let helm = if self.no_render {
            None
        } else {
            Some(self.source.find_helm(programs.as_deref())?)
        };
        let Self {
            source,
            strict,
            no_render,
        } = self;
        let (summary, findings) = with_helm(helm, dependencies, move |helm| {
            let options = source.options(helm);
            let mut findings = Findings::default();
            let offer = open(&source.package, &source.charts, &options, &mut findings);
            // The reason that a package is not read would be found again in each plan.
            if let Some(offer) = offer.as_ref().filter(|_| findings.errors() == 0) {
                render_plans(offer, &options, &mut findings);
            }
            (offer.as_ref().map(Summary::of), findings)
        })
        .await?;
        let (errors, warnings) = (findings.errors(), findings.warnings());
        let passed = errors == 0 && !(strict && warnings > 0);
        let report = Report {
            offer: summary,
            passed,
            errors,
            warnings,
            rendered: errors == 0 && !no_render,
            findings: findings.rows(),
        };
        output.print_text(&report, &text(&report, &findings, output))?;
        Ok(if passed {
            ExitStatus::Success
        } else {
            ExitStatus::Failure
        })
    }
}

impl Summary {
    fn of(offer: &Offer) -> Self {
        let charts = offer.charts.iter().map(|chart| &chart.chart);
        Self {
            name: offer.name.clone(),
            service_id: offer.service_id.clone(),
            charts: charts
                .map(|chart| format!("{} {}", chart.name(), chart.version()))
                .collect(),
            plans: offer.plans.iter().map(|plan| plan.name.clone()).collect(),
        }
    }
}

fn text(report: &Report<'_>, findings: &Findings, output: &Output) -> String {
    let mut text = String::new();
    for finding in findings.iter() {
        let _ = writeln!(text, "{}", harmless(&line(finding)));
    }
    if let Some(offer) = &report.offer {
        let (charts, plans) = (offer.charts.join(", "), offer.plans.join(", "));
        let _ = writeln!(
            text,
            "offer {}: charts {charts}; plans {plans}",
            harmless(&offer.name)
        );
    }
    if !report.rendered {
        text.push_str("not checked: the rendering of the plans\n");
    }
    let count = |count: usize, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    };
    let tone = if report.passed { Tone::Good } else { Tone::Bad };
    let counts = format!(
        "{}, {}",
        count(report.errors, "error"),
        count(report.warnings, "warning")
    );
    text + &output.toned(tone, &counts) + "\n"
}
