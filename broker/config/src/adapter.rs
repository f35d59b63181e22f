//! The section `service_adapter`: the executable that knows the service.

use std::{
    fs, io,
    num::NonZeroU32,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

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
    /// Whether it describes the parameters of its plans.
    pub plan_schemas: PlanSchemaSupport,
    /// How many bindings of one instance it creates and deletes at once.
    pub concurrent_bindings: NonZeroU32,
}

/// The default for adapters: bindings of one instance do not depend on each other.
const CONCURRENT_BINDINGS: NonZeroU32 = NonZeroU32::new(8).expect("8 is not 0");

/// The form of an adapter's input (`broker.use_stdin`, `spec/contracts/adapter-protocol.md` §1.3 and §1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterForm {
    /// As one document on its stdin.
    Stdin,
    /// As arguments, which every user of the machine can read. This form has no secrets, configs and labels.
    Arguments,
}

/// Whether the adapter describes the parameters of its plans (`broker.enable_plan_schemas`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSchemaSupport {
    /// It does: parameters are held against its schemas.
    Enabled,
    /// Schemas are not used; the adapter validates parameters itself.
    Disabled,
}

/// Owner may read and execute, as the Go broker demands.
const READ_AND_EXECUTE: u32 = 0o500;

/// Reads the adapter's keys in the section `broker`.
pub(super) fn read_support(broker: &Section<'_>) -> (AdapterForm, PlanSchemaSupport) {
    // Absent means the default of the release's job specification.
    let form = if broker.flag("use_stdin", true) {
        AdapterForm::Stdin
    } else {
        AdapterForm::Arguments
    };
    let (enabled, disabled) = (PlanSchemaSupport::Enabled, PlanSchemaSupport::Disabled);
    (
        form,
        broker.choose("enable_plan_schemas", enabled, disabled),
    )
}

pub(super) fn read(
    section: &Section<'_>,
    (form, plan_schemas): (AdapterForm, PlanSchemaSupport),
) -> Option<Adapter> {
    let path = section.required_text("path", "the path of the service adapter's executable");
    let environment = section.plain_texts("environment");
    let concurrent_bindings = section.number_within("concurrent_bindings_per_instance", "");
    section.warn_unknown_keys();
    let concurrent_bindings = concurrent_bindings
        .ok()?
        .and_then(|number| u32::try_from(number).ok())
        .and_then(NonZeroU32::new)
        .unwrap_or(CONCURRENT_BINDINGS);
    let path = path?;
    // An adapter is started elsewhere than the broker.
    let Ok(program) = std::path::absolute(&path.value) else {
        return section.refuse_value(&path, ("is no path", "give an executable file"));
    };
    let unusable = match section.paths() {
        Paths::OfThisMachine => unusable(&program),
        Paths::OfAnother => None,
    };
    match unusable {
        None => Some(Adapter {
            path: program,
            environment,
            form,
            plan_schemas,
            concurrent_bindings,
        }),
        Some(why) => section.refuse_value(
            &path,
            (
                format!("is `{}`, {why}", path.value),
                "give an executable file",
            ),
        ),
    }
}

fn unusable(path: &Path) -> Option<&'static str> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("which does not exist"),
        Err(_) => Some("which cannot be looked at"),
        Ok(meta) if meta.is_dir() => Some("which is a directory"),
        Ok(meta) if meta.permissions().mode() & READ_AND_EXECUTE != READ_AND_EXECUTE => {
            Some("which is not executable")
        }
        Ok(_) => None,
    }
}
