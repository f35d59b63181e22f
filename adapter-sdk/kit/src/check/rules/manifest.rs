//! The manifest itself.

use super::{Rule, Severity};

/// The rules of this file.
pub const ALL: &[&Rule] = &[
    &NOT_A_MANIFEST,
    &WRONG_NAME,
    &INEXACT_VERSION,
    &FOREIGN_VERSION,
    &JOB_WITHOUT_RELEASE,
    &ERRAND_MISSING,
    &NO_UPDATE_BLOCK,
    &AMBIGUOUS_SCALAR,
    &UNKNOWN_STEMCELL,
    &PLAN_NOT_FOLLOWED,
    &WRONG_CONFIG,
    &UNDECLARED_VARIABLE,
];

/// M-01: the manifest is not a YAML document of the shape of a manifest.
pub const NOT_A_MANIFEST: Rule = Rule {
    id: "M-01",
    severity: Severity::Error,
    fault: "the manifest is not a YAML document of the shape of a manifest",
    why: "the broker or the Director refuses it, and the request fails",
    remedy: "write one YAML map with `name`, `releases`, `stemcells`, `instance_groups` and `update`",
    section: "What the broker checks in a generated manifest",
};

/// M-02: the manifest's name is not the deployment's.
pub const WRONG_NAME: Rule = Rule {
    id: "M-02",
    severity: Severity::Error,
    fault: "the manifest's name is not the deployment's",
    why: "the broker refuses it: it would deploy over somebody else's instance",
    remedy: "write `deployment_name` of the service deployment as `name`",
    section: "What the broker checks in a generated manifest",
};

/// M-03: a version ends in `latest`.
pub const INEXACT_VERSION: Rule = Rule {
    id: "M-03",
    severity: Severity::Error,
    fault: "a version ends in `latest`",
    why: "the broker refuses it: nobody could tell what is deployed",
    remedy: "use the versions of the service deployment",
    section: "What the broker checks in a generated manifest",
};

/// M-04: a release or stemcell is not one of the service deployment.
pub const FOREIGN_VERSION: Rule = Rule {
    id: "M-04",
    severity: Severity::Error,
    fault: "a release or stemcell is not one of the service deployment",
    why: "the operator uploads what the service deployment names; the Director fails on anything else",
    remedy: "take name and version of releases and stemcells from the service deployment",
    section: "What an author must do",
};

/// M-05: a job comes from a release that does not provide it.
pub const JOB_WITHOUT_RELEASE: Rule = Rule {
    id: "M-05",
    severity: Severity::Error,
    fault: "a job comes from a release that does not provide it",
    why: "the Director fails the deployment",
    remedy: "find each job's release in `releases[].jobs` of the service deployment; refuse if none or several have it",
    section: "What an author must do",
};

/// M-06: a lifecycle errand of the plan is not in the manifest.
pub const ERRAND_MISSING: Rule = Rule {
    id: "M-06",
    severity: Severity::Error,
    fault: "a lifecycle errand of the plan is not in the manifest",
    why: "nobody notices until the errand is run: after the deployment, or when the instance is deleted",
    remedy: "write errands without `instances` as a group with `lifecycle: errand`, those with `instances` as a job of the group they name",
    section: "What an author must do",
};

/// M-07: the manifest has no update block that a Director accepts.
pub const NO_UPDATE_BLOCK: Rule = Rule {
    id: "M-07",
    severity: Severity::Error,
    fault: "the manifest has no update block that a Director accepts",
    why: "the Director refuses a manifest without `update` and its values",
    remedy: "write the plan's update block, or a default where the plan has none",
    section: "What an author must do",
};

/// M-08: a value without quotes means different things to different readers.
pub const AMBIGUOUS_SCALAR: Rule = Rule {
    id: "M-08",
    severity: Severity::Warning,
    fault: "a value without quotes means different things to different readers",
    why: "the Director and the Go broker read YAML 1.1: `yes` is a boolean there, `12:30` a number, `010` is 8",
    remedy: "quote every string that is not plainly a word",
    section: "YAML: what readers on the other side do",
};

/// M-09: an instance group uses a stemcell alias that the manifest does not define.
pub const UNKNOWN_STEMCELL: Rule = Rule {
    id: "M-09",
    severity: Severity::Error,
    fault: "an instance group uses a stemcell alias that the manifest does not define",
    why: "the Director fails the deployment",
    remedy: "write each alias under `stemcells`",
    section: "The SDK's BOSH manifest type",
};

/// M-10: an instance group is not what the plan says.
pub const PLAN_NOT_FOLLOWED: Rule = Rule {
    id: "M-10",
    severity: Severity::Warning,
    fault: "an instance group is not what the plan says",
    why: "operators size plans by instance groups and wonder why nothing changes",
    remedy: "carry instances, VM type, disk type, networks and zones over from the plan's group",
    section: "Plan",
};

/// M-11: a BOSH config in the answer cannot be used.
pub const WRONG_CONFIG: Rule = Rule {
    id: "M-11",
    severity: Severity::Error,
    fault: "a BOSH config in the answer cannot be used",
    why: "the broker writes configs to the Director before the deployment, which fails on them",
    remedy: "answer with types `cloud`, `cpi` or `runtime`, each a text of YAML that is a map",
    section: "Configs",
};

/// M-12: a reference `((name))` has no entry under `variables`.
pub const UNDECLARED_VARIABLE: Rule = Rule {
    id: "M-12",
    severity: Severity::Warning,
    fault: "a reference `((name))` has no entry under `variables`",
    why: "the Director generates what `variables` declares; any other name has to be in CredHub already",
    remedy: "declare it, or refer to an absolute path",
    section: "What an author must do",
};
