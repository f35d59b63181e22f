//! Packs a chart's folder: the same files give the same bytes.

use std::{fs, io::Write, path::Path};

use flate2::{Compression, write::GzEncoder};
use globset::{GlobBuilder, GlobMatcher};

use crate::archive::{self, ArchiveError};

pub(super) fn pack(folder: &Path) -> Result<Vec<u8>, Vec<ArchiveError>> {
    let ignored = fs::read_to_string(folder.join(".helmignore")).unwrap_or_default();
    let rules: Vec<Rule> = ignored.lines().filter_map(Rule::read).collect();
    let files = archive::of_folder(folder, archive::CHART, |name| !is_ignored(name, &rules))?;
    let unreadable = |error| vec![ArchiveError::Unreadable(error)];
    let name = fs::canonicalize(folder).map_err(unreadable)?;
    let name = name
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (path, content) in &files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        let path = format!("{name}/{path}");
        let added = archive.append_data(&mut header, path, content.as_slice());
        added.map_err(unreadable)?;
    }
    let mut packed = archive.into_inner().map_err(unreadable)?;
    packed.flush().map_err(unreadable)?;
    packed.finish().map_err(unreadable)
}

/// A line of `.helmignore`.
struct Rule {
    glob: GlobMatcher,
    is_negated: bool,
    /// It matches names at any depth.
    is_floating: bool,
}

impl Rule {
    fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let is_negated = line.starts_with('!');
        let pattern = line.trim_start_matches('!').trim_end_matches('/');
        let is_floating = !pattern.contains('/');
        let glob = GlobBuilder::new(pattern.trim_start_matches('/'));
        let glob = { glob }.literal_separator(true).build().ok()?;
        Some(Self {
            glob: glob.compile_matcher(),
            is_negated,
            is_floating,
        })
    }

    fn matches(&self, path: &str) -> bool {
        let last = path.rsplit('/').next().unwrap_or(path);
        self.glob.is_match(path) || (self.is_floating && self.glob.is_match(last))
    }
}

/// Whether the file or a folder around it is ignored. As in Helm, a negated rule ignores what it does not match.
fn is_ignored(name: &str, rules: &[Rule]) -> bool {
    let ends = name
        .match_indices('/')
        .map(|(at, _)| at)
        .chain([name.len()]);
    let paths: Vec<&str> = ends.map(|end| &name[..end]).collect();
    rules.iter().any(|rule| {
        let matches = paths.iter().any(|path| rule.matches(path));
        matches != rule.is_negated
    })
}
