//! The requirements of an executable on the machine that runs it, read from the executable itself by `readelf`.
//!
//! The oldest stemcell in use is `ubuntu-jammy` with glibc 2.35. An executable that was linked against a later glibc
//! may need versions of symbols that it does not have; the loader then rejects it.

use std::{collections::BTreeSet, path::Path, process::Command, time::Duration};

use anyhow::{Context, bail, ensure};

use crate::stage::run;

/// The glibc of `ubuntu-jammy`.
const JAMMY_GLIBC: (u32, u32) = (2, 35);

/// The libraries that every stemcell has and our executables link against: parts of glibc, and `libgcc-s1`.
const LIBRARIES: [&str; 8] = [
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

/// A second is plenty.
const READING: Duration = Duration::from_mins(2);

/// Fails if the executable needs what a stemcell does not have. Versions that are needed weakly do not count: the loader
/// puts nothing in their place, and the program asks first.
pub(crate) fn check(executable: &Path) -> anyhow::Result<()> {
    let mut readelf = Command::new("readelf");
    readelf
        .args([
            "--wide",
            "--file-header",
            "--dynamic",
            "--version-info",
            "--dyn-syms",
        ])
        .arg(executable)
        .env("LC_ALL", "C");
    check_requirements(&run(readelf, "install Debian's `binutils`", READING)?)
}

fn check_requirements(text: &str) -> anyhow::Result<()> {
    let class = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Class:"));
    let class = class.context("is no executable")?.trim();
    ensure!(
        class == "ELF64",
        "is no 64-bit ELF executable for Linux ({class})"
    );
    let (mut libraries, mut needed, mut symbols) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some((_, library)) = line.split_once("Shared library: [") {
            libraries.push(library.trim_end_matches(']'));
        } else if let Some((_, version)) = line.split_once("Name: ") {
            // `GLIBC_2.34  Flags: none  Version: 2`
            if !version.contains("WEAK") {
                needed.extend(version.split_whitespace().next());
            }
        } else if let Some((symbol, version)) = line.split_once('@') {
            // `… UND __libc_start_main@GLIBC_2.34 (2)`
            let symbol = symbol.split_whitespace().last();
            symbols.extend(version.split_whitespace().next().zip(symbol));
        }
    }
    if let Some(version) = needed.into_iter().find(|version| !is_in_jammy(version)) {
        let found = symbols.iter().find(|(of, _)| *of == version);
        // The loader checks for the version even without a symbol of it.
        let symbol = found.map_or("a symbol", |(_, symbol)| symbol);
        bail!(
            "needs `{symbol}` of `{version}`, and `ubuntu-jammy` has glibc 2.35; build it on a machine with glibc \
             2.35 or older, or build the release with `--source`"
        );
    }
    let missing = libraries
        .iter()
        .find(|library| !LIBRARIES.contains(library));
    if let Some(library) = missing {
        bail!("needs the library `{library}`, which stemcells do not have; link it statically");
    }
    Ok(())
}

/// Versions of other libraries than glibc are those of `libgcc_s`, the newest of which is older than jammy.
fn is_in_jammy(version: &str) -> bool {
    let Some(version) = version.strip_prefix("GLIBC_") else {
        return true;
    };
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) <= JAMMY_GLIBC,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;

    /// The error of this test itself, an executable of this machine, with other bytes in some places.
    fn error_with(from: &[u8], to: &[u8]) -> anyhow::Result<String> {
        let mut bytes = fs::read(env::current_exe()?)?;
        let mut location = 0;
        while let Some(found) = bytes[location..]
            .windows(from.len())
            .position(|window| window == from)
        {
            location += found;
            bytes[location..location + to.len()].copy_from_slice(to);
            location += from.len();
        }
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), bytes)?;
        Ok(check(file.path()).map_or_else(|error| error.to_string(), |()| String::new()))
    }

    #[test]
    fn an_executable_of_this_machine_needs_what_jammy_has() -> anyhow::Result<()> {
        assert_eq!(error_with(b"GLIBC_2.34\0", b"GLIBC_2.34\0")?, "");
        assert_eq!(error_with(b"GLIBC_2.34\0", b"GLIBC_2.35\0")?, "");
        Ok(())
    }

    #[test]
    fn a_symbol_of_a_newer_glibc_is_named_with_its_version() -> anyhow::Result<()> {
        for newer in ["GLIBC_2.36", "GLIBC_2.99", "GLIBC_3.01"] {
            let error = error_with(b"GLIBC_2.34\0", newer.as_bytes())?;
            let expected = format!("needs `__libc_start_main` of `{newer}`");
            assert!(error.starts_with(&expected), "{error}");
        }
        Ok(())
    }

    #[test]
    fn a_newer_version_that_is_only_weakly_needed_is_no_error() {
        let text = |flags: &str| {
            format!(
                "  Class:                             ELF64\n\
                 5: 0000000000000000     0 FUNC    WEAK   DEFAULT  UND new@GLIBC_2.36 (2)\n\
                 0x0010:   Name: GLIBC_2.36  Flags: {flags}  Version: 2\n"
            )
        };
        assert!(check_requirements(&text("WEAK")).is_ok());
        assert!(check_requirements(&text("none")).is_err());
    }

    #[test]
    fn a_library_that_no_stemcell_has_is_named() -> anyhow::Result<()> {
        let error = error_with(b"libgcc_s.so.1\0", b"libssl.so.1.1\0")?;
        assert!(
            error.starts_with("needs the library `libssl.so.1.1`"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn what_is_no_executable_is_refused() -> anyhow::Result<()> {
        let error = error_with(b"\x7fELF", b"#!/b")?;
        assert!(error.starts_with("`readelf` has failed"), "{error}");
        Ok(())
    }
}
