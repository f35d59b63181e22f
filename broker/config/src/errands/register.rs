//! The files of `register-broker` and `deregister-broker`.

use std::path::Path;

use odb_api_types::ids::OfferingId;
use secrecy::SecretString;

use super::{CloudFoundryAccess, LoadError, Loaded, load, shared};
use crate::{
    Address, address,
    keys::errands::{DEREGISTER_BROKER, REGISTER_BROKER},
    section::Section,
};

/// The configuration of `register-broker`.
#[derive(Debug)]
pub struct RegisterBroker {
    /// The broker's name in the Cloud Controller.
    pub broker_name: String,
    /// The Cloud Controller's user at the broker.
    pub broker_username: String,
    /// The same.
    pub broker_password: SecretString,
    /// Where the Cloud Controller reaches the broker.
    pub broker_url: Address,
    /// The Cloud Controller.
    pub cloud_foundry: CloudFoundryAccess,
    /// The offering in the broker's catalog.
    pub offering: OfferingId,
    /// The access to each plan, in the order of the file.
    pub plans: Vec<RegisteredPlan>,
}

/// The access to a plan.
#[derive(Debug)]
pub struct RegisteredPlan {
    /// The plan's name in the catalog.
    pub name: String,
    /// The access.
    pub access: PlanAccess,
}

/// The access to a plan (`cf_service_access`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanAccess {
    /// All organizations.
    Enable,
    /// No organization.
    Disable,
    /// The access stays as it is.
    Manual,
    /// These organizations, by their names; one at least.
    OrgRestricted(Vec<String>),
}

/// The configuration of `deregister-broker`.
#[derive(Debug)]
pub struct DeregisterBroker {
    /// The Cloud Controller.
    pub cloud_foundry: CloudFoundryAccess,
    /// The broker's name in the Cloud Controller, unless a flag gives it.
    pub broker_name: Option<String>,
}

impl RegisterBroker {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &REGISTER_BROKER, read)
    }
}

impl DeregisterBroker {
    /// Reads and checks a file.
    pub fn load(file: &Path) -> Result<Loaded<Self>, LoadError> {
        load(file, &DEREGISTER_BROKER, |root| {
            Some(Self {
                cloud_foundry: shared::required_cloud_foundry(root)?,
                broker_name: root.plain_text("broker_name"),
            })
        })
    }
}

pub(super) fn read(root: &Section<'_>) -> Option<RegisterBroker> {
    let broker_name = root.required_text("broker_name", "the broker's name in the platform");
    let broker_username = root.required_text(
        "broker_username",
        "the name that the platform gives the broker",
    );
    let broker_password = root.required_text(
        "broker_password",
        "the password that the platform gives the broker",
    );
    let broker_url = address::required(
        root,
        "broker_url",
        "the broker's address, such as `https://broker.example.com`",
    );
    let cloud_foundry = shared::required_cloud_foundry(root);
    let offering = root.required_text(
        "service_offering_id",
        "the offering's id in the broker's catalog",
    );
    let plans = root.each("plans", plan);
    Some(RegisterBroker {
        broker_name: broker_name?.value,
        broker_username: broker_username?.value,
        broker_password: broker_password?.value.into(),
        broker_url: broker_url?,
        cloud_foundry: cloud_foundry?,
        offering: offering?.value.into(),
        plans: plans?,
    })
}

fn plan(section: &Section<'_>) -> Option<RegisteredPlan> {
    let name = section.required_text("name", "the plan's name in the catalog");
    let access = access(section);
    section.warn_unknown_keys();
    Some(RegisteredPlan {
        name: name?.value,
        access: access?,
    })
}

/// The Go errand treats unknown values as `disable`, so a typo removes the plan's access.
fn access(section: &Section<'_>) -> Option<PlanAccess> {
    let organizations = organizations(section);
    let Some(access) = section.text("cf_service_access") else {
        if section.has_value("cf_service_access") {
            return None;
        }
        return section.refuse(
            "cf_service_access",
            (
                "is missing",
                "give `enable`, `disable`, `manual` or `org-restricted`",
            ),
        );
    };
    let is_unused = |access| {
        if !organizations.is_empty() {
            section.warn_here((
                format!(
                    "names organizations, which `{}` does not look at",
                    access_word(&access)
                ),
                "give `org-restricted`",
            ));
        }
        Some(access)
    };
    match access.value.to_ascii_lowercase().replace('_', "-").as_str() {
        "enable" => is_unused(PlanAccess::Enable),
        "disable" => is_unused(PlanAccess::Disable),
        "manual" => is_unused(PlanAccess::Manual),
        "org-restricted" if organizations.is_empty() => section.refuse(
            "service_access_org",
            (
                "is missing",
                "give the name of the organization that may use the plan",
            ),
        ),
        "org-restricted" => Some(PlanAccess::OrgRestricted(organizations)),
        other => {
            let text = (
                format!("is `{other}`"),
                "give `enable`, `disable`, `manual` or `org-restricted`",
            );
            section.refuse_value(&access, text)
        }
    }
}

/// The Go errand supports one organization for each plan; duplicates are removed.
fn organizations(section: &Section<'_>) -> Vec<String> {
    let mut organizations = Vec::new();
    let one = section.text("service_access_org");
    for found in one.into_iter().chain(section.texts("service_access_orgs")) {
        if !organizations.contains(&found.value) {
            organizations.push(found.value);
        }
    }
    organizations
}

fn access_word(access: &PlanAccess) -> &'static str {
    match access {
        PlanAccess::Enable => "enable",
        PlanAccess::Disable => "disable",
        PlanAccess::Manual => "manual",
        PlanAccess::OrgRestricted(_) => "org-restricted",
    }
}
