# shellcheck shell=bash
# Installs what a command needs of Debian. The caller has a function `fail MESSAGE`.

# install_missing "COMMAND PACKAGE…"…: the packages of those commands that are not there. Asks for root only then.
install_missing() {
  local missing
  [[ -n $(missing_packages "$@") ]] || return 0
  # Another run may be installing the same: wait for it, then look again.
  exec 9<"${BASH_SOURCE[0]}"
  flock 9
  read -r -a missing <<<"$(missing_packages "$@")"
  # What the packages start must not hold on to the lock.
  [[ ${#missing[@]} -eq 0 ]] || install_packages "${missing[@]}" 9<&-
  exec 9<&-
}

install_packages() {
  command -v apt-get >/dev/null || fail "this is no Debian: please install $* yourself, and run this again."
  echo "installing $*" >&2
  as_root apt-get -q update
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
  local package
  for package in "$@"; do
    case $package in
      postgresql | prometheus | redis-server) stop_packaged "$package" ;;
    esac
  done
}

missing_packages() {
  local need command packages
  for need in "$@"; do
    read -r command packages <<<"$need"
    has_command "$command" || printf '%s ' "$packages"
  done
}

# Debian keeps the programs of a PostgreSQL server off the PATH. What makes virtual environments is no program at all.
has_command() {
  case $1 in
    python3-venv) python3 -c "import ensurepip, venv" 2>/dev/null ;;
    *) command -v "$1" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null ;;
  esac
}

# stop_packaged SERVICE: only the programs are needed, and tests start their own. What the package has set up must not stay
# running.
stop_packaged() {
  if [[ -d /run/systemd/system ]]; then
    as_root systemctl disable --now "$1"
  elif [[ -x /etc/init.d/$1 ]]; then
    as_root "/etc/init.d/$1" stop || true
  fi
}

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root, and there is no sudo. Please run as root: $*"
  fi
}
