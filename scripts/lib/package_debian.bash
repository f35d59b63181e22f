# shellcheck shell=bash
# Builds the Debian package. Requires the variables and functions of scripts/build-packages:
# shellcheck disable=SC2154
# `dpkg-deb` packs a folder in a second. `cargo-deb` would have to be compiled for minutes, and has no bill of materials.

build_debian_package() {
  get_programs
  local root=$work/debian documents=$work/debian/usr/share/doc/on-demand-broker file
  file=$output/on-demand-broker_$(debian_version)_$debian_architecture.deb
  put_program "$programs" "$root/usr/bin" "${broker_programs[@]}"
  put_program "$programs" "$root/usr/lib/on-demand-broker" "${adapter_programs[@]}"
  mkdir -p "$root/etc"
  mkdir -m 0750 "$root/etc/on-demand-broker"
  install -D -m 0644 release/debian/on-demand-broker.service "$root/lib/systemd/system/on-demand-broker.service"
  install -D -m 0644 release/debian/sysusers.conf "$root/usr/lib/sysusers.d/on-demand-broker.conf"
  install -D -m 0644 release/debian/broker.yml "$documents/examples/broker.yml"
  install -D -m 0644 release/debian/copyright "$documents/copyright"
  put_manual "$root"
  put_completions "$root"
  as_programs "${broker_programs[@]}" "${adapter_programs[@]}"
  write_bill on-demand-broker-deb "$file" "${bill[@]}"
  gzip --no-name --best --stdout "$file.licenses.txt" >"$documents/LICENSES.gz"
  gzip --no-name --best --stdout "$file.cdx.json" >"$documents/bill-of-materials.cdx.json.gz"
  gzip --no-name --best --stdout CHANGELOG.md >"$documents/changelog.gz"
  write_control "$root"
  set_times "$root"
  dpkg-deb --root-owner-group --threads-max=1 -Zxz -z1 --build "$root" "$work/package.deb" >/dev/null
  mv "$work/package.deb" "$file"
  report "$file"
}

# `~` sorts before the release in Debian's versions.
debian_version() {
  echo "${version/-/\~}"
}

put_manual() {
  local folder=$1/usr/share/man/man1
  mkdir -p "$folder"
  "$1/usr/bin/odb" man --out "$folder" >/dev/null
  gzip --no-name --best "$folder"/*
}

put_completions() {
  mkdir -p "$1"/usr/share/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
  "$1/usr/bin/odb" completion bash >"$1/usr/share/bash-completion/completions/odb"
  "$1/usr/bin/odb" completion zsh >"$1/usr/share/zsh/vendor-completions/_odb"
  "$1/usr/bin/odb" completion fish >"$1/usr/share/fish/vendor_completions.d/odb.fish"
}

write_control() {
  local root=$1 size
  size=$(du --summarize --apparent-size --block-size=1024 "$root" | cut -f1)
  mkdir -p "$root/DEBIAN"
  {
    sed '/^Description:/,$d' release/debian/control
    printf 'Version: %s\nArchitecture: %s\nInstalled-Size: %s\n' "$(debian_version)" "$debian_architecture" "$size"
    printf 'Depends: libc6 (>= %s), libgcc-s1, ca-certificates, init-system-helpers, passwd, systemd (>= 249)\n' "$(needed_glibc "$root")"
    sed -n '/^Description:/,$p' release/debian/control
  } >"$root/DEBIAN/control"
  install -m 0755 release/debian/postinst release/debian/prerm release/debian/postrm "$root/DEBIAN"
  (cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort | xargs -d '\n' md5sum) >"$root/DEBIAN/md5sums"
}

# needed_glibc ROOT: prints the newest glibc that a program in ROOT needs. Programs check for weak symbols themselves.
needed_glibc() {
  readelf --wide --version-info "$1"/usr/bin/* "$1"/usr/lib/on-demand-broker/* |
    sed -nE '/WEAK/d; s/^.*Name: GLIBC_([0-9.]+) .*$/\1/p' | sort --version-sort | tail -n 1
}
