use crate::manifest::{JobReleaseError, SetPropertyError};

/// Why there is no manifest: something that the operator's configuration or the adapter lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the texts say what each error is")]
pub enum ManifestBuilderError {
    #[error("the plan needs {} and has {}", names(missing), names(existing))]
    MissingInstanceGroups {
        missing: Vec<String>,
        existing: Vec<String>,
    },
    #[error("the adapter asks for instance group `{group}` twice")]
    RepeatedInstanceGroup { group: String },
    #[error("instance group `{group}` of the plan has no network")]
    NoNetwork { group: String },
    #[error(
        "instance group `{group}` of the plan has lifecycle `{lifecycle}`; give `service` or `errand`"
    )]
    UnknownLifecycle { group: String, lifecycle: String },
    #[error(transparent)]
    Job(#[from] JobReleaseError),
    #[error("release `{release}` does not provide job `{job}`; add the job to its list")]
    NotInThatRelease { job: String, release: String },
    #[error("{what} has version `{version}`; give an exact one")]
    InexactVersion { what: String, version: String },
    #[error("no stemcell {wanted}; the service deployment has {configured}")]
    NoStemcell { wanted: String, configured: String },
    #[error("there is more than one stemcell {wanted}; the service deployment has {configured}")]
    SeveralStemcells { wanted: String, configured: String },
    #[error("instance group `{group}` is on stemcell `{alias}`, which the manifest does not have")]
    UnknownStemcellAlias { group: String, alias: String },
    #[error("the adapter changes instance group `{group}`, which it does not ask for")]
    ChangeOfNoGroup { group: String },
    #[error("no job for property {property}")]
    PropertyOfNoJob { property: String },
    #[error("could not set a property of job `{job}`")]
    JobProperty {
        job: String,
        #[source]
        source: SetPropertyError,
    },
    #[error("the properties of job `{job}` do not make a map")]
    PropertiesNotAMap { job: String },
    #[error("lifecycle errand `{errand}` of the plan is {}", location(group.as_deref()))]
    MissingErrand {
        errand: String,
        group: Option<String>,
    },
    #[error("the update block lacks `{key}`")]
    IncompleteUpdate { key: &'static str },
    #[error(
        "`max_in_flight` of the update block is `{found}`; give a number or a share such as `25%`"
    )]
    InvalidMaxInFlight { found: String },
}

fn names(groups: &[String]) -> String {
    let names: Vec<_> = groups.iter().map(|group| format!("`{group}`")).collect();
    match names.as_slice() {
        [] => "no instance group".to_owned(),
        [name] => format!("instance group {name}"),
        several => format!("instance groups {}", several.join(", ")),
    }
}

fn location(group: Option<&str>) -> String {
    match group {
        Some(group) => format!("not a job of instance group `{group}`, where the plan puts it"),
        None => "nowhere in the manifest: give it an instance group, or put it onto one with \
                 `instances`"
            .to_owned(),
    }
}
