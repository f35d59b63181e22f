//! The section `service_deployment`: the releases and stemcells that adapters build manifests from.

use odb_adapter_sdk::protocol::{ServiceRelease, Stemcell};

use super::section::{Found, Section};

/// The releases and stemcells that adapters build manifests from, the same for every plan.
#[derive(Clone, Debug)]
pub struct ServiceSoftware {
    /// Releases with their jobs.
    pub releases: Vec<ServiceRelease>,
    /// Stemcells.
    pub stemcells: Vec<Stemcell>,
}

pub(super) fn read(section: &Section<'_>) -> Option<ServiceSoftware> {
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
    let version = exact_version(
        section,
        section.required_text("version", "an exact version"),
    );
    let jobs = section.plain_texts("jobs");
    if jobs.is_empty() {
        let text = (
            "is empty, which the release refuses",
            "give the jobs that the adapter uses",
        );
        section.warning("jobs", text);
    }
    section.warn_unknown_keys();
    Some(ServiceRelease::new(name?.value, version?, jobs))
}

fn stemcell(section: &Section<'_>) -> Option<Stemcell> {
    let name = section.plain_text("name");
    let os = section.required_text("os", "an operating system, such as `ubuntu-jammy`");
    let version = exact_version(
        section,
        section.required_text("version", "an exact version"),
    );
    section.warn_unknown_keys();
    let mut stemcell = Stemcell::new(os?.value, version?);
    stemcell.name = name;
    Some(stemcell)
}

/// With a floating version, an update of one instance would deploy something else than the operator tried.
fn exact_version(section: &Section<'_>, version: Option<Found<String>>) -> Option<String> {
    let version = version?;
    if version.value.ends_with("latest") {
        return section.refuse_value(
            &version,
            (format!("is `{}`", version.value), "give an exact version"),
        );
    }
    Some(version.value)
}
