//! Puts the jobs of `manifests/sandbox` into the executable, so that `odb-sandbox up` needs no files.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let mut cargo = io::stdout();
    let project = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("..");
    let jobs = project.join("manifests/sandbox/jobs");
    writeln!(cargo, "cargo:rerun-if-changed={}", jobs.display())?;
    let mut rows = Vec::new();
    for job in entries(&jobs)? {
        writeln!(cargo, "cargo:rerun-if-changed={}", job.display())?;
        for file in entries(&job)? {
            writeln!(cargo, "cargo:rerun-if-changed={}", file.display())?;
            let (job, name) = (name(&job), name(&file));
            let file = file.display().to_string();
            rows.push(format!(
                "    ({job:?}, {name:?}, include_str!({file:?})),\n"
            ));
        }
    }
    let table = Path::new(&variable("OUT_DIR")?).join("jobs.rs");
    fs::write(table, format!("&[\n{}]\n", rows.concat()))
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn variable(name: &str) -> io::Result<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "Cargo passes build scripts everything in their environment"
    )]
    env::var(name).map_err(io::Error::other)
}
