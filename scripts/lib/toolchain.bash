# shellcheck shell=bash
# Finds Rust and its target folder. Requires the project's folder as working folder, and a function `fail MESSAGE`.

find_toolchain() {
  local rustup_programs=${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
  command -v cargo >/dev/null || PATH=$PATH:$rustup_programs
  command -v cargo >/dev/null || fail "no Rust toolchain: \`cargo\` is not on the PATH or in $rustup_programs.
Install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or later, for example from https://rustup.rs, and run this script again."
}

target_folder() {
  cargo metadata --locked --no-deps --format-version 1 | jq -er .target_directory
}
