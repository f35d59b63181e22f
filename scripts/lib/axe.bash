# shellcheck shell=bash
# Fetches axe-core, which checks the accessibility of web pages. Requires npm and a function `fail MESSAGE`.

axe_version=4.14.1
axe_digest=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745

# install_axe FOLDER: puts axe.min.js of the locked version into FOLDER.
install_axe() {
  local folder=$1 archive=$1/axe-core-$axe_version.tgz
  [[ ! -f $folder/$axe_version ]] || return 0
  rm -rf "$folder"
  mkdir -p "$folder"
  npm pack --silent --pack-destination "$folder" "axe-core@$axe_version" >/dev/null
  sha256sum --status --check <<<"$axe_digest  $archive" || fail "axe-core $axe_version has another digest than the locked one."
  tar -xzf "$archive" -C "$folder" --strip-components 1 package/axe.min.js
  touch "$folder/$axe_version"
}
