//! Where reports go.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use odb_conformance::{Format, Report};

use crate::command_line::ReportTo;

/// Where a report goes, open before there is one: what cannot be opened is known before anything is ordered.
#[derive(Debug)]
pub(crate) struct Outlet {
    format: Format,
    file: Option<(PathBuf, File)>,
}

impl Outlet {
    /// Opens all that are wanted, and stdout for the text where none of them is stdout.
    pub(crate) fn open_all(wanted: &[ReportTo]) -> Result<Vec<Self>> {
        let mut outlets = wanted.iter().map(Self::open).collect::<Result<Vec<_>>>()?;
        if outlets.iter().all(|outlet| outlet.file.is_some()) {
            outlets.push(Self {
                format: Format::Text,
                file: None,
            });
        }
        Ok(outlets)
    }

    fn open(wanted: &ReportTo) -> Result<Self> {
        let file = match &wanted.file {
            Some(path) => {
                let file = File::create(path).with_context(|| cannot_be_written(path))?;
                Some((path.clone(), file))
            }
            None => None,
        };
        Ok(Self {
            format: wanted.format,
            file,
        })
    }

    pub(crate) fn publish(self, report: &Report) -> Result<()> {
        let text = report.write(self.format)?;
        if let Some((path, mut file)) = self.file {
            return file
                .write_all(text.as_bytes())
                .with_context(|| cannot_be_written(&path));
        }
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .context("the report cannot be printed")
    }
}

fn cannot_be_written(path: &Path) -> String {
    format!("the report cannot be written to `{}`", path.display())
}
