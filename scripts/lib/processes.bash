# shellcheck shell=bash
# Starts and stops background processes. RUN is a path without extension: RUN.process contains the process id and start time,
# RUN.out and RUN.log the output. Requires a function `fail MESSAGE`.

# run_in_background RUN COMMAND…: starts COMMAND in a new session, which Ctrl-C and a closed terminal do not affect.
run_in_background() {
  local run=$1 process
  shift
  setsid "$@" </dev/null >"$run.out" 2>"$run.log" &
  process=$!
  echo "$process $(start_time "$process")" >"$run.process"
  disown "$process"
}

# start_time PROCESS: distinguishes the process from a later one with the same id. Prints nothing if it has ended.
start_time() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  # The program's name may contain spaces. After it, field 0 is the state and field 19 the start time.
  read -r -a fields <<<"${stat##*) }"
  [[ ${fields[0]} == Z ]] || echo "${fields[19]}"
}

# runs RUN
runs() {
  local process started
  [[ -s $1.process ]] || return 1
  read -r process started <"$1.process"
  [[ -n $started && $(start_time "$process") == "$started" ]]
}

# wait_until SECONDS RUN CONDITION…: waits for the condition; fails if the process ends first.
wait_until() {
  local deadline=$((SECONDS + $1)) run=$2
  shift 2
  until "$@"; do
    runs "$run" || fail "the ${run##*/} ended unexpectedly."
    ((SECONDS < deadline)) || fail "the ${run##*/} was not ready in time."
    sleep 0.05
  done
}

# stop RUN: sends SIGTERM, and SIGKILL after 20 s.
stop() {
  local process deadline=$((SECONDS + 20))
  runs "$1" || return 0
  read -r process _ <"$1.process"
  kill -TERM "$process" 2>/dev/null || true
  while runs "$1"; do
    if ((SECONDS >= deadline)); then
      echo "the ${1##*/} (process $process) did not stop in time; killing it" >&2
      kill -KILL "$process" 2>/dev/null || true
      deadline=$((SECONDS + 20))
    fi
    sleep 0.05
  done
}

# kill_orphans FOLDER: kills the processes of VMs below FOLDER that a crashed sandbox left running.
kill_orphans() {
  local link process
  for link in /proc/[0-9]*/cwd; do
    case $(readlink "$link" 2>/dev/null) in
      "$1"/*vms/* | "$1"/*disks/*)
        process=${link#/proc/}
        kill -KILL "${process%/cwd}" 2>/dev/null || true
        ;;
    esac
  done
}

# kill_readers FILE: kills processes that the user started with FILE as the last argument.
kill_readers() {
  local arguments process
  for arguments in /proc/[0-9]*/cmdline; do
    if [[ $({ tr '\0' '\n' <"$arguments" | tail -n 1; } 2>/dev/null) == "$1" ]]; then
      process=${arguments#/proc/}
      kill -TERM "${process%/cmdline}" 2>/dev/null || true
    fi
  done
}

# accepts_connections ADDRESS PORT
accepts_connections() {
  (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null
}
