//! The work of tasks on deployments.
//!
//! | module | contents |
//! | --- | --- |
//! | [`manifest`], [`group_spec`], [`update_spec`], [`spec`] | parses a manifest into types |
//! | [`spec`], [`states`] | the options of a call beside the manifest |
//! | [`cloud`], [`networks`], [`addresses`] | the definitions of the cloud configs, and the groups' use of them |
//! | [`planning`], [`plan`], [`uploads`] | checks a manifest against uploads and configs |
//! | [`error`] | errors in it |
//! | [`prepare`], [`placement`], [`target`] | decides which instances there will be, and the change of each |
//! | [`interpolation`], [`links`], [`rendering`] | the variables of templates, and the rendered files |
//! | [`update`], [`updating`], [`vms`], [`agents`] | the deploy task: instance by instance |
//! | [`deleting`] | the delete task |
//! | [`errand`], [`selection`] | the errand task, and its selected instances |
//! | [`states`] | the task that queries the agents of VMs |
//! | [`diff`] | what a manifest would change |

mod addresses;
mod agents;
mod cloud;
mod deleting;
mod diff;
mod errand;
mod error;
mod group_spec;
mod interpolation;
mod links;
mod manifest;
mod networks;
mod placement;
mod plan;
mod planning;
mod prepare;
mod rendering;
mod selection;
mod spec;
mod states;
mod target;
mod update;
mod update_spec;
mod updating;
mod uploads;
mod vms;

pub(super) use self::{
    agents::AgentError,
    deleting::Force,
    deleting::{DeleteOrder, delete},
    diff::{DiffLine, ManifestVersion, Redaction, changes, document_changes},
    errand::{AfterErrand, ErrandOrder, RunWhen, errand_names, run_errand},
    error::ManifestError,
    spec::{DeployOptions, DiskRequest, Extent, SilentAgents, SkipDrain, UpdateAction, VmRequest},
    states::{ChangedGroups, StateChange},
    states::{Listed, VmStateOrder, in_seconds, retrieve_vm_state},
    update::{DeployOrder, deploy},
    update_spec::UpdateOverrides,
};
