//! Gzipped tar archives: written the same each time, and read with distrust.

use std::{
    fs,
    io::{self, Read, Write},
    path::PathBuf,
};

use flate2::{Compression, GzBuilder, read::MultiGzDecoder};
use tar::{EntryType, Header};

use crate::contents::{Bytes, Contents, ContentsError, Mode};

/// 1 January 1980: `tar` calls earlier times implausible.
const MODIFIED: u64 = 315_532_800;

/// What one archive may come to when it is unpacked, in bytes. Vendored sources are a tenth of it.
const LONGEST: u64 = 4 << 30;

/// Something in an archive.
#[derive(Debug)]
pub struct Member {
    /// The path that the archive gives it.
    pub path: PathBuf,
    /// What it is.
    pub kind: MemberKind,
}

/// What a member of an archive is.
#[derive(Debug)]
pub enum MemberKind {
    /// A file.
    File {
        /// Its permission bits.
        mode: u32,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// A folder.
    Folder,
    /// A link, or something that has no place in a release.
    Other,
}

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

/// Bytes that are no archive.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not gzip, not tar, or cut off.
    #[error("this is no gzipped tar archive, or not all of one")]
    Unreadable(#[source] io::Error),
    /// It never ends.
    #[error("the archive holds more than {} GiB", LONGEST >> 30)]
    TooLong,
}

/// Writes the files in the order of their paths. Owner, time and compression are always the same, so that the same files
/// make the same bytes.
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

/// Everything in an archive, in its order. Nothing is written anywhere.
pub fn read<R: Read>(from: R) -> Result<Vec<Member>, ReadError> {
    let mut unpacked = MultiGzDecoder::new(from).take(LONGEST);
    let mut members = Vec::new();
    let mut archive = tar::Archive::new(&mut unpacked);
    for entry in archive.entries().map_err(ReadError::Unreadable)? {
        members.push(member(entry.map_err(ReadError::Unreadable)?)?);
    }
    // What follows the end of the archive may be cut off as well.
    io::copy(&mut unpacked, &mut io::sink()).map_err(ReadError::Unreadable)?;
    if unpacked.limit() == 0 {
        return Err(ReadError::TooLong);
    }
    Ok(members)
}

fn member<R: Read>(mut entry: tar::Entry<'_, R>) -> Result<Member, ReadError> {
    let path = entry.path().map_err(ReadError::Unreadable)?.into_owned();
    let kind = match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous => {
            let mode = entry.header().mode().map_err(ReadError::Unreadable)?;
            let mut bytes = Vec::new();
            entry
                .read_to_end(&mut bytes)
                .map_err(ReadError::Unreadable)?;
            MemberKind::File { mode, bytes }
        }
        EntryType::Directory => MemberKind::Folder,
        _ => MemberKind::Other,
    };
    Ok(Member { path, kind })
}

#[cfg(test)]
mod tests {
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
    fn what_is_written_is_read_back_with_paths_bytes_and_modes() -> anyhow::Result<()> {
        let bytes = write(&sample(), Vec::new())?;
        let members = read(bytes.as_slice())?;
        let listed: Vec<_> = members
            .iter()
            .map(|member| match &member.kind {
                MemberKind::File { mode, bytes } => {
                    (member.path.display().to_string(), *mode, bytes.len())
                }
                _ => (member.path.display().to_string(), 0, 0),
            })
            .collect();
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

    #[test]
    fn an_archive_that_is_cut_off_anywhere_is_refused() -> Result<(), WriteError> {
        let bytes = write(&sample(), Vec::new())?;
        for length in [0, 1, 10, bytes.len() / 2, bytes.len() - 1] {
            assert!(
                read(&bytes[..length]).is_err(),
                "{length} of {}",
                bytes.len()
            );
        }
        Ok(())
    }
}
