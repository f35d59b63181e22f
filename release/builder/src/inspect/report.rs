//! What was found, for people.

use std::fmt;

use super::{Inspection, Part};

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}/{}", self.name, self.version)?;
        let changes = if self.uncommitted_changes {
            " and uncommitted changes"
        } else {
            ""
        };
        writeln!(f, "commit {}{changes}", self.commit_hash)?;
        writeln!(f, "{} bytes, {}", self.size, self.digest)?;
        write_table(f, "job", "packages", &self.jobs)?;
        write_table(f, "package", "depends on", &self.packages)?;
        writeln!(f)?;
        for package in &self.packages {
            for executable in &package.executables {
                let glibc = executable.glibc.as_deref().unwrap_or("none");
                writeln!(
                    f,
                    "{}: {} bytes, needs glibc {glibc}",
                    executable.path, executable.size
                )?;
            }
        }
        for fault in &self.faults {
            writeln!(f, "fault: {fault}")?;
        }
        match self.faults.len() {
            0 => write!(f, "no faults"),
            1 => write!(f, "1 fault"),
            many => write!(f, "{many} faults"),
        }
    }
}

fn write_table(f: &mut fmt::Formatter<'_>, kind: &str, needs: &str, parts: &[Part]) -> fmt::Result {
    let width = parts
        .iter()
        .map(|part| part.name.len())
        .chain([kind.len()])
        .max()
        .unwrap_or_default();
    writeln!(f)?;
    writeln!(f, "{kind:width$}  fingerprint       bytes  {needs}")?;
    for part in parts {
        let fingerprint: String = part.fingerprint.chars().take(12).collect();
        let packages = if part.packages.is_empty() {
            "-".to_owned()
        } else {
            part.packages.join(", ")
        };
        writeln!(
            f,
            "{:width$}  {fingerprint:12}  {:>9}  {packages}",
            part.name, part.size
        )?;
    }
    Ok(())
}
