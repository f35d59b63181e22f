//! What tasks do to deployments.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`manifest`], [`spec`] | reads a manifest into types |
//! | [`plan`] | checks it against what has been uploaded and configured |
//! | [`prepare`] | settles which instances there will be, and resolves links |
//! | [`links`], [`interpolation`], [`rendering`] | what templates see, and the files that come of it |
//! | [`update`] | the task that deploys |
//! | [`instances`] | creates the VM of an instance and updates it |
//! | [`delete`] | the task that deletes |
//! | [`errand`], [`selection`] | the task that runs an errand, and on which instances |

mod delete;
mod errand;
mod instances;
mod interpolation;
mod links;
mod manifest;
mod plan;
mod prepare;
mod rendering;
mod selection;
mod spec;
mod update;

pub(super) use self::{
    delete::{DeleteOrder, delete},
    errand::{AfterErrand, ErrandOrder, RunWhen, errand_names, run_errand},
    instances::Force,
    update::{DeployOrder, deploy},
};
