# Checks the prose of the documents with proselint.

# lint_prose PROSELINT: checks the documents in docs and the top folder, without their code.
lint_prose() {
  local folder document found status=0
  folder=$(mktemp -d "${TMPDIR:-/tmp}/odb-prose.XXXXXX")
  while read -r document; do
    mkdir -p "$folder/$(dirname "$document")"
    awk '/^ *```/ { code = !code; print ""; next } code { print ""; next } { gsub(/`[^`]*`/, "code"); print }' \
      "$document" >"$folder/$document"
  done < <(find docs ./*.md -name '*.md')
  # proselint reads its settings only from the working folder.
  cp scripts/lib/proselint.json "$folder/.proselintrc.json"
  found=$(env -C "$folder" "$1" check . 2>&1) || status=$?
  rm -rf "$folder"
  [[ $status -eq 0 ]] || echo "$found" >&2
  return "$status"
}
