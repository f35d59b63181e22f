//! The sections `service_adapter` and `service_deployment`: the executable that knows the service, and the releases and
//! stemcells that it builds manifests from.

use std::{
    fs, io,
    num::NonZeroU32,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use odb_adapter_sdk::protocol::{ServiceRelease, Stemcell};

use super::section::{Paths, Section};

/// The service adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// The executable.
    pub path: PathBuf,
    /// Names of environment variables that are passed on beside the usual few.
    pub environment: Vec<String>,
    /// The form of its input.
    pub form: AdapterForm,
    /// Parameters are held against its schemas (`broker.enable_plan_schemas`); else it validates them itself.
    pub plan_schemas: bool,
    /// How many bindings of one instance it creates and deletes at once.
    pub concurrent_bindings: NonZeroU32,
}

/// The form of an adapter's input (`broker.use_stdin`, `spec/contracts/adapter-protocol.md` §1.3 and §1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterForm {
    /// As one document on its stdin.
    Stdin,
    /// As arguments, which every user of the machine can read. This form has no secrets, configs and labels.
    Arguments,
}

/// The releases and stemcells that adapters build manifests from, the same for every plan.
#[derive(Clone, Debug)]
pub struct ServiceSoftware {
    /// Releases with their jobs.
    pub releases: Vec<ServiceRelease>,
    /// Stemcells.
    pub stemcells: Vec<Stemcell>,
}

/// Owner may read and execute, as the Go broker demands.
const READ_AND_EXECUTE: u32 = 0o500;

/// Reads the adapter's keys in the section `broker`.
pub(super) fn adapter_support(broker: &Section<'_>) -> (AdapterForm, bool) {
    let form = broker.choose("use_stdin", AdapterForm::Stdin, AdapterForm::Arguments);
    (form, broker.flag("enable_plan_schemas"))
}

pub(super) fn adapter(
    section: &Section<'_>,
    (form, plan_schemas): (AdapterForm, bool),
) -> Option<Adapter> {
    let path = section.required_text("path", "the path of the service adapter's executable");
    let environment = section.plain_texts("environment");
    let concurrent_bindings = section.number_or_default("concurrent_bindings_per_instance", "");
    section.warn_unknown_keys();
    let concurrent_bindings = u32::try_from(concurrent_bindings?).ok()?;
    let path = path?;
    // An adapter is started elsewhere than the broker.
    let Ok(program) = std::path::absolute(&path.value) else {
        return section.refuse_value(&path, ("is not a path", "give an executable file"));
    };
    if section.paths() == Paths::OfThisMachine
        && let Some(why) = unusable(&program)
    {
        let wrong = format!("is `{}`, {why}", path.value);
        return section.refuse_value(&path, (wrong, "give an executable file"));
    }
    Some(Adapter {
        path: program,
        environment,
        form,
        plan_schemas,
        concurrent_bindings: NonZeroU32::new(concurrent_bindings)?,
    })
}

fn unusable(path: &Path) -> Option<&'static str> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("which does not exist"),
        Err(_) => Some("which cannot be accessed"),
        Ok(meta) if meta.is_dir() => Some("which is a directory"),
        Ok(meta) if meta.permissions().mode() & READ_AND_EXECUTE != READ_AND_EXECUTE => {
            Some("which is not executable")
        }
        Ok(_) => None,
    }
}

pub(super) fn deployment(section: &Section<'_>) -> Option<ServiceSoftware> {
    let releases = section.each("releases", release);
    let stemcells = section.each("stemcells", stemcell);
    section.warn_unknown_keys();
    if releases.as_ref().is_some_and(Vec::is_empty) {
        let text = ("is empty", "give at least one release with its jobs");
        section.refuse::<()>("releases", text);
    }
    if stemcells.as_ref().is_some_and(Vec::is_empty) {
        section.refuse::<()>("stemcells", ("is empty", "give at least one stemcell"));
    }
    Some(ServiceSoftware {
        releases: releases?,
        stemcells: stemcells?,
    })
}

fn release(section: &Section<'_>) -> Option<ServiceRelease> {
    let name = section.required_text("name", "the name of a release on the Director");
    let version = exact_version(section);
    let jobs = section.plain_texts("jobs");
    if jobs.is_empty() {
        let right = "give the jobs that the adapter uses";
        section.warning("jobs", ("is empty, which the release refuses", right));
    }
    section.warn_unknown_keys();
    Some(ServiceRelease::new(name?.value, version?, jobs))
}

fn stemcell(section: &Section<'_>) -> Option<Stemcell> {
    let name = section.plain_text("name");
    let os = section.required_text("os", "an operating system, such as `ubuntu-jammy`");
    let version = exact_version(section);
    section.warn_unknown_keys();
    let mut stemcell = Stemcell::new(os?.value, version?);
    stemcell.name = name;
    Some(stemcell)
}

/// With a floating version, an update of one instance would deploy something else than the operator tried.
fn exact_version(section: &Section<'_>) -> Option<String> {
    let version = section.required_text("version", "an exact version")?;
    if version.value.ends_with("latest") {
        return section.refuse_value(&version, (version.quoted(), "give an exact version"));
    }
    Some(version.value)
}
