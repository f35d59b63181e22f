use crate::manifest::{JobReleaseError, SetPropertyError};

/// Why there is no manifest: something that the operator's configuration or the adapter lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestBuilderError {
    /// Instance groups that the service cannot do without.
    #[error("the plan needs {} and has {}", names(missing), names(existing))]
    MissingInstanceGroups {
        /// The groups that are not there.
        missing: Vec<String>,
        /// The groups that are.
        existing: Vec<String>,
    },
    /// The adapter requests the same instance group more than once.
    #[error("the adapter asks for instance group `{group}` twice")]
    RepeatedInstanceGroup {
        /// Name of the group.
        group: String,
    },
    /// The Director needs one.
    #[error("instance group `{group}` of the plan has no network")]
    NoNetwork {
        /// Name of the group.
        group: String,
    },
    /// The Director knows two.
    #[error(
        "instance group `{group}` of the plan has lifecycle `{lifecycle}`; give `service` or `errand`"
    )]
    UnknownLifecycle {
        /// Name of the group.
        group: String,
        /// The lifecycle in the plan.
        lifecycle: String,
    },
    /// A job cannot be attributed to one release.
    #[error(transparent)]
    Job(#[from] JobReleaseError),
    /// The release that the adapter wants a job from does not have it.
    #[error("release `{release}` does not provide job `{job}`; add the job to its list")]
    NotInThatRelease {
        /// Name of the job.
        job: String,
        /// Name of the release.
        release: String,
    },
    /// A release or stemcell without an exact version, which the broker refuses.
    #[error("{what} has version `{version}`; give an exact one")]
    InexactVersion {
        /// Release or stemcell.
        what: String,
        /// The version of the service deployment.
        version: String,
    },
    /// No stemcell is the one that the adapter needs.
    #[error("no stemcell {wanted}; the service deployment has {configured}")]
    NoStemcell {
        /// The adapter's requirement, in words.
        wanted: String,
        /// The configured value.
        configured: String,
    },
    /// More than one stemcell could be the one that the adapter needs.
    #[error("there is more than one stemcell {wanted}; the service deployment has {configured}")]
    SeveralStemcells {
        /// The adapter's requirement, in words.
        wanted: String,
        /// The configured value.
        configured: String,
    },
    /// An instance group runs on a stemcell that the manifest does not have.
    #[error("instance group `{group}` is on stemcell `{alias}`, which the manifest does not have")]
    UnknownStemcellAlias {
        /// Name of the group.
        group: String,
        /// The alias.
        alias: String,
    },
    /// The adapter changes an instance group that it does not request.
    #[error("the adapter changes instance group `{group}`, which it does not ask for")]
    ChangeOfNoGroup {
        /// Name of the group.
        group: String,
    },
    /// A property for a job that is not there.
    #[error("no job for property {property}")]
    PropertyOfNoJob {
        /// The property.
        property: String,
    },
    /// A property that cannot be set.
    #[error("could not set a property of job `{job}`")]
    JobProperty {
        /// Name of the job.
        job: String,
        /// Why not.
        #[source]
        source: SetPropertyError,
    },
    /// Properties that are no JSON object.
    #[error("the properties of job `{job}` do not make a map")]
    PropertiesNotAMap {
        /// Name of the job.
        job: String,
    },
    /// A lifecycle errand of the plan that could not run: it would fail after the deployment.
    #[error("lifecycle errand `{errand}` of the plan is {}", location(group.as_deref()))]
    MissingErrand {
        /// Name of the errand.
        errand: String,
        /// The group that it is to be colocated in; without, it is nowhere.
        group: Option<String>,
    },
    /// An update block that a Director refuses.
    #[error("the update block lacks `{key}`")]
    IncompleteUpdate {
        /// The missing key.
        key: &'static str,
    },
    /// The protocol accepts any text that contains a percentage. A Director does not.
    #[error(
        "`max_in_flight` of the update block is `{found}`; give a number or a share such as `25%`"
    )]
    InvalidMaxInFlight {
        /// The value found.
        found: String,
    },
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
