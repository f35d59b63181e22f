# The prose of the documents, by proselint.

# lint_prose PROSELINT: fails on what the linter finds in the documents below docs and at the top. Code is left out: it is no prose.
lint_prose() {
  local folder document found status=0
  folder=$(mktemp -d "${TMPDIR:-/tmp}/odb-prose.XXXXXX")
  while read -r document; do
    mkdir -p "$folder/$(dirname "$document")"
    awk '/^ *```/ { code = !code; print ""; next } code { print ""; next } { gsub(/`[^`]*`/, "code"); print }' \
      "$document" >"$folder/$document"
  done < <(find docs ./*.md -name '*.md')
  # It reads its settings in the folder that it works in, and nowhere else.
  cp scripts/lib/proselint.json "$folder/.proselintrc.json"
  found=$(env -C "$folder" "$1" check . 2>&1) || status=$?
  rm -rf "$folder"
  [[ $status -eq 0 ]] || echo "$found" >&2
  return "$status"
}
