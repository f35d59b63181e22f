//! The requirements of an executable on the machine that runs it, read from the executable itself.
//!
//! The oldest stemcell in use is `ubuntu-jammy` with glibc 2.35. An executable that was linked against a later glibc
//! may need versions of symbols that it does not have; the loader then rejects it.

use std::collections::BTreeSet;

use object::{
    LittleEndian, Object, ObjectSection, elf,
    read::{
        StringTable,
        elf::{Dyn as _, ElfFile64, Sym as _},
    },
};

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

type Elf<'data> = ElfFile64<'data, LittleEndian>;

#[derive(Clone, Debug, Default)]
struct Requirements {
    libraries: BTreeSet<String>,
    symbols: BTreeSet<(String, String)>,
    stripped: bool,
}

/// A requirement that a stemcell does not meet, or content that an executable should not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(crate) enum ExecutableError {
    /// It is none for the machines that stemcells are made for.
    #[error("is no 64-bit ELF executable for Linux ({0})")]
    NotElf(String),
    /// A version of a symbol is newer than the stemcell's glibc.
    #[error(
        "needs `{symbol}` of `{version}`, and `ubuntu-jammy` has glibc 2.35; build it on a machine with glibc \
         2.35 or older, or build the release with `--source`"
    )]
    NewerSymbol { symbol: String, version: String },
    /// A library that is not on every stemcell.
    #[error("needs the library `{0}`, which stemcells do not have; link it statically")]
    MissingLibrary(String),
    /// It carries symbols or debugging information.
    #[error("is not stripped; run `strip` on it, or build it with the profile `release`")]
    NotStripped,
}

/// The requirements that a stemcell does not meet, and whether the executable is stripped.
pub(crate) fn unmet_requirements(bytes: &[u8]) -> Vec<ExecutableError> {
    match Requirements::of(bytes) {
        Ok(requirements) => requirements.unmet(),
        Err(error) => vec![ExecutableError::NotElf(error.to_string())],
    }
}

impl Requirements {
    /// Reads them. Symbols that are weak do not count: where there are none the loader puts nothing in their place, and
    /// the program asks first.
    fn of(bytes: &[u8]) -> Result<Self, object::Error> {
        let file = Elf::parse(bytes)?;
        let mut requirements = Self {
            stripped: !file
                .sections()
                .filter_map(|section| section.name().ok())
                .any(|name| name == ".symtab" || name == ".debug_info"),
            ..Self::default()
        };
        requirements.read_libraries(&file, bytes)?;
        requirements.read_symbols(&file, bytes)?;
        Ok(requirements)
    }

    fn read_libraries(&mut self, file: &Elf<'_>, bytes: &[u8]) -> Result<(), object::Error> {
        let table = file.elf_section_table();
        let Some((entries, strings)) = table.dynamic(LittleEndian, bytes)? else {
            return Ok(());
        };
        let strings = table.strings(LittleEndian, bytes, strings)?;
        for entry in entries {
            if entry.d_tag(LittleEndian) == elf::DT_NEEDED {
                self.libraries
                    .insert(text(entry.string(LittleEndian, strings)?));
            }
        }
        Ok(())
    }

    fn read_symbols(&mut self, file: &Elf<'_>, bytes: &[u8]) -> Result<(), object::Error> {
        let table = file.elf_section_table();
        let (Some(versions), Some((needs, strings))) = (
            table.versions(LittleEndian, bytes)?,
            table.gnu_verneed(LittleEndian, bytes)?,
        ) else {
            return Ok(());
        };
        let strings: StringTable<'_> = table.strings(LittleEndian, bytes, strings)?;
        let symbols = table.symbols(LittleEndian, bytes, elf::SHT_DYNSYM)?;
        for need in needs {
            let (_, versions_needed) = need?;
            for version in versions_needed {
                let version = version?;
                if version.vna_flags.get(LittleEndian).0 & elf::VER_FLG_WEAK.0 != 0 {
                    continue;
                }
                let name = text(version.name(LittleEndian, strings)?);
                let index = version.vna_other.get(LittleEndian);
                // The loader checks for the version even without a symbol of it.
                let mut found = false;
                for (location, symbol) in symbols.enumerate() {
                    if versions.version_index(LittleEndian, location).index() == index {
                        let symbol = text(symbol.name(LittleEndian, symbols.strings())?);
                        self.symbols.insert((symbol, name.clone()));
                        found = true;
                    }
                }
                if !found {
                    self.symbols.insert(("a symbol".to_owned(), name));
                }
            }
        }
        Ok(())
    }

    fn unmet(&self) -> Vec<ExecutableError> {
        let newer = self.symbols.iter();
        let newer = newer.filter(|(_, version)| !is_in_jammy(version));
        let newer = newer.map(|(symbol, version)| ExecutableError::NewerSymbol {
            symbol: symbol.clone(),
            version: version.clone(),
        });
        let missing = self.libraries.iter();
        let missing = missing.filter(|library| !LIBRARIES.contains(&library.as_str()));
        let missing = missing.map(|library| ExecutableError::MissingLibrary(library.clone()));
        let unstripped = (!self.stripped).then_some(ExecutableError::NotStripped);
        newer.chain(missing).chain(unstripped).collect()
    }
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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;

    /// This test itself: an executable of this machine.
    fn executable() -> anyhow::Result<Vec<u8>> {
        Ok(fs::read(env::current_exe()?)?)
    }

    /// The version of a symbol that every executable of Rust needs, under another name of the same length.
    fn with_version(mut bytes: Vec<u8>, to: &[u8]) -> Vec<u8> {
        let from = b"GLIBC_2.34\0";
        let locations: Vec<usize> = bytes
            .windows(from.len())
            .enumerate()
            .filter(|(_, window)| window == from)
            .map(|(location, _)| location)
            .collect();
        for location in locations {
            bytes[location..location + to.len()].copy_from_slice(to);
        }
        bytes
    }

    #[test]
    fn an_executable_of_this_machine_needs_what_jammy_has() -> anyhow::Result<()> {
        let requirements = Requirements::of(&executable()?)?;
        assert!(
            requirements.libraries.contains("libc.so.6"),
            "{requirements:?}"
        );
        assert_eq!(requirements.unmet(), [ExecutableError::NotStripped]);
        Ok(())
    }

    #[test]
    fn a_symbol_of_a_newer_glibc_is_named_with_its_version() -> anyhow::Result<()> {
        for newer in ["GLIBC_2.36", "GLIBC_2.99", "GLIBC_3.01"] {
            let errors = unmet_requirements(&with_version(executable()?, newer.as_bytes()));
            assert!(
                errors.iter().any(|error| matches!(
                    error,
                    ExecutableError::NewerSymbol { symbol, version }
                        if version == newer && symbol == "__libc_start_main"
                )),
                "{errors:?}"
            );
        }
        let errors = unmet_requirements(&with_version(executable()?, b"GLIBC_2.35"));
        assert_eq!(errors, [ExecutableError::NotStripped]);
        Ok(())
    }

    #[test]
    fn a_newer_version_that_is_only_weakly_needed_is_no_error() -> anyhow::Result<()> {
        let mut bytes = with_version(executable()?, b"GLIBC_2.36");
        for location in flags_of(&bytes, b"GLIBC_2.36")? {
            bytes[location] |= 2;
        }
        assert_eq!(unmet_requirements(&bytes), [ExecutableError::NotStripped]);
        Ok(())
    }

    #[test]
    fn a_library_that_no_stemcell_has_is_named() -> anyhow::Result<()> {
        let mut bytes = executable()?;
        let from = b"libgcc_s.so.1\0";
        let location = bytes
            .windows(from.len())
            .position(|window| window == from)
            .expect("panics unwind through `libgcc_s`");
        bytes[location..location + from.len()].copy_from_slice(b"libssl.so.1.1\0");
        let errors = unmet_requirements(&bytes);
        assert!(
            errors.contains(&ExecutableError::MissingLibrary("libssl.so.1.1".into())),
            "{errors:?}"
        );
        Ok(())
    }

    #[test]
    fn what_is_no_executable_or_only_part_of_one_is_refused() -> anyhow::Result<()> {
        let bytes = executable()?;
        for broken in [
            &b"#!/bin/bash\n"[..],
            &[],
            &bytes[..40],
            &bytes[..bytes.len() / 2],
        ] {
            let errors = unmet_requirements(broken);
            assert!(
                matches!(errors[..], [ExecutableError::NotElf(_)]),
                "{errors:?}"
            );
        }
        Ok(())
    }

    /// Where the flags of the needs of that version are in the file.
    fn flags_of(bytes: &[u8], version: &[u8]) -> anyhow::Result<Vec<usize>> {
        let file = Elf::parse(bytes)?;
        let table = file.elf_section_table();
        let (needs, strings) = table
            .gnu_verneed(LittleEndian, bytes)?
            .expect("executables of Rust need versions of symbols");
        let strings: StringTable<'_> = table.strings(LittleEndian, bytes, strings)?;
        let mut locations = Vec::new();
        for need in needs {
            for needed in need?.1 {
                let needed = needed?;
                if needed.name(LittleEndian, strings)? == version {
                    let flags = std::ptr::from_ref(&needed.vna_flags).addr();
                    locations.push(flags - bytes.as_ptr().addr());
                }
            }
        }
        Ok(locations)
    }
}
