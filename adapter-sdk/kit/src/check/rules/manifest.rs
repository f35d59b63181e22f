//! The manifest itself.

rules! {
    NOT_A_MANIFEST: Error "M-01" "the manifest is not a YAML document of the shape of a manifest",
        why: "the broker or the Director refuses it, and the request fails",
        remedy: "write one YAML map with `name`, `releases`, `stemcells`, `instance_groups` and `update`",
        section: "What the broker checks in a generated manifest";

    WRONG_NAME: Error "M-02" "the manifest's name is not the deployment's",
        why: "the broker rejects it: it would overwrite the deployment of another instance",
        remedy: "write `deployment_name` of the service deployment as `name`",
        section: "What the broker checks in a generated manifest";

    INEXACT_VERSION: Error "M-03" "a version ends in `latest`",
        why: "the broker rejects it: the deployed version would be unknown",
        remedy: "use the versions of the service deployment",
        section: "What the broker checks in a generated manifest";

    FOREIGN_VERSION: Error "M-04" "a release or stemcell is not one of the service deployment",
        why: "the operator uploads the releases and stemcells of the service deployment; the Director rejects all others",
        remedy: "take name and version of releases and stemcells from the service deployment",
        section: "What an author must do";

    JOB_WITHOUT_RELEASE: Error "M-05" "a job comes from a release that does not provide it",
        why: "the Director fails the deployment",
        remedy: "find each job's release in `releases[].jobs` of the service deployment; refuse if none or several have it",
        section: "What an author must do";

    ERRAND_MISSING: Error "M-06" "a lifecycle errand of the plan is not in the manifest",
        why: "the error shows only when the errand runs: after the deployment, or when the instance is deleted",
        remedy: "write errands without `instances` as a group with `lifecycle: errand`, those with `instances` as a job of the group they name",
        section: "What an author must do";

    NO_UPDATE_BLOCK: Error "M-07" "the manifest has no update block that a Director accepts",
        why: "the Director refuses a manifest without `update` and its values",
        remedy: "write the plan's update block, or a default where the plan has none",
        section: "What an author must do";

    AMBIGUOUS_SCALAR: Warning "M-08" "a value without quotes means different things to different readers",
        why: "the Director and the Go broker read YAML 1.1: `yes` is a boolean there, `12:30` a number, `010` is 8",
        remedy: "quote every string that is not plainly a word",
        section: "YAML: what readers on the other side do";

    UNKNOWN_STEMCELL: Error "M-09" "an instance group uses a stemcell alias that the manifest does not define",
        why: "the Director fails the deployment",
        remedy: "write each alias under `stemcells`",
        section: "The SDK's BOSH manifest type";

    PLAN_NOT_FOLLOWED: Warning "M-10" "an instance group differs from the plan",
        why: "operators size plans by instance groups and wonder why nothing changes",
        remedy: "carry instances, VM type, disk type, networks and zones over from the plan's group",
        section: "Plan";

    WRONG_CONFIG: Error "M-11" "a BOSH config in the answer cannot be used",
        why: "the broker writes configs to the Director before the deployment, which fails on them",
        remedy: "answer with types `cloud`, `cpi` or `runtime`, each a text of YAML that is a map",
        section: "Configs";

    UNDECLARED_VARIABLE: Warning "M-12" "a reference `((name))` has no entry under `variables`",
        why: "the Director generates the names under `variables`; every other name must exist in CredHub",
        remedy: "declare it, or refer to an absolute path",
        section: "What an author must do";
}
