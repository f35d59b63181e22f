# shellcheck shell=bash
# Starts a foundation and a broker for Redis for one run of a script. Writes only to the folder $work.
# Requires the project's folder as working folder, processes.bash, toolchain.bash, and the functions `fail MESSAGE` and
# `say MESSAGE`.

# The folder of this run.
work=""
# Further options of `odb-sandbox up`.
sandbox_options=()
# The initial contents of the foundation.
foundation_manifest=manifests/sandbox/foundation.yml

build() {
  [[ -x $(target_folder)/try/on-demand-broker ]] || say "first build: about 5 minutes"
  cargo build --locked --profile try --workspace --bins
  binaries=$(target_folder)/try
}

# The folder contains credentials: other users must not read it. --stop accepts only folders with the marker.
make_work_folder() {
  umask 077
  work=$(mktemp -d "${TMPDIR:-/tmp}/odb-try.XXXXXX")
  touch "$work/made-by-scripts-try"
  mkdir "$work/foundation"
  export ODB_FOUNDATION=$work/foundation/foundation.json
}

start_foundation() {
  run_in_background "$work/sandbox" "$binaries/odb-sandbox" up \
    --config "$foundation_manifest" --jobs manifests/sandbox/jobs --state "$work/foundation" "${sandbox_options[@]}"
  wait_until 30 "$work/sandbox" grep -q '^ready ' "$work/sandbox.out"
  say "Cloud Controller $(known .cloud_controller.url), Director $(known .director.url)"
}

# known PATH: prints a value of foundation.json.
known() {
  jq -er "$1" "$ODB_FOUNDATION"
}

start_broker() {
  local address
  address=$(known .broker_address)
  broker_username=broker
  broker_url=https://$address:8080
  random_word 40 >"$work/broker.password"
  broker_configuration >"$work/broker.yml"
  run_in_background "$work/broker" "$binaries/on-demand-broker" serve --config "$work/broker.yml"
  wait_until 30 "$work/broker" accepts_connections "$address" 8080
  say "broker $broker_url"
}

random_word() {
  local letters
  letters=$(tr -dc 'A-Za-z0-9' < <(head -c 1024 /dev/urandom))
  echo "${letters:0:$1}"
}

# Prints the broker's configuration. No other program gets a secret as an argument.
broker_configuration() {
  local text
  text=$(<manifests/sandbox/redis-broker.yml)
  fill_authority "    "
  fill_credentials
  fill BROKER_CERTIFICATE_FILE "$work/foundation/broker.crt"
  fill BROKER_KEY_FILE "$work/foundation/broker.key"
  fill ADAPTER "$binaries/redis-service-adapter"
  fill_known BROKER_ADDRESS .broker_address
  fill_known DIRECTOR_URL .director.url
  fill_known DIRECTOR_CLIENT_ID .director.team_client.id
  fill_known DIRECTOR_CLIENT_SECRET .director.team_client.secret
  printf '%s\n' "$text"
}

# Prints the errands' configuration.
errands_configuration() {
  local text
  text=$(<manifests/sandbox/errands.yml)
  fill_authority "      "
  fill_credentials
  fill BROKER_URL "$broker_url"
  printf '%s\n' "$text"
}

# fill_authority BLANKS: inserts the foundation's certificate authority with the indentation of the template.
fill_authority() {
  local authority
  authority=$(known .ca_certificate)
  authority=$(<"$authority")
  fill CA_CERTIFICATE "${authority//$'\n'/$'\n'"$1"}"
}

# Inserts the addresses of the upstreams and the broker's credentials.
fill_credentials() {
  fill BROKER_USERNAME "$broker_username"
  fill BROKER_PASSWORD "$(<"$work/broker.password")"
  fill_known CLOUD_CONTROLLER_URL .cloud_controller.url
  fill_known CF_UAA_URL .cloud_controller.uaa_url
  fill_known CF_CLIENT_ID .cloud_controller.broker_client.id
  fill_known CF_CLIENT_SECRET .cloud_controller.broker_client.secret
}

# fill NAME VALUE: replaces @NAME@ in the caller's text.
fill() {
  text=${text//"@$1@"/"$2"}
}

# fill_known NAME PATH: replaces @NAME@ with a value of foundation.json, escaped for the template's double quotes.
fill_known() {
  local value
  value=$(known "$2 | strings | tojson | .[1:-1]")
  fill "$1" "$value"
}

stop_everything() {
  stop "$work/broker"
  kill_readers "$work/broker.yml"
  stop "$work/sandbox"
  kill_orphans "$work/foundation"
  rm -rf "$work"
  work=""
}

write_curl_configurations() {
  local authority
  authority=$(known .ca_certificate)
  cat >"$work/broker.curl" <<CURL
cacert = "$authority"
user = "$broker_username:$(<"$work/broker.password")"
header = "X-Broker-API-Version: 2.17"
CURL
  cat >"$work/token.curl" <<CURL
cacert = "$authority"
url = "$(known .director.uaa_url)/oauth/token"
user = $(known '.director.team_client | "\(.id):\(.secret)" | tojson')
data = "grant_type=client_credentials"
CURL
  cat >"$work/director.curl" <<CURL
cacert = "$authority"
CURL
}

# Adds the broker to a file of contexts of its own.
add_odb_context() {
  ODB_CONFIG=$work/odb.yml "$binaries/odb" context set try --url "$broker_url" --username "$broker_username" \
    --password-file "$work/broker.password" --ca-cert "$(known .ca_certificate)" >/dev/null
}
