//! The requests of the commands: for each the requests that it needs, in their order, without repeats. Queries are left
//! out.
//!
//! Requests that `spec/contracts/platform-apis.md` (1.7, 2.7, 5.2) lists as observed were recorded. The others are read
//! from the sources: `cloudfoundry/cli` (v8: `actor/v7action`, `api/cloudcontroller/ccv3`, `api/uaa`),
//! `cloudfoundry/bosh-cli` (`director`), `cloudfoundry/credhub-cli` (`commands`, `credhub`), `cloudfoundry/uaa-cli`
//! (`cmd`).

/// A command and its requests: `server METHOD path`, then the media type of the body where routes depend on it.
pub(crate) type Command = (&'static str, &'static [&'static str]);

pub(crate) struct CommandLine {
    pub(crate) program: &'static str,
    pub(crate) working: &'static [Command],
    pub(crate) others: &'static [Command],
}

pub(crate) const COMMAND_LINES: [CommandLine; 4] = [
    CommandLine {
        program: "cf",
        working: CF,
        others: CF_OTHERS,
    },
    CommandLine {
        program: "bosh",
        working: BOSH,
        others: BOSH_OTHERS,
    },
    CommandLine {
        program: "credhub",
        working: CREDHUB,
        others: CREDHUB_OTHERS,
    },
    CommandLine {
        program: "uaa",
        working: UAA,
        others: UAA_OTHERS,
    },
];

const CF: &[Command] = &[
    ("api", &["cc GET /"]),
    ("auth", &["cc GET /", "cf-uaa POST /oauth/token"]),
    (
        "login",
        &[
            "cc GET /",
            "cf-uaa GET /login",
            "cf-uaa POST /oauth/token",
            "cc GET /v3/organizations",
            "cc GET /v3/spaces",
        ],
    ),
    ("target", &["cc GET /v3/organizations", "cc GET /v3/spaces"]),
    ("oauth-token", &["cf-uaa POST /oauth/token"]),
    ("curl", &[]),
    ("logout", &[]),
    ("orgs", &["cc GET /v3/organizations"]),
    (
        "create-org",
        &["cc POST /v3/organizations", "cc POST /v3/roles"],
    ),
    ("spaces", &["cc GET /v3/spaces"]),
    ("create-space", &["cc POST /v3/spaces", "cc POST /v3/roles"]),
    (
        "set-org-role",
        &["cc GET /v3/organizations", "cc POST /v3/roles"],
    ),
    (
        "set-space-role",
        &[
            "cc GET /v3/organizations",
            "cc GET /v3/spaces",
            "cc POST /v3/roles",
        ],
    ),
    (
        "create-route",
        &[
            "cc GET /v3/domains",
            "cc GET /v3/spaces",
            "cc POST /v3/routes",
        ],
    ),
    ("create-app", &["cc POST /v3/apps"]),
    ("feature-flags", &["cc GET /v3/feature_flags"]),
    (
        "feature-flag",
        &["cc GET /v3/feature_flags/service_instance_sharing"],
    ),
    (
        "enable-feature-flag",
        &["cc PATCH /v3/feature_flags/service_instance_sharing"],
    ),
    (
        "disable-feature-flag",
        &["cc PATCH /v3/feature_flags/service_instance_sharing"],
    ),
    ("marketplace", &["cc GET /v3/service_plans"]),
    (
        "purge-service-offering",
        &[
            "cc GET /v3/service_offerings",
            "cc DELETE /v3/service_offerings/g",
        ],
    ),
    ("service-brokers", &["cc GET /v3/service_brokers"]),
    (
        "create-service-broker",
        &["cc POST /v3/service_brokers", "cc GET /v3/jobs/g"],
    ),
    (
        "update-service-broker",
        &[
            "cc GET /v3/service_brokers",
            "cc PATCH /v3/service_brokers/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "delete-service-broker",
        &[
            "cc GET /v3/service_brokers",
            "cc DELETE /v3/service_brokers/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "service-access",
        &[
            "cc GET /v3/service_offerings",
            "cc GET /v3/service_plans",
            "cc GET /v3/service_plans/g/visibility",
        ],
    ),
    (
        "enable-service-access",
        &[
            "cc GET /v3/service_offerings",
            "cc GET /v3/service_plans",
            "cc POST /v3/service_plans/g/visibility",
        ],
    ),
    (
        "disable-service-access",
        &[
            "cc GET /v3/service_offerings",
            "cc GET /v3/service_plans",
            "cc POST /v3/service_plans/g/visibility",
            "cc DELETE /v3/service_plans/g/visibility/o",
        ],
    ),
    (
        "create-service",
        &[
            "cc GET /v3/service_plans",
            "cc POST /v3/service_instances",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "services",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/service_credential_bindings",
        ],
    ),
    (
        "service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/feature_flags/service_instance_sharing",
            "cc GET /v3/service_offerings/g",
            "cc GET /v3/service_instances/g/relationships/shared_spaces",
            "cc GET /v3/service_instances/g/relationships/shared_spaces/usage_summary",
            "cc GET /v3/service_instances/g/parameters",
            "cc GET /v3/service_plans/g",
            "cc GET /v3/service_credential_bindings",
        ],
    ),
    (
        "update-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/service_plans",
            "cc PATCH /v3/service_instances/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "upgrade-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/service_plans/g",
            "cc PATCH /v3/service_instances/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "rename-service",
        &[
            "cc GET /v3/service_instances",
            "cc PATCH /v3/service_instances/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "delete-service",
        &[
            "cc GET /v3/service_instances",
            "cc DELETE /v3/service_instances/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "purge-service-instance",
        &[
            "cc GET /v3/service_instances",
            "cc DELETE /v3/service_instances/g",
        ],
    ),
    (
        "share-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/spaces",
            "cc POST /v3/service_instances/g/relationships/shared_spaces",
        ],
    ),
    (
        "unshare-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/spaces",
            "cc GET /v3/service_instances/g/relationships/shared_spaces/usage_summary",
            "cc DELETE /v3/service_instances/g/relationships/shared_spaces/s",
        ],
    ),
    (
        "bind-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/apps",
            "cc POST /v3/service_credential_bindings",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "unbind-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/apps",
            "cc GET /v3/service_credential_bindings",
            "cc DELETE /v3/service_credential_bindings/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "create-service-key",
        &[
            "cc GET /v3/service_instances",
            "cc POST /v3/service_credential_bindings",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "service-keys",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/service_credential_bindings",
        ],
    ),
    (
        "service-key",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/service_credential_bindings",
            "cc GET /v3/service_credential_bindings/g/details",
        ],
    ),
    (
        "delete-service-key",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/service_credential_bindings",
            "cc DELETE /v3/service_credential_bindings/g",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "bind-route-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/domains",
            "cc GET /v3/routes",
            "cc POST /v3/service_route_bindings",
            "cc GET /v3/jobs/g",
        ],
    ),
    (
        "unbind-route-service",
        &[
            "cc GET /v3/service_instances",
            "cc GET /v3/domains",
            "cc GET /v3/routes",
            "cc GET /v3/service_route_bindings",
            "cc DELETE /v3/service_route_bindings/g",
            "cc GET /v3/jobs/g",
        ],
    ),
];

const CF_OTHERS: &[Command] = &[
    ("push", &["cc POST /v3/packages"]),
    ("app", &["cc GET /v3/apps/g/processes"]),
    ("apps", &["cc GET /v3/processes"]),
    ("delete", &["cc DELETE /v3/apps/g"]),
    ("env", &["cc GET /v3/apps/g/env"]),
    ("create-user", &["cf-uaa POST /Users"]),
    ("delete-org", &["cc DELETE /v3/organizations/g"]),
    ("delete-space", &["cc DELETE /v3/spaces/g"]),
    ("org", &["cc GET /v3/organizations/g/domains"]),
    ("space", &["cc GET /v3/spaces/g/running_security_groups"]),
    (
        "create-user-provided-service",
        &["cc GET /v3/service_instances/g/credentials"],
    ),
];

const BOSH: &[Command] = &[
    ("environment", &["director GET /info"]),
    ("log-in", &["director GET /info"]),
    ("curl", &[]),
    ("deployments", &["director GET /deployments"]),
    ("deployment", &["director GET /deployments"]),
    ("manifest", &["director GET /deployments/d"]),
    (
        "deploy",
        &[
            "director GET /info",
            "director GET /deployments/d",
            "director POST /deployments/d/diff text/yaml",
            "director POST /deployments text/yaml",
            "director GET /tasks/1",
            "director GET /tasks/1/output",
        ],
    ),
    (
        "delete-deployment",
        &[
            "director DELETE /deployments/d",
            "director GET /deployments",
        ],
    ),
    (
        "instances",
        &[
            "director GET /deployments/d/instances",
            "director GET /tasks/1/output",
        ],
    ),
    (
        "vms",
        &[
            "director GET /deployments/d/vms",
            "director GET /tasks/1/output",
        ],
    ),
    ("start", &["director PUT /deployments/d/jobs/* text/yaml"]),
    ("stop", &["director PUT /deployments/d/jobs/* text/yaml"]),
    ("restart", &["director PUT /deployments/d/jobs/g text/yaml"]),
    (
        "recreate",
        &["director PUT /deployments/d/jobs/g/0 text/yaml"],
    ),
    (
        "ignore",
        &["director PUT /deployments/d/instance_groups/g/0/ignore"],
    ),
    (
        "unignore",
        &["director PUT /deployments/d/instance_groups/g/0/ignore"],
    ),
    ("errands", &["director GET /deployments/d/errands"]),
    (
        "run-errand",
        &["director POST /deployments/d/errands/e/runs"],
    ),
    ("variables", &["director GET /deployments/d/variables"]),
    ("tasks", &["director GET /tasks"]),
    (
        "task",
        &["director GET /tasks/1", "director GET /tasks/1/output"],
    ),
    ("cancel-task", &["director DELETE /task/1"]),
    ("cancel-tasks", &["director POST /tasks/cancel"]),
    ("events", &["director GET /events"]),
    ("event", &["director GET /events/1"]),
    ("locks", &["director GET /locks"]),
    ("configs", &["director GET /configs"]),
    (
        "config",
        &["director GET /configs", "director GET /configs/1"],
    ),
    (
        "update-config",
        &["director POST /configs/diff", "director POST /configs"],
    ),
    (
        "delete-config",
        &["director DELETE /configs", "director DELETE /configs/1"],
    ),
    ("diff-config", &["director POST /configs/diff"]),
    ("cloud-config", &["director GET /cloud_configs"]),
    (
        "update-cloud-config",
        &[
            "director POST /cloud_configs/diff text/yaml",
            "director POST /cloud_configs text/yaml",
        ],
    ),
    ("runtime-config", &["director GET /runtime_configs"]),
    (
        "update-runtime-config",
        &[
            "director POST /runtime_configs/diff text/yaml",
            "director POST /runtime_configs text/yaml",
        ],
    ),
    ("cpi-config", &["director GET /cpi_configs"]),
    (
        "update-cpi-config",
        &[
            "director POST /cpi_configs/diff text/yaml",
            "director POST /cpi_configs text/yaml",
        ],
    ),
    ("releases", &["director GET /releases"]),
    ("inspect-release", &["director GET /releases/r"]),
    ("stemcells", &["director GET /stemcells"]),
    ("disks", &["director GET /disks"]),
];

const BOSH_OTHERS: &[Command] = &[
    ("upload-release", &["director POST /releases"]),
    ("delete-release", &["director DELETE /releases/r"]),
    ("export-release", &["director POST /releases/export"]),
    ("upload-stemcell", &["director POST /stemcells"]),
    ("delete-stemcell", &["director DELETE /stemcells/s/1"]),
    ("ssh", &["director POST /deployments/d/ssh"]),
    ("scp", &["director POST /deployments/d/ssh"]),
    ("logs", &["director GET /deployments/d/jobs/g/0/logs"]),
    ("cloud-check", &["director POST /deployments/d/scans"]),
    ("delete-vm", &["director DELETE /vms/v"]),
    ("orphaned-vms", &["director GET /orphaned_vms"]),
    ("attach-disk", &["director PUT /disks/c/attachments"]),
    ("delete-disk", &["director DELETE /disks/c"]),
    ("snapshots", &["director GET /deployments/d/snapshots"]),
    ("networks", &["director GET /networks"]),
    ("clean-up", &["director POST /cleanup"]),
    ("update-resurrection", &["director PUT /resurrection"]),
];

const CREDHUB: &[Command] = &[
    ("api", &["credhub GET /info"]),
    ("login", &["credhub GET /info", "credhub GET /version"]),
    ("logout", &[]),
    ("curl", &[]),
    ("find", &["credhub GET /api/v1/data"]),
    ("get", &["credhub GET /api/v1/data"]),
    ("set", &["credhub PUT /api/v1/data"]),
    ("generate", &["credhub POST /api/v1/data"]),
    ("regenerate", &["credhub POST /api/v1/regenerate"]),
    ("delete", &["credhub DELETE /api/v1/data"]),
    ("import", &["credhub PUT /api/v1/data"]),
    ("interpolate", &["credhub GET /api/v1/data"]),
    (
        "set-permission",
        &[
            "credhub GET /api/v2/permissions",
            "credhub POST /api/v2/permissions",
            "credhub PUT /api/v2/permissions/g",
        ],
    ),
    ("get-permission", &["credhub GET /api/v2/permissions"]),
    (
        "delete-permission",
        &[
            "credhub GET /api/v2/permissions",
            "credhub DELETE /api/v2/permissions/g",
        ],
    ),
];

const CREDHUB_OTHERS: &[Command] = &[
    ("bulk-regenerate", &["credhub POST /api/v1/bulk-regenerate"]),
    ("export", &["credhub GET /api/v1/certificates/"]),
];

const UAA: &[Command] = &[
    ("target", &["cf-uaa GET /info"]),
    ("info", &["cf-uaa GET /info"]),
    ("curl", &[]),
    ("context", &[]),
    ("contexts", &[]),
    (
        "get-client-credentials-token",
        &["cf-uaa POST /oauth/token"],
    ),
    ("get-password-token", &["cf-uaa POST /oauth/token"]),
    ("refresh-token", &["cf-uaa POST /oauth/token"]),
    ("get-token-key", &["cf-uaa GET /token_key"]),
    ("get-token-keys", &["cf-uaa GET /token_keys"]),
    ("create-client", &["cf-uaa POST /oauth/clients"]),
    ("get-client", &["cf-uaa GET /oauth/clients/cf"]),
    ("list-clients", &["cf-uaa GET /oauth/clients"]),
    (
        "update-client",
        &[
            "cf-uaa GET /oauth/clients/cf",
            "cf-uaa PUT /oauth/clients/c",
        ],
    ),
    ("delete-client", &["cf-uaa DELETE /oauth/clients/c"]),
    ("set-client-secret", &["cf-uaa PUT /oauth/clients/c/secret"]),
];

const UAA_OTHERS: &[Command] = &[
    ("create-user", &["cf-uaa POST /Users"]),
    ("create-group", &["cf-uaa POST /Groups"]),
    ("userinfo", &["cf-uaa GET /userinfo"]),
    ("get-authcode-token", &["cf-uaa GET /oauth/authorize"]),
    ("get-implicit-token", &["cf-uaa GET /oauth/authorize"]),
];
