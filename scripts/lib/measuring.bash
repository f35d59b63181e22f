# shellcheck shell=bash
# The callers and the other files in this folder use the variables:
# shellcheck disable=SC2034,SC2154
# Functions for several measurements. Requires foundation.bash, processes.bash, the folder of the programs in $binaries, and the
# functions `fail MESSAGE` and `say MESSAGE`.

# A fixed seed: the fleet is the same in each run.
random_seed=7
# Nearly all of the broker's 512 connections, from several clients, because one client can use half of them.
held_connections=500

# fleet_of INSTANCES: starts a foundation and a broker with that many instances.
fleet_of() {
  make_work_folder
  start_foundation
  start_broker
  write_curl_configurations
  fill_fleet "$1"
  restart_broker
}

# fill_fleet INSTANCES: registers the running broker and creates that many instances.
fill_fleet() {
  control=$(known .control)
  sandbox cf --as admin create-service-broker redis-broker "$broker_username" "$broker_url" \
    --password-file "$work/broker.password"
  sandbox cf --as admin enable-service-access redis
  # The manifests of these two are the templates of the fleet's manifests.
  sandbox cf create-service redis small pattern-small --wait
  sandbox cf create-service redis large pattern-large --wait
  sandbox seed --broker redis-broker --instances "$1" --random-seed "$random_seed"
}

sandbox() {
  "$binaries/odb-sandbox" "$@" >/dev/null 2>&1 || fail "\`odb-sandbox $1\` failed."
}

restart_broker() {
  stop "$work/broker"
  run_in_background "$work/broker" "$binaries/on-demand-broker" serve --config "$work/broker.yml"
  wait_until 60 "$work/broker" accepts_connections "$(known .broker_address)" 8080
}

broker_process() {
  cut -d " " -f 1 "$work/broker.process"
}

# peak_of PROCESS: prints the peak memory in KiB since the last reset.
peak_of() {
  status_of "$1" VmHWM
}

# resident PROCESS: prints the resident memory in KiB.
resident() {
  status_of "$1" VmRSS
}

# status_of PROCESS NAME
status_of() {
  sed -n "s/^$2:[[:space:]]*\([0-9]*\) kB\$/\1/p" "/proc/$1/status"
}

forget_peak() {
  echo 5 >"/proc/$(broker_process)/clear_refs"
}

# cpu_time PROCESS: prints the CPU time in milliseconds, without child processes.
cpu_time() {
  local stat fields
  stat=$(<"/proc/$1/stat")
  read -r -a fields <<<"${stat##*) }"
  echo $(((fields[11] + fields[12]) * 1000 / $(getconf CLK_TCK)))
}

# Prints the time in microseconds.
now() {
  echo "${EPOCHREALTIME/[.,]/}"
}

# median NUMBER…
median() {
  local sorted
  mapfile -t sorted < <(printf '%s\n' "$@" | sort -n)
  echo "${sorted[$((${#sorted[@]} / 2))]}"
}

# tenths NUMBER UNIT: prints NUMBER/UNIT with one decimal.
tenths() {
  printf '%d.%d' $(($1 / $2)) $(($1 % $2 * 10 / $2))
}

# mebibytes FILE
mebibytes() {
  tenths "$(stat -Lc %s "$1")" 1048576
}
