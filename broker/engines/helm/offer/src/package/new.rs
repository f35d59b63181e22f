//! The files of a new package.

/// A file and its content.
pub type NewFile = (&'static str, String);

/// Whether an offer can have the name.
pub fn is_name(name: &str) -> bool {
    super::descriptor::is_offer_name(name)
}

/// A package for a chart, to be filled in.
pub fn files(name: &str, chart: &str, version: &str) -> Vec<NewFile> {
    vec![
        ("offer.yaml", descriptor(name, chart, version)),
        ("plans.yaml", PLANS.to_owned()),
        ("plans/small.yaml", plan("small")),
        ("plans/medium.yaml", plan("medium")),
        ("overrides/override-values.yaml", OVERRIDES.to_owned()),
        ("bind.yaml", BIND.to_owned()),
    ]
}

fn descriptor(name: &str, chart: &str, version: &str) -> String {
    format!(
        "# The name in the marketplace.
offer-name: {name}

# The charts, in the order of their installation.
charts:
- chart: {chart}
  # The version in Chart.yaml, as text.
  version: \"{version}\"
  # The chart that bindings and parameters are about.
  offered: true
  # `namespace`: once for each instance. `cluster`: once for each cluster.
  scope: namespace
  overrideValuesFile: override-values.yaml

parameters:
  # The values that users may set with `cf create-service -c`, with all below them.
  allow:
  - replicaCount
"
    )
}

const PLANS: &str = "- name: small
  description: A small instance
  file: small.yaml
- name: medium
  description: An instance for more load
  file: medium.yaml
";

fn plan(name: &str) -> String {
    format!("# Values of the plan `{name}`. They win over overrides/override-values.yaml.\n")
}

const OVERRIDES: &str = "# Values of all plans. They win over the chart's values.yaml.
# `{{ .Release.Name }}`, `{{ .Release.Namespace }}` and, for example, `{{ .Values.odb.plan }}` are replaced.
";

const BIND: &str = "# A Jsonnet expression that makes the credentials of a binding of $.secrets, $.services and $.ingresses.
template: |
  {
    host: $.services[0].name,
    port: $.services[0].spec.ports[0].port,
  }
";
