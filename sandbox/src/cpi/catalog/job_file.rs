//! Reads and checks the folder of one job: `job.yml` and the templates that it names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use odb_adapter_sdk::yaml;
use serde::Deserialize;

use super::{
    AsRoot, CatalogError, Consumed, Job, Process, Program, Property, Provided, Requirements,
    Script, StopSignal, Template,
};

const SPEC: &str = "job.yml";
/// The permissions of a rendered file that names none.
const PRIVATE_FILE: u32 = 0o600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    name: String,
    #[serde(rename = "description")]
    _description: String,
    #[serde(default)]
    provides: Vec<Provided>,
    #[serde(default)]
    consumes: Vec<Consumed>,
    #[serde(default)]
    properties: BTreeMap<String, Property>,
    #[serde(default)]
    templates: BTreeMap<String, RawTemplate>,
    #[serde(default)]
    search: Vec<String>,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default)]
    refuses_root: bool,
    #[serde(default)]
    scripts: BTreeMap<Script, RawProgram>,
    #[serde(default)]
    processes: Vec<RawProcess>,
    errand: Option<RawProgram>,
}

/// The rendered file's name alone, or with its permissions.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawTemplate {
    Name(String),
    File(RawFile),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    to: String,
    mode: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProcess {
    name: Option<String>,
    command: Vec<String>,
    port: RawPort,
    ready_check: Option<Vec<String>>,
    ready_within_seconds: u64,
    #[serde(default)]
    stop_signal: StopSignal,
    stop_within_seconds: u64,
}

/// A number, or a template that becomes one.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawPort {
    Number(u16),
    Template(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProgram {
    command: Vec<String>,
    timeout_in_seconds: u64,
}

pub(super) fn read(folder: &Path) -> Result<Job, CatalogError> {
    let path = folder.join(SPEC);
    let raw: RawJob = yaml::from_str(&text(&path)?).map_err(|source| CatalogError::Parse {
        path: path.clone(),
        source,
    })?;
    if let Err(error) = raw.check(folder) {
        return Err(CatalogError::Contradiction { path, error });
    }
    let processes = raw.processes.into_iter();
    Ok(Job {
        processes: processes
            .map(|process| process.into_process(&raw.name))
            .collect(),
        name: raw.name.into(),
        provides: raw.provides,
        consumes: raw.consumes,
        properties: raw.properties,
        templates: templates(folder, raw.templates)?,
        requirements: Requirements {
            search: raw.search,
            packages: raw.packages,
            as_root: if raw.refuses_root {
                AsRoot::Refused
            } else {
                AsRoot::Accepted
            },
        },
        scripts: raw
            .scripts
            .into_iter()
            .map(|(script, program)| (script, program.into()))
            .collect(),
        errand: raw.errand.map(Program::from),
    })
}

impl RawJob {
    fn check(&self, folder: &Path) -> Result<(), String> {
        if folder
            .file_name()
            .is_none_or(|name| name != self.name.as_str())
        {
            return Err(format!(
                "names the job `{}`; that must be its folder's name",
                self.name
            ));
        }
        let shared = self.provides.iter().flat_map(|link| &link.properties);
        for path in shared {
            if !self.properties.contains_key(path) {
                return Err(format!(
                    "shares the property `{path}`, which it does not declare"
                ));
            }
        }
        if self.processes.is_empty() && self.errand.is_none() {
            return Err("must have `processes` or an `errand`".to_owned());
        }
        if self.commands().any(Vec::is_empty) {
            return Err("has an empty `command`".to_owned());
        }
        let mut names = BTreeSet::new();
        for process in &self.processes {
            let name = process.name.as_ref().unwrap_or(&self.name);
            if !is_file_name(name) || !names.insert(name) {
                return Err(format!(
                    "has a process `{name}`; give each a `name` of its own that can be a file's"
                ));
            }
        }
        Ok(())
    }

    fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        let programs = self.scripts.values().chain(&self.errand);
        let processes = self.processes.iter().map(|process| &process.command);
        programs.map(|program| &program.command).chain(processes)
    }
}

impl RawProcess {
    fn into_process(self, job: &str) -> Process {
        Process {
            name: self.name.unwrap_or_else(|| job.to_owned()).into(),
            command: self.command,
            port: match self.port {
                RawPort::Number(number) => number.to_string(),
                RawPort::Template(template) => template,
            },
            ready_check: self.ready_check,
            ready_within: Duration::from_secs(self.ready_within_seconds),
            stop_signal: self.stop_signal,
            stop_within: Duration::from_secs(self.stop_within_seconds),
        }
    }
}

impl From<RawProgram> for Program {
    fn from(raw: RawProgram) -> Self {
        Self {
            command: raw.command,
            timeout: Duration::from_secs(raw.timeout_in_seconds),
        }
    }
}

fn templates(
    folder: &Path,
    files: BTreeMap<String, RawTemplate>,
) -> Result<Vec<Template>, CatalogError> {
    files
        .into_iter()
        .map(|(from, file)| template(folder.join(from), file))
        .collect()
}

fn template(path: PathBuf, file: RawTemplate) -> Result<Template, CatalogError> {
    let (to, mode) = match file {
        RawTemplate::Name(to) => (to, Some(PRIVATE_FILE)),
        RawTemplate::File(RawFile { to, mode }) => (to, u32::from_str_radix(&mode, 8).ok()),
    };
    if !is_file_name(&to) {
        let error = format!("is rendered as `{to}`, which is not a file's name");
        return Err(CatalogError::Contradiction { path, error });
    }
    let Some(mode) = mode.filter(|mode| *mode <= 0o777) else {
        let error = "is given a `mode` that is not of the form \"0640\"".to_owned();
        return Err(CatalogError::Contradiction { path, error });
    };
    Ok(Template {
        to,
        mode,
        text: text(&path)?,
    })
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && name != "." && name != ".."
}

fn text(path: &Path) -> Result<String, CatalogError> {
    fs::read_to_string(path).map_err(|source| CatalogError::Read {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn loaded(spec: &str) -> Result<Job, CatalogError> {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("web");
        fs::create_dir(&job).unwrap();
        fs::write(job.join(SPEC), spec).unwrap();
        fs::write(job.join("run.sh.tera"), "exit 0\n").unwrap();
        read(&job)
    }

    fn refused(spec: &str) -> String {
        loaded(spec).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_refused_with_file_and_key() {
        let error = loaded(
            "name: web\ndescription: d\nerrand: {command: [ls], timeout_in_seconds: 1}\nprovide: []\n",
        )
        .unwrap_err();
        assert!(error.to_string().contains("web/job.yml"), "{error}");
        let source = error.source().unwrap().to_string();
        assert!(source.contains("provide"), "{source}");
    }

    #[test]
    fn a_job_runs_something() {
        let refused = refused("name: web\ndescription: d\n");
        assert!(refused.contains("`processes` or an `errand`"), "{refused}");
    }

    #[test]
    fn a_link_shares_only_what_the_job_declares() {
        let refused = refused(
            "name: web\ndescription: d\nprovides: [{name: w, type: w, properties: [a.b]}]\nerrand: {command: [ls], timeout_in_seconds: 1}\n",
        );
        assert!(refused.contains("`a.b`"), "{refused}");
    }

    #[test]
    fn two_processes_have_two_names() {
        let process = "{command: [ls], port: 1, ready_within_seconds: 1, stop_within_seconds: 1}";
        let refused = refused(&format!(
            "name: web\ndescription: d\nprocesses: [{process}, {process}]\n"
        ));
        assert!(refused.contains("process `web`"), "{refused}");
    }

    #[test]
    fn a_files_mode_is_octal_and_private_where_it_is_not_given() {
        let spec = |file: &str| {
            format!(
                "name: web\ndescription: d\ntemplates: {{run.sh.tera: {file}}}\nerrand: {{command: [ls], timeout_in_seconds: 1}}\n"
            )
        };
        let mode = |file: &str| loaded(&spec(file)).unwrap().templates[0].mode;

        assert_eq!(mode("run.sh"), 0o600);
        assert_eq!(mode("{to: run.sh, mode: \"0750\"}"), 0o750);
        for wrong in ["\"rwx\"", "\"7777\""] {
            let refused = refused(&spec(&format!("{{to: run.sh, mode: {wrong}}}")));
            assert!(refused.contains("`mode`"), "{refused}");
        }
    }
}
