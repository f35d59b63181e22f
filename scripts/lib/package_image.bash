# shellcheck shell=bash
# Builds the container image. Requires the variables and functions of scripts/build-packages:
# shellcheck disable=SC2154

image_name=on-demand-broker-image

# Writes an OCI layout in a tarball. `docker load` of a Docker before 25 finds its own index in it, too.
build_image() {
  get_programs
  local root=$work/image/root layout=$work/image/layout file=$output/$image_name-$version-$debian_architecture.tar
  mkdir -p "$root" "$layout/blobs/sha256"
  fill_root "$root" "$file"
  write_layout "$root" "$layout"
  archive "$layout" >"$work/image.tar"
  mv "$work/image.tar" "$file"
  report "$file"
}

# fill_root ROOT FILE: programs, what they load, roots of trust, and a user. There is no shell and no package manager.
fill_root() {
  local root=$1 file=$2
  put_program "$programs" "$root/usr/bin" "${broker_programs[@]}"
  put_program "$programs" "$root/usr/lib/on-demand-broker" "${adapter_programs[@]}"
  # Only those of Debian's package: this machine may trust further authorities.
  mkdir -p "$root/etc/ssl/certs"
  cat /usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
  mkdir -p "$root/etc/on-demand-broker" "$root/run/secrets"
  install -m 0644 release/image/passwd release/image/group release/image/nsswitch.conf "$root/etc"
  put_libraries "$root"
  as_programs "${broker_programs[@]}" "${adapter_programs[@]}"
  local package
  for package in ca-certificates "${library_packages[@]}"; do
    bill+=(--debian "$package")
  done
  write_bill "$image_name" "$file" "${bill[@]}"
  install -D -m 0644 "$file.licenses.txt" "$root/usr/share/doc/on-demand-broker/LICENSES"
  install -D -m 0644 "$file.cdx.json" "$root/usr/share/doc/on-demand-broker/bill-of-materials.cdx.json"
}

# put_libraries ROOT: copies the libraries that the programs load to the same paths, and sets $library_packages.
put_libraries() {
  local root=$1 program library real owner
  local -A owners=()
  while read -r library; do
    real=$(realpath "$library")
    install -D -m 0755 "$real" "$root$library"
    owner=$(dpkg-query --search "$real" 2>/dev/null || dpkg-query --search "${real#/usr}") ||
      fail "no Debian package has $library, which a program loads."
    owners[${owner%%:*}]=1
  done < <(
    for program in "$root"/usr/bin/* "$root"/usr/lib/on-demand-broker/*; do
      # A static program loads none.
      ldd "$program" 2>/dev/null | sed -nE 's/^.*[[:space:]](\/[^ ]+) \(.*$/\1/p' || true
    done | sort -u
  )
  mapfile -t library_packages < <(printf '%s\n' "${!owners[@]}" | sed '/^$/d' | sort)
}

# write_layout ROOT LAYOUT: one layer with everything in ROOT, its configuration, the manifest and the index.
write_layout() {
  local root=$1 layout=$2 layer plain configuration manifest size
  plain=$(archive "$root" | sha256sum | cut -d' ' -f1)
  layer=$(put_blob "$layout" < <(archive "$root" | gzip --no-name))
  size=$(blob_size "$layout" "$layer")
  configuration=$(put_blob "$layout" < <(image_configuration "$plain"))
  manifest=$(put_blob "$layout" < <(
    jq --null-input --compact-output --arg layer "sha256:$layer" --argjson size "$size" --arg configuration "sha256:$configuration" \
      --argjson configuration_size "$(blob_size "$layout" "$configuration")" '{
        schemaVersion: 2,
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        config: {mediaType: "application/vnd.oci.image.config.v1+json", digest: $configuration, size: $configuration_size},
        layers: [{mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: $layer, size: $size}]
      }'
  ))
  jq --null-input --arg manifest "sha256:$manifest" --argjson size "$(blob_size "$layout" "$manifest")" --arg version "$version" \
    --arg architecture "$debian_architecture" '{
      schemaVersion: 2,
      manifests: [{
        mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $manifest, size: $size,
        platform: {architecture: $architecture, os: "linux"},
        # skopeo and podman use the first, containerd the second.
        annotations: {
          "org.opencontainers.image.ref.name": $version,
          "io.containerd.image.name": "docker.io/library/on-demand-broker:\($version)"
        }
      }]
    }' >"$layout/index.json"
  jq --null-input --arg configuration "blobs/sha256/$configuration" --arg layer "blobs/sha256/$layer" \
    --arg name "on-demand-broker:$version" '[{Config: $configuration, RepoTags: [$name], Layers: [$layer]}]' \
    >"$layout/manifest.json"
  echo '{"imageLayoutVersion": "1.0.0"}' >"$layout/oci-layout"
}

# image_configuration DIGEST: prints the configuration of an image whose uncompressed layer has that digest.
image_configuration() {
  local revision
  revision=$(git rev-parse HEAD 2>/dev/null || true)
  jq --compact-output --arg diff "sha256:$1" --arg version "$version" --arg revision "$revision" \
    --arg architecture "$debian_architecture" --arg created "$(date --utc --date="@$SOURCE_DATE_EPOCH" +%FT%TZ)" '
    .architecture = $architecture
    | .created = $created
    | .rootfs = {type: "layers", diff_ids: [$diff]}
    | .history = [{created: $created, comment: "scripts/build-packages image"}]
    | .config.Labels += {"org.opencontainers.image.version": $version}
    | if $revision == "" then . else .config.Labels += {"org.opencontainers.image.revision": $revision} end
  ' release/image/config.json
}

# put_blob LAYOUT: stores its input and prints its digest.
put_blob() {
  local digest
  cat >"$1/blob"
  digest=$(sha256sum <"$1/blob" | cut -d' ' -f1)
  mv "$1/blob" "$1/blobs/sha256/$digest"
  echo "$digest"
}

# blob_size LAYOUT DIGEST
blob_size() {
  stat --format=%s "$1/blobs/sha256/$2"
}
