# shellcheck shell=bash
# Finds Rust and what it builds. The caller is in the project's folder and has a function `fail MESSAGE`.

find_toolchain() {
  local rustup_programs=${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
  command -v cargo >/dev/null || PATH=$PATH:$rustup_programs
  command -v cargo >/dev/null || fail "there is no Rust toolchain: no \`cargo\` on PATH or in $rustup_programs.
Install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or later, for example from https://rustup.rs, and run this again."
}

target_folder() {
  cargo metadata --locked --no-deps --format-version 1 | jq -er .target_directory
}
