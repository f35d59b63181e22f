# shellcheck shell=bash
# Runs processes in the background and ends them again. RUN is a path without ending: the process and its start time are
# in RUN.process, its output in RUN.out and RUN.log. The caller has a function `fail MESSAGE`.

# run_in_background RUN COMMAND…: in a session of its own, which neither Ctrl-C nor a closed terminal reaches.
run_in_background() {
  local run=$1 process
  shift
  setsid "$@" </dev/null >"$run.out" 2>"$run.log" &
  process=$!
  echo "$process $(start_time "$process")" >"$run.process"
  disown "$process"
}

# start_time PROCESS: distinguishes it from a later process with the same id. Prints nothing when it has ended.
start_time() {
  local stat fields
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  # The name of the program may hold spaces; the fields behind it are the state and, 19 further on, the start.
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

# wait_until SECONDS RUN CONDITION…: the process is there until the condition holds.
wait_until() {
  local deadline=$((SECONDS + $1)) run=$2
  shift 2
  until "$@"; do
    runs "$run" || fail "the ${run##*/} has ended by itself."
    ((SECONDS < deadline)) || fail "the ${run##*/} is not ready in time."
    sleep 0.05
  done
}

# stop RUN: asks the process to end, and after 20 s makes it.
stop() {
  local process deadline=$((SECONDS + 20))
  runs "$1" || return 0
  read -r process _ <"$1.process"
  kill -TERM "$process" 2>/dev/null || true
  while runs "$1"; do
    if ((SECONDS >= deadline)); then
      echo "the ${1##*/} (process $process) does not end by itself" >&2
      kill -KILL "$process" 2>/dev/null || true
      deadline=$((SECONDS + 20))
    fi
    sleep 0.05
  done
}

# kill_orphans FOLDER: the processes of virtual machines below a folder, left there by a sandbox that did not end well.
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

# kill_readers FILE: the processes that were started by hand with that file as their last argument.
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
