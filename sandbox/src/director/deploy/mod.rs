//! What tasks do to deployments.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`manifest`], [`group_spec`], [`job_spec`], [`update_spec`], [`spec`] | reads a manifest into types |
//! | [`options`], [`states`] | what a call asks for beside the manifest |
//! | [`cloud`], [`networks`], [`addresses`] | what the cloud configs define, and what groups take of it |
//! | [`planning`], [`plan`], [`uploads`] | checks a manifest against what has been uploaded and configured |
//! | [`fault`] | what can be wrong with it |
//! | [`prepare`], [`placement`], [`target`] | settles which instances there will be and what becomes of each |
//! | [`variables`], [`links`], [`interpolation`], [`rendering`] | what templates see, and the files that come of it |
//! | [`update`], [`updating`], [`vms`], [`agents`] | the task that deploys: instance by instance |
//! | [`delete`], [`deleting`] | the task that deletes |
//! | [`errand`], [`selection`] | the task that runs an errand, and on which instances |
//! | [`vm_state`] | the task that asks the agents of VMs how they are |
//! | [`diff`] | what a manifest would change |

mod addresses;
mod agents;
mod cloud;
mod delete;
mod deleting;
mod diff;
mod errand;
mod error;
mod group_spec;
mod interpolation;
mod job_spec;
mod links;
mod manifest;
mod networks;
mod options;
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
mod variables;
mod vm_state;
mod vms;

pub(super) use self::{
    agents::AgentError,
    delete::{DeleteOrder, delete},
    deleting::Force,
    diff::{DiffLine, ManifestVersion, Redaction, changes, document_changes},
    errand::{AfterErrand, ErrandOrder, RunWhen, errand_names, run_errand},
    error::ManifestError,
    options::{
        DeployOptions, DiskRequest, Extent, SilentAgents, SkipDrain, UpdateAction, VmRequest,
    },
    states::{ChangedGroups, StateChange},
    update::{DeployOrder, deploy},
    update_spec::UpdateOverrides,
    vm_state::{Listed, VmStateOrder, in_seconds, retrieve_vm_state},
};
