//! Gzipped tar archives, written the same each time.

use std::{
    fs,
    io::{self, Read, Write},
};

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use crate::contents::{Bytes, Contents, ContentsError, Mode};

/// 1 January 1980: `tar` calls earlier times implausible.
const MODIFIED: u64 = 315_532_800;

/// An archive that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// One of its files cannot be read.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// The archive itself.
    #[error("the archive cannot be written")]
    Archive(#[source] io::Error),
}

/// Writes the files in the order of their paths. Owner, time and compression are always the same, so that the same
/// files make the same bytes.
pub fn write<W: Write>(contents: &Contents, into: W) -> Result<W, WriteError> {
    let gzip = GzBuilder::new()
        .mtime(0)
        .write(into, Compression::default());
    let mut archive = tar::Builder::new(gzip);
    for (name, entry) in contents.iter() {
        match &entry.bytes {
            Bytes::InMemory(bytes) => append(
                &mut archive,
                name,
                entry.mode,
                bytes.len() as u64,
                bytes.as_slice(),
            ),
            Bytes::OnDisk(path) => fs::File::open(path)
                .and_then(|file| Ok((file.metadata()?.len(), file)))
                .map_err(|source| {
                    WriteError::Contents(ContentsError::Unreadable {
                        path: path.clone(),
                        source,
                    })
                })
                .and_then(|(size, file)| append(&mut archive, name, entry.mode, size, file)),
        }?;
    }
    archive
        .into_inner()
        .and_then(flate2::write::GzEncoder::finish)
        .map_err(WriteError::Archive)
}

fn append<W: Write, R: Read>(
    archive: &mut tar::Builder<W>,
    name: &str,
    mode: Mode,
    size: u64,
    bytes: R,
) -> Result<(), WriteError> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(mode.bits());
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(MODIFIED);
    header.set_size(size);
    archive
        .append_data(&mut header, name, bytes)
        .map_err(WriteError::Archive)
}

#[cfg(test)]
mod tests {
    use flate2::read::GzDecoder;

    use super::*;

    fn sample() -> Contents {
        let mut contents = Contents::default();
        contents.add_bytes(
            "bin/run".into(),
            b"#!/bin/bash\n".to_vec(),
            Mode::Executable,
        );
        contents.add_bytes("a".repeat(180), vec![7; 70_000], Mode::Plain);
        contents
    }

    #[test]
    fn what_is_written_is_there_with_paths_bytes_and_modes() -> anyhow::Result<()> {
        let bytes = write(&sample(), Vec::new())?;
        let mut archive = tar::Archive::new(GzDecoder::new(bytes.as_slice()));
        let mut listed = Vec::new();
        for entry in archive.entries()? {
            let entry = entry?;
            let path = entry.path()?.display().to_string();
            listed.push((path, entry.header().mode()?, entry.size()));
        }
        assert_eq!(
            listed,
            [
                ("a".repeat(180), 0o644, 70_000),
                ("bin/run".into(), 0o755, 12)
            ]
        );
        Ok(())
    }

    #[test]
    fn the_same_files_make_the_same_bytes() -> Result<(), WriteError> {
        assert_eq!(write(&sample(), Vec::new())?, write(&sample(), Vec::new())?);
        Ok(())
    }
}
