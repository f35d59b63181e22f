# shellcheck shell=bash
# Checks the crates of Cargo.lock against the newest database of security advisories (RustSec) on this machine. Requires the
# project's folder as working folder, `cargo deny` and python3 on the PATH, and a function `fail MESSAGE`.

# cargo-deny's folder name for the database of its default URL.
database_name=advisory-db-3157b0e258782691

# check_advisories FOLDER: unpacks the database into FOLDER.
check_advisories() {
  local date database found
  check_exceptions deny.toml "$(date +%F)"
  found=$(advisory_databases) || exit 1
  if [[ -z $found ]]; then
    [[ -z ${CI:-} ]] || fail "no database of advisories: there is none below ${CARGO_HOME:-~/.cargo}/advisory-dbs or
../shared/advisories, and ADVISORY_DB is not set. Run \`cargo deny fetch\`, or set ADVISORY_DB to a git repository or a .tar.gz of one."
    echo "no database of advisories on this machine: skipped" >&2
    return
  fi
  read -r date database <<<"$(sort <<<"$found" | tail -n 1)"
  echo "advisories of $date, from $database"
  unpack_database "$database" "$1/$database_name"
  sed "s|^\[advisories\]\$|&\ndb-path = \"$1\"|" deny.toml >"$1/deny.toml"
  cargo deny --locked --offline --config "$1/deny.toml" check advisories
}

# Prints `DATE PATH` for each database: those of cargo-deny, those beside the project, and ADVISORY_DB.
advisory_databases() {
  local path
  for path in "${CARGO_HOME:-$HOME/.cargo}"/advisory-dbs/*/ ../shared/advisories/*.tar.gz ${ADVISORY_DB:+"$ADVISORY_DB"}; do
    if [[ -d $path/.git ]]; then
      printf '%s %s\n' "$(git -C "$path" log -1 --format=%cs)" "$path"
    elif [[ -f $path ]]; then
      # In an archive of git, every file has the time of the commit.
      printf '%s %s\n' "$(tar -tvzf "$path" | awk '{ print $4 }' | sort | tail -n 1)" "$path"
    elif [[ $path == "${ADVISORY_DB:-}" ]]; then
      fail "ADVISORY_DB: $path is neither a git repository nor an archive."
    fi
  done
}

# unpack_database SOURCE INTO: unpacks it as a git repository for cargo-deny. The new commit hides the age of the database, so
# that the caller prints it.
unpack_database() {
  local source=$1 into=$2
  rm -rf "$into"
  mkdir -p "$into"
  if [[ -d $source ]]; then
    cp -r "$source/crates" "$into"
  else
    tar -xzf "$source" -C "$into" --strip-components 1 --wildcards '*/crates'
  fi
  # In a git hook, environment variables name another repository.
  (
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
    git -C "$into" init --quiet
    git -C "$into" add --all
    git -C "$into" -c user.name=scripts/test -c user.email=none -c commit.gpgsign=false commit --quiet --message "Unpacked"
  )
}

# check_exceptions FILE TODAY: every ignored advisory has a reason that ends in `until YYYY-MM-DD` with a future date.
check_exceptions() {
  python3 - "$@" <<'PYTHON' || exit 1
import re
import sys

# Python 3.10 cannot parse TOML; the list is simple.
text = re.search(r"^\[advisories\]$(.*?)(?=^\[|\Z)", open(sys.argv[1]).read(), re.M | re.S)
lines = [line for line in (text[1] if text else "").splitlines() if not line.lstrip().startswith("#")]
ignored = re.search(r"ignore = \[(.*?)\]$", "\n".join(lines), re.M | re.S)
entries = re.findall(r"\{[^}]*\}|\"[^\"]*\"", ignored[1] if ignored else "")
faults = []
for entry in entries:
    until = re.search(r"reason = \"[^\"]*\S until (\d{4}-\d\d-\d\d)\"", entry)
    if not until:
        faults.append(f"{entry} has no reason that ends in `until YYYY-MM-DD`")
    elif until[1] < sys.argv[2]:
        faults.append(f"{entry} has expired")
for fault in faults:
    print(f"error: {sys.argv[1]}: advisories: {fault}", file=sys.stderr)
sys.exit(bool(faults))
PYTHON
}
