# shellcheck shell=bash
# Installs missing Debian packages. Requires a function `fail MESSAGE`.

# install_missing "COMMAND PACKAGE…"…: installs the packages of missing commands. Needs root only if a command is missing.
install_missing() {
  local missing
  [[ -n $(missing_packages "$@") ]] || return 0
  # Another run may be installing the same packages: wait for it, then check again.
  exec 9<"${BASH_SOURCE[0]}"
  flock 9
  read -r -a missing <<<"$(missing_packages "$@")"
  # Services that the packages start must not inherit the lock.
  [[ ${#missing[@]} -eq 0 ]] || install_packages "${missing[@]}" 9<&-
  exec 9<&-
  read -r -a missing <<<"$(missing_packages "$@")"
  [[ ${#missing[@]} -eq 0 ]] || fail "a command of these packages is not found, although they are installed: ${missing[*]}"
}

install_packages() {
  command -v apt-get >/dev/null || fail "this is not Debian: install $* and run this script again."
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

# The programs of Debian's PostgreSQL server are not on the PATH, and python3-venv has no program.
has_command() {
  case $1 in
    python3-venv) python3 -c "import ensurepip, venv" 2>/dev/null ;;
    *) command -v "$1" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null ;;
  esac
}

# stop_packaged SERVICE: stops the service that the package started. Tests start their own processes.
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
    fail "root is required and sudo is not installed. Run as root: $*"
  fi
}
