# shellcheck shell=bash
# Packs the Helm chart and the plain manifests, which are rendered from it. Requires the variables and functions of scripts/build-packages:
# shellcheck disable=SC2154

chart_folder=release/chart/on-demand-broker
plain_manifests=release/kubernetes/on-demand-broker.yml

build_chart() {
  local folder=$work/chart/on-demand-broker file=$output/on-demand-broker-chart-$version.tgz
  mkdir -p "$work/chart"
  cp -r "$chart_folder" "$folder"
  sed -i -e "s/^version: .*/version: $version/" -e "s/^appVersion: .*/appVersion: \"$version\"/" "$folder/Chart.yaml"
  write_bill on-demand-broker-chart "$file"
  cp LICENSE "$folder"
  chmod -R u=rwX,go=rX "$folder"
  archive "$work/chart" | gzip --no-name >"$work/chart.tgz"
  mv "$work/chart.tgz" "$file"
  report "$file"
}

# Fills the version into the plain manifests.
build_manifests() {
  local file=$output/on-demand-broker-$version.yml
  sed "s/\bVERSION\b/$version/" "$plain_manifests" >"$work/manifests.yml"
  mv "$work/manifests.yml" "$file"
  report "$file"
}

# Renders the plain manifests from the chart with the values of the guide. ODB_HELM names another program than `helm`.
render_manifests() {
  local helm=${ODB_HELM:-helm} folder=$work/rendered
  command -v "$helm" >/dev/null || fail "the manifests need Helm: \`$helm\` is not on the PATH."
  cp -r "$chart_folder" "$folder"
  sed -i 's/^appVersion: .*/appVersion: VERSION/' "$folder/Chart.yaml"
  {
    cat <<'HEADER'
# Runs the broker on Kubernetes, for clusters without Helm. `scripts/build-packages manifests` sets the version. docs/operators/kubernetes.md
# describes the ConfigMap and the Secrets. Do not change this file: `scripts/build-packages render` renders it from the chart.
HEADER
    "$helm" template on-demand-broker "$folder" --set existingConfigMap=on-demand-broker,tls.existingSecret=broker-tls |
      sed -e '/^# Source:/d' -e '/helm.sh\/chart:/d' -e '/managed-by: Helm/d'
  } >"$work/manifests.yml"
  cp "$work/manifests.yml" "$plain_manifests"
  report "$plain_manifests"
}
