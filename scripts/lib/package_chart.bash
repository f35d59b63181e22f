# shellcheck shell=bash
# Packs the Helm chart, and renders the plain manifests from it. Requires the variables and functions of scripts/build-packages:
# shellcheck disable=SC2154

chart_folder=release/chart/on-demand-broker
plain_manifests=release/kubernetes/on-demand-broker.yml

build_chart() {
  local folder=$work/chart/on-demand-broker file=$output/on-demand-broker-chart-$version.tgz
  mkdir -p "$work/chart"
  cp -r "$chart_folder" "$folder"
  sed -i -e "s/^version: .*/version: $version/" -e "s/^appVersion: .*/appVersion: \"$version\"/" "$folder/Chart.yaml"
  write_bill on-demand-broker-chart
  cp LICENSE "$folder"
  chmod -R u=rwX,go=rX "$folder"
  archive "$work/chart" | gzip --no-name >"$work/chart.tgz"
  mv "$work/chart.tgz" "$file"
  report "$file"
}

# Renders the chart with its defaults for clusters without Helm. ODB_HELM names another program than `helm`.
render_manifests() {
  local helm=${ODB_HELM:-helm}
  command -v "$helm" >/dev/null || fail "the manifests need Helm: \`$helm\` is not on the PATH."
  {
    cat <<'HEADER'
# Runs the broker on Kubernetes, for clusters without Helm. `scripts/build-packages manifests` renders this file from the chart with
# its default values: change the chart instead. docs/operators/kubernetes.md describes the ConfigMap and the Secret that it needs.
HEADER
    "$helm" template on-demand-broker "$chart_folder" --set existingConfigMap=on-demand-broker | sed -e '/^# Source:/d' -e '/helm.sh\/chart:/d' -e '/managed-by: Helm/d'
  } >"$work/manifests.yml"
  cp "$work/manifests.yml" "$plain_manifests"
  report "$plain_manifests"
}
