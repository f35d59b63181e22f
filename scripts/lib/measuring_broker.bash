# shellcheck shell=bash
# The callers and the other files in this folder use the variables:
# shellcheck disable=SC2034,SC2154
# Measures the broker, and a Go broker if GO_BROKER is set: both on the same foundation, with the same configuration, over plain
# HTTP. Requires measuring.bash.

# The number of measured starts.
starts=11
# The number of instances to order one by one.
provisions=100
# The number of instances to order at once.
clients=128
# The duration of each request measurement, in seconds.
duration=5
# The number of instances at the end.
own_instances=5000
# The number of comparisons with the Director's deployments.
orphan_checks=10

service_id=0a58b5c6-6d3c-4a4b-9d0e-3d3f5a3f7a10
plan_id=3b7e1f52-0f0c-4c55-8a5b-6f1f6a9c2d21

# The rows in order, and the cells of each: this broker's, then the Go broker's.
rows=()
declare -A figures

measure_broker() {
  local program
  make_work_folder
  sed -E 's/^( +step:) .*/\1 0ms/' manifests/sandbox/foundation.yml >"$work/foundation.yml"
  foundation_manifest=$work/foundation.yml
  start_foundation
  start_broker
  broker_url=http://$(known .broker_address):8080
  write_curl_configurations
  broker_configuration | without_tls_and_quotas >"$work/broker.yml"
  for program in "$binaries/on-demand-broker" ${GO_BROKER:+"$GO_BROKER"}; do
    measure_speed "$program"
  done
  program=$binaries/on-demand-broker
  start_measured "$program" >/dev/null
  fill_fleet "$own_instances"
  for program in "$binaries/on-demand-broker" ${GO_BROKER:+"$GO_BROKER"}; do
    measure_with_fleet "$program"
  done
  stop_everything
  print_figures
}

without_tls_and_quotas() {
  sed -E -e '/^  tls:$/,/key_file:/d' -e '/^ +(global_)?quotas:$/,+1d'
}

# measure_speed PROGRAM
measure_speed() {
  local program=$1 connections rate
  measure_starts "$program" "start to the first catalog, ms"
  note "executable, MiB" "$(mebibytes "$program")"
  note "resident memory after it, MiB" "$(tenths "$idle" 1024)"
  measure_provisions
  for connections in 1 16 64; do
    rate=$(requests_per_second "$connections" /v2/catalog)
    note "catalogs per second, $connections connections" "$rate"
  done
  measure_many_clients "$program"
  measure_binds "$program"
}

# measure_with_fleet PROGRAM
measure_with_fleet() {
  local with="with $own_instances instances" times=() began before check
  measure_starts "$1" "$with: start to the first catalog, ms"
  await_quiet
  forget_peak
  before=$(cpu_time "$(broker_process)")
  for ((check = 0; check < orphan_checks; check++)); do
    began=$(now)
    request /mgmt/orphan_deployments >/dev/null
    times+=($(($(now) - began)))
  done
  note "$with: orphan check, ms" "$(tenths "$(median "${times[@]}")" 1000)"
  note "$with: orphan check, ms of processor time" \
    "$(tenths $((($(cpu_time "$(broker_process)") - before) * 10 / orphan_checks)) 10)"
  note "$with: peak memory of it, MiB" "$(tenths "$(peak_of "$(broker_process)")" 1024)"
}

# measure_starts PROGRAM ROW: sets $idle to the resident memory in KiB.
measure_starts() {
  local times=() sizes=() start
  for ((start = 0; start < starts; start++)); do
    times+=("$(start_measured "$1")")
    sizes+=("$(resident "$(broker_process)")")
  done
  note "$2" "$(tenths "$(median "${times[@]}")" 1000)"
  idle=$(median "${sizes[@]}")
}

# start_measured PROGRAM: prints the microseconds from its execution to its first catalog. It starts no other process, because
# that takes as long as the broker's start.
start_measured() {
  local began address status credentials command=("$1" serve --config "$work/broker.yml")
  [[ $1 != "${GO_BROKER:-}" ]] || command=("$1" -configFilePath "$work/broker.yml")
  address=$(known .broker_address)
  credentials=$(authorization)
  stop "$work/broker"
  began=${EPOCHREALTIME/[.,]/}
  run_in_background "$work/broker" "${command[@]}"
  until { exec 5<>"/dev/tcp/$address/8080"; } 2>/dev/null; do
    ((${EPOCHREALTIME/[.,]/} - began < 60000000)) || fail "$1 does not listen."
  done
  printf 'GET /v2/catalog HTTP/1.1\r\nHost: broker\r\nX-Broker-API-Version: 2.17\r\nAuthorization: Basic %s\r\n\r\n' \
    "$credentials" >&5
  read -r -t 60 status <&5 || fail "$1 does not answer."
  echo $((${EPOCHREALTIME/[.,]/} - began))
  exec 5<&-
  [[ $status == "HTTP/1.1 200"* ]] || fail "$1 answers a catalog request with $status"
}

# Orders one by one: measures the time of the answer and the CPU time of the whole operation.
measure_provisions() {
  local before times
  # The first order opens the connections.
  order 1 1 >/dev/null
  await_quiet
  before=$(cpu_time "$(broker_process)")
  order "$provisions" 1 >"$work/times"
  mapfile -t times <"$work/times"
  await_quiet
  note "one provision, ms" "$(tenths "$(median "${times[@]}")" 1000)"
  note "one provision, ms of processor time" \
    "$(tenths $((($(cpu_time "$(broker_process)") - before) * 10 / provisions)) 10)"
}

# measure_many_clients PROGRAM
measure_many_clients() {
  local began
  start_measured "$1" >/dev/null
  forget_peak
  began=$(now)
  order "$clients" "$clients" >/dev/null
  note "$clients provisions at once, s" "$(tenths $(($(now) - began)) 1000000)"
  await_quiet
  note "peak memory of them, MiB" "$(tenths "$(peak_of "$(broker_process)")" 1024)"
}

# measure_binds PROGRAM: binds one instance, with an adapter that takes 100 ms.
measure_binds() {
  local instance rate
  cat >"$work/slow-adapter" <<SH
#!/bin/sh
[ "\$1" != create-binding ] || sleep 0.1
exec $binaries/redis-service-adapter "\$@"
SH
  chmod 0700 "$work/slow-adapter"
  sed -i.quick "s|^  path: .*|  path: \"$work/slow-adapter\"|" "$work/broker.yml"
  start_measured "$1" >/dev/null
  order 1 1 >/dev/null
  instance=$latest_instance
  await_success "$instance"
  cat >"$work/bind.lua" <<LUA
local count = 0
function request()
  count = count + 1
  local path = "/v2/service_instances/$instance/service_bindings/binding-" .. count
  return wrk.format("PUT", path, nil, '{"service_id": "$service_id", "plan_id": "$plan_id"}')
end
LUA
  rate=$(requests_per_second 32 / --script "$work/bind.lua")
  note "binds per second on one instance, 32 clients" "$rate"
  mv "$work/broker.yml.quick" "$work/broker.yml"
}

# requests_per_second CONNECTIONS PATH [OPTION…]: fails unless all requests succeed.
requests_per_second() {
  local connections=$1 path=$2 report
  shift 2
  report=$(wrk --threads 1 --connections "$connections" --duration "${duration}s" --timeout 60s \
    --header "Authorization: Basic $(authorization)" --header "X-Broker-API-Version: 2.17" "$@" "$broker_url$path")
  awk '
    / requests in / { all = $1; seconds = $4; unit = seconds ~ /ms,$/ ? 1000 : 1 }
    /Non-2xx or 3xx responses:/ { failed = $NF }
    END {
      if (!all || failed) exit 1
      rate = all / (seconds + 0) * unit
      printf rate < 1000 ? "%.1f" : "%.0f", rate
    }
  ' <<<"$report" || fail "requests for $path failed: $report"
}

authorization() {
  printf '%s:%s' "$broker_username" "$(<"$work/broker.password")" | base64 -w 0
}

# order COUNT AT_ONCE: orders instances and prints the microseconds of each.
order() {
  local number answers
  for ((number = 0; number < $1; number++)); do
    latest_instance=$(</proc/sys/kernel/random/uuid)
    [[ $number -eq 0 ]] || echo next
    cat <<CURL
request = PUT
url = "$broker_url/v2/service_instances/$latest_instance?accepts_incomplete=true"
user = "$broker_username:$(<"$work/broker.password")"
header = "X-Broker-API-Version: 2.17"
header = "Content-Type: application/json"
data = "{\"service_id\": \"$service_id\", \"plan_id\": \"$plan_id\", \"organization_guid\": \"o\", \"space_guid\": \"s\"}"
output = /dev/null
write-out = "%{http_code} %{time_total}\n"
CURL
  done >"$work/orders.curl"
  answers=$(curl -s --no-progress-meter --parallel --parallel-immediate --parallel-max "$2" -K "$work/orders.curl")
  [[ $(grep -c '^202 ' <<<"$answers") -eq $1 ]] || fail "not every order was accepted: $(sort <<<"$answers" | uniq -c | tail -n 3)"
  awk '{ printf "%d\n", $2 * 1000000 }' <<<"$answers"
}

# await_success INSTANCE
await_success() {
  local deadline=$((SECONDS + 60))
  until request "/v2/service_instances/$1/last_operation" | grep -q '"succeeded"'; do
    ((SECONDS < deadline)) || fail "the instance was not created in time."
    sleep 0.1
  done
}

# Waits until the broker has been idle for half a second.
await_quiet() {
  local before after deadline=$((SECONDS + 120))
  after=$(cpu_time "$(broker_process)")
  until [[ $after == "${before:-}" ]]; do
    ((SECONDS < deadline)) || fail "the broker did not become idle in time."
    before=$after
    sleep 0.5
    after=$(cpu_time "$(broker_process)")
  done
}

request() {
  curl -sf -K "$work/broker.curl" "$broker_url$1" || fail "\`$1\` failed."
}

# note ROW FIGURE
note() {
  [[ -n ${figures[$1]:-} ]] || rows+=("$1")
  figures[$1]+=" $2 |"
}

print_figures() {
  local row
  if [[ -n ${GO_BROKER:-} ]]; then
    printf '\n| what | this broker | Go broker |\n| --- | ---: | ---: |\n'
  else
    printf '\n| what | this broker |\n| --- | ---: |\n'
  fi
  for row in "${rows[@]}"; do
    printf '| %s |%s\n' "$row" "${figures[$row]}"
  done
}
