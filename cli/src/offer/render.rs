//! `odb offer render`: the values of a plan, or the manifests that they make.

use std::fmt::Write as _;

use clap::Args;
use odb_adapter_sdk::yaml;
use odb_errand::{Console, Dependencies, ExitStatus, harmless};
use odb_offer::{
    check::open,
    findings::Findings,
    helm::{Helm, Rendering},
    offer::{Offer, Plan},
    plan_values::{self, ChartValues, Order},
    values::{Values, layer::Renderer, merge, parameters},
};
use serde::Serialize;

use super::{Source, require, with_helm};
use crate::{names::unknown, output::Output};

/// Show the values or the manifests of a plan
///
/// Merges overrides, plan and parameters as for a new instance, and prints the values that helm gets. Parameters are
/// checked as those of a user. Exit status: 0 rendered, 1 errors.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  odb offer render cache cache-1.0.0.tgz --plan small\n  odb offer render cache cache-1.0.0.tgz --plan small -c '{\"replicaCount\": 2}' --manifests"
)]
pub(crate) struct Render {
    #[command(flatten)]
    source: Source,
    /// Name of the plan.
    #[arg(long, value_name = "NAME")]
    plan: String,
    /// Parameters of a user, a JSON object.
    #[arg(short = 'c', long, value_name = "JSON", default_value = "{}")]
    parameters: String,
    /// Id of the service instance, which determines release and namespace.
    #[arg(
        long,
        value_name = "ID",
        default_value = "00000000-0000-4000-8000-000000000000"
    )]
    instance_id: String,
    /// Print the manifests that the charts make of the values.
    #[arg(long)]
    manifests: bool,
}

/// A chart of the plan.
#[derive(Debug, Serialize)]
struct Rendered {
    chart: String,
    release: String,
    namespace: String,
    values: Values,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifests: Option<String>,
}

impl Render {
    pub(super) async fn run(
        self,
        programs: Option<String>,
        output: &Output,
        dependencies: &Dependencies,
    ) -> anyhow::Result<ExitStatus> {
        require(&self.source.package)?;
        let helm = self.source.find_helm(programs.as_deref())?;
        let console = dependencies.console.clone();
        let work = move |helm: Option<Helm>| self.render(helm.as_ref(), &console);
        let Some(rendered) = with_helm(Some(helm), dependencies, work).await?? else {
            return Ok(ExitStatus::Failure);
        };
        output.print_text(&rendered, &text(&rendered)?)?;
        Ok(ExitStatus::Success)
    }

    /// None after errors in the package, which are printed.
    fn render(
        &self,
        helm: Option<&Helm>,
        console: &Console,
    ) -> anyhow::Result<Option<Vec<Rendered>>> {
        let mut findings = Findings::default();
        let options = self.source.options(helm.cloned());
        let offer = open(
            &self.source.package,
            &self.source.charts,
            &options,
            &mut findings,
        );
        let Some(offer) = offer.filter(|_| findings.errors() == 0) else {
            report(&findings, console);
            return Ok(None);
        };
        let Some(plan) = offer.plan(&self.plan) else {
            let plans = offer.plans.iter().map(|plan| plan.name.as_str());
            return Err(unknown("plan", &self.plan, plans, "odb offer check"));
        };
        let order = Order {
            instance_id: self.instance_id.clone(),
            ..Order::example()
        };
        let kube_version = self.source.kube_version.as_deref();
        let renderer = Renderer { helm, kube_version };
        let charts = plan_values::of_plan(&offer, plan, &order, renderer, &mut findings);
        if findings.errors() > 0 {
            report(&findings, console);
            return Ok(None);
        }
        let charts = charts.into_iter();
        let charts: anyhow::Result<_> = charts
            .map(|chart| self.chart(&offer, plan, &chart, helm))
            .collect();
        charts.map(Some)
    }

    fn chart(
        &self,
        offer: &Offer,
        plan: &Plan,
        chart: &ChartValues<'_>,
        helm: Option<&Helm>,
    ) -> anyhow::Result<Rendered> {
        let mut values = chart.merged();
        if chart.chart.is_offered {
            let given = parameters::parse(&self.parameters)?;
            parameters::check(&given, offer.base(&values))?;
            merge(&mut values, &given);
        }
        let rendering = Rendering {
            release: &chart.release,
            namespace: &chart.namespace,
            kube_version: self.source.kube_version.as_deref(),
        };
        let manifests = match helm.filter(|_| self.manifests) {
            Some(helm) => Some(
                helm.template(&chart.chart.chart, &values, rendering)
                    .map_err(|error| {
                        let name = chart.chart.chart.name();
                        anyhow::Error::new(error).context(format!(
                            "cannot render the chart `{name}` for the plan `{}`",
                            plan.name
                        ))
                    })?,
            ),
            None => None,
        };
        Ok(Rendered {
            chart: chart.chart.chart.name().to_owned(),
            release: chart.release.clone(),
            namespace: chart.namespace.clone(),
            values,
            manifests,
        })
    }
}

fn report(findings: &Findings, console: &Console) {
    for line in findings.lines() {
        console.log(harmless(&line));
    }
}

/// Documents of YAML, each below the name of its chart.
fn text(rendered: &[Rendered]) -> anyhow::Result<String> {
    let mut text = String::new();
    for chart in rendered {
        let Rendered {
            chart: name,
            release,
            namespace,
            ..
        } = chart;
        let _ = writeln!(
            text,
            "# chart {name}, release {release}, namespace {namespace}"
        );
        if let Some(manifests) = &chart.manifests {
            text.push_str(&harmless(manifests));
        } else {
            text.push_str("---\n");
            text.push_str(&harmless(&yaml::to_string(&chart.values)?));
        }
    }
    Ok(text)
}
