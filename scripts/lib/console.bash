# shellcheck shell=bash
# Prints a script's steps to stdout, and messages to stderr, because callers capture the output of some functions.

step_title=""
step_count=0
first_step_began=0
step_began=0
bold="" green="" plain=""
# https://no-color.org
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' green=$'\e[32m' plain=$'\e[0m'
fi

# step TITLE: ends the previous step and begins this one.
step() {
  end_step
  step_title=$1
  step_count=$((step_count + 1))
  step_began=${EPOCHREALTIME/[.,]/}
  [[ $step_count -gt 1 ]] || first_step_began=$step_began
  printf '\n%s\n' "$bold$1$plain"
}

end_step() {
  [[ -z $step_title ]] || printf '%s✓%s %s: %s\n' "$green" "$plain" "$step_title" "$(seconds_since "$step_began")"
  step_title=""
}

end_steps() {
  end_step
  printf '\n%s✓%s %s\n' "$green" "$plain" "${bold}all $step_count steps: $(seconds_since "$first_step_began")$plain"
}

# seconds_since MICROSECONDS
seconds_since() {
  local taken=$((${EPOCHREALTIME/[.,]/} - $1))
  printf '%d.%d s' $((taken / 1000000)) $((taken / 100000 % 10))
}

# say_command COMMAND…: prints it with shell quotes.
say_command() {
  local typed
  printf -v typed ' %q' "$@"
  say "\$$typed"
}

say() {
  printf '%s\n' "$*" >&2
}

fail() {
  say "error: $*"
  exit 1
}
