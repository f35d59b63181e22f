#!/usr/bin/env bash
#
# Service adapter that deploys @NAME@: a server with its own password for each service instance. It requires jq.

set -euo pipefail

version="@NAME@ 0.1.0"

# Prints two lines or more: `answer`, `user` or `operator`, and the text for it.
read -r -d '' program <<'JQ' || true
def group: "server";
def job: "@NAME@-server";
def password: "((password))";

# The parameters of an order. Plans have properties of the same names, which are the defaults.
def parameters: {
  max_clients: {
    description: "The maximum number of connected clients",
    type: "integer",
    minimum: 1,
    maximum: 10000
  }
};

# Texts have no values of the request, which may be secrets.
def fail_for_user: error({user: .});
def fail_for_operator: error({operator: .});

# The text about the first unknown or invalid value, if there is one.
def errors($values; $schemas; $kind):
  first(
    $values | to_entries[] | .key as $name | $schemas[$name] as $schema
    | if $schema == null then
        ($schemas | keys | join(", ")) as $known
        | "\($kind) `\($name)` is unknown; available: \(if $known == "" then "none" else $known end)"
      elif .value | type != "number" or . != floor or . < $schema.minimum or . > $schema.maximum then
        "\($kind) `\($name)` must be an integer from \($schema.minimum) to \($schema.maximum)"
      else empty end
  );

def parameters_of_request:
  (.request_parameters // "null" | fromjson) as $request | $request.parameters // {};

# The number of that name in a manifest. This finds it in JSON and in other YAML, for which jq has no reader.
def deployed_number($name):
  first(.previous_manifest // "" | capture("\\b\($name)\"?: *(?<number>[0-9]+)") | .number | tonumber) // null;

def release_of($job):
  [.[] | select(.jobs | index([$job])) | .name]
  | if length == 1 then .[0]
    else "job `\($job)` must be in one release, it is in \(length)" | fail_for_operator end;

def instance_group:
  first(.instance_groups[] | select(.name == group)) // ("the plan has no instance group `\(group)`" | fail_for_operator)
  | with_entries(select(.value != null and .value != [] and .value != ""))
  | .networks |= map({name: .});

def generate_manifest:
  (.service_deployment | fromjson) as $deployment
  | (.plan | fromjson) as $plan
  | ($plan.properties // {}) as $properties
  | parameters_of_request as $parameters
  | (errors($parameters; parameters; "parameter") | fail_for_user),
    (errors($properties; parameters; "plan property") | fail_for_operator),
    ($plan.lifecycle_errands // {} | .[] // [] | select(length > 0)
      | "the plan has lifecycle errands, which this adapter does not support" | fail_for_operator),
    # No later request repeats a parameter, so the deployed manifest has the user's earlier choice.
    ($parameters.max_clients // deployed_number("max_clients") // $properties.max_clients // 100) as $max_clients
  | {
      name: $deployment.deployment_name,
      releases: $deployment.releases | map({name, version}),
      stemcells: $deployment.stemcells[:1] | map({alias: "default", os: .stemcell_os, version: .stemcell_version}),
      instance_groups: [
        ($plan | instance_group) + {
          stemcell: "default",
          jobs: [{
            name: job,
            release: ($deployment.releases | release_of(job)),
            properties: {max_clients: $max_clients, password: password}
          }]
        }
      ],
      # The Director generates the password; only applications receive it.
      variables: [{name: "password", type: "password"}],
      update: ($plan.update // {
        canaries: 1, max_in_flight: 1, canary_watch_time: "1000-60000", update_watch_time: "1000-60000"
      })
    }
  # JSON is YAML, too.
  | {manifest: tojson};

# Replace the address by that of a dashboard, or remove this subcommand.
def dashboard_url: {dashboard_url: "https://@NAME@.example.org/\(.instance_id)"};

def create_binding:
  (errors(parameters_of_request; {}; "parameter") | fail_for_user),
  (.bosh_vms | fromjson | .[group] // [] | .[0] // ("there is no VM of instance group \(group)" | fail_for_operator)) as $host
  | (.secrets // "null" | fromjson // {} | .[password]
      // ("the broker sent no password; it needs `enable_secure_manifests: true`" | fail_for_operator)) as $password
  | {credentials: {host: $host, port: 6379, password: $password}};

def generate_plan_schemas:
  def accepts($properties): {parameters: {
    "$schema": "http://json-schema.org/draft-04/schema#",
    type: "object",
    properties: $properties,
    additionalProperties: false
  }};
  {
    service_instance: {create: accepts(parameters), update: accepts(parameters)},
    service_binding: {create: accepts({})}
  };

try (
  input[$subcommand | gsub("-"; "_")]
  | if type != "object" then "the request has no section for `\($subcommand)`" | fail_for_operator else . end
  | if $subcommand == "generate-manifest" then generate_manifest
    elif $subcommand == "dashboard-url" then dashboard_url
    elif $subcommand == "create-binding" then create_binding
    else generate_plan_schemas end
  | "answer", tojson
) catch (
  if type == "object" then keys[0], .[] else "operator", "the request does not follow the protocol" end
)
JQ

main() {
  local result=""
  case "${1:-}" in
    --version)
      echo "$version"
      return
      ;;
    # All bindings share the password of the instance, so nothing is deleted.
    delete-binding)
      cat >/dev/null
      return
      ;;
    generate-manifest | dashboard-url | create-binding | generate-plan-schemas)
      # Messages of jq may have values of the request.
      result=$(jq -nr --arg subcommand "$1" "$program" 2>/dev/null) || true
      ;;
    *)
      cat >/dev/null
      fail "expected a subcommand: generate-manifest, dashboard-url, create-binding, delete-binding or generate-plan-schemas"
      ;;
  esac
  local text=${result#*$'\n'}
  case $result in
    answer*) printf '%s\n' "$text" ;;
    user*)
      printf '%s\n' "$text"
      fail "$text"
      ;;
    operator*) fail "$text" ;;
    *) fail "jq could not read the request" ;;
  esac
}

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

main "$@"
