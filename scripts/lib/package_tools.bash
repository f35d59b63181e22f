# shellcheck shell=bash
# Builds the tarball of tools for authors. Requires the variables and functions of scripts/build-packages:
# shellcheck disable=SC2154

# The sandbox starts the broker and adapters of templates; the errands upgrade instances in it.
tool_programs=(odb-adapter odb-sandbox on-demand-broker odb odb-errand template-service-adapter)
# Their Cargo packages.
tool_packages=(odb-adapter-kit odb-sandbox on-demand-broker odb odb-errand template-service-adapter)

build_tools() {
  local name=odb-tools-$version-linux-$debian_architecture
  local folder=$work/tools/$name file=$output/$name.tar.gz
  get_static_programs
  put_program "$static_programs" "$folder/bin" "${tool_programs[@]}"
  refuse_dynamic_programs "$folder/bin"
  as_programs "${tool_packages[@]}"
  # The parts of the C library in a static program.
  write_bill odb-tools "$file" "${bill[@]}" --debian libc6-dev --debian "$(compiler_library)"
  cp "$file.licenses.txt" "$folder/LICENSES"
  cp "$file.cdx.json" "$folder/bill-of-materials.cdx.json"
  cp release/tools/README.md "$folder/README.md"
  cp -r manifests/sandbox "$folder/sandbox"
  chmod -R u=rwX,go=rX "$folder"
  archive "$work/tools" | gzip --no-name >"$work/tools.tar.gz"
  mv "$work/tools.tar.gz" "$file"
  report "$file"
}

# Static programs with glibc, because its compiler is on every machine that compiles the others.
get_static_programs() {
  static_programs=$binaries
  [[ -z $static_programs ]] || return 0
  local package packages=()
  for package in "${tool_packages[@]}"; do
    packages+=(--package "$package")
  done
  # With an explicit platform, the flags do not concern macros, which must be dynamic.
  RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
    cargo build --locked --release --target "$platform" --bins "${packages[@]}"
  static_programs=$(target_folder)/$platform/release
}

# refuse_dynamic_programs FOLDER: an author's machine may have another C library.
refuse_dynamic_programs() {
  local program
  for program in "$1"/*; do
    if readelf --wide --program-headers "$program" | grep -q INTERP; then
      [[ -n $allow_dynamic ]] || fail "${program##*/} is not static; omit --binaries to compile it."
      printf 'warning: %s is dynamic: do not publish these tools\n' "${program##*/}" >&2
    fi
  done
}

# The Debian package with libgcc.a.
compiler_library() {
  local package
  package=$(dpkg-query --search "$(cc -print-file-name=libgcc_eh.a)") || fail "no Debian package has libgcc_eh.a."
  echo "${package%%:*}"
}
