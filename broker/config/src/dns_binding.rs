//! The lists `plans[].binding_with_dns`: which DNS addresses bindings of a plan need.

use odb_clients::director::{AddressFilter, InstanceHealth};

use super::{
    adapter::AdapterForm,
    section::{Section, distinct},
};

/// A DNS address that bindings of a plan need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsBinding {
    /// The name of the address for the adapter.
    pub name: String,
    /// The name of the link in the manifest. It has to be shared.
    pub link_provider: String,
    /// The instance group whose job provides the link.
    pub instance_group: String,
    /// The criteria for the group's instances.
    pub filter: AddressFilter,
}

/// Reads the list of a plan.
pub(super) fn read(plan: &Section<'_>) -> Option<Vec<DnsBinding>> {
    let bindings = plan.each("binding_with_dns", binding);
    let sections = plan.sections("binding_with_dns");
    let names = distinct(&sections, "name", "adapters know each address by its name");
    names.and(bindings)
}

fn binding(section: &Section<'_>) -> Option<DnsBinding> {
    let name = section.required_text("name", "what the adapter shall know the address by");
    let link_provider =
        section.required_text("link_provider", "the name of a shared link of the manifest");
    let instance_group = section.required_text(
        "instance_group",
        "the instance group that provides the link",
    );
    let filter = filter(&section.section("properties"));
    section.warn_unknown_keys();
    Some(DnsBinding {
        name: name?.value,
        link_provider: link_provider?.value,
        instance_group: instance_group?.value,
        filter: filter?,
    })
}

fn filter(section: &Section<'_>) -> Option<AddressFilter> {
    let azs = section.plain_texts("azs");
    let status = section.text("status");
    section.warn_unknown_keys();
    let mut health = None;
    if let Some(found) = status {
        let mut all = InstanceHealth::ALL.into_iter();
        health = all.find(|health| health.as_str() == found.value);
        if health.is_none() {
            let known = InstanceHealth::ALL.map(|health| format!("`{}`", health.as_str()));
            let text = (
                format!("is `{}`", found.value),
                format!("give one of {}", known.join(", ")),
            );
            return section.refuse_value(&found, text);
        }
    }
    Some(AddressFilter { azs, health })
}

/// Arguments cannot contain DNS addresses (`spec/contracts/adapter-protocol.md` §1.2).
pub(super) fn refuse_in_arguments(catalog: &Section<'_>, form: AdapterForm) {
    if form == AdapterForm::Stdin {
        return;
    }
    for plan in catalog.sections("plans") {
        if !plan.sections("binding_with_dns").is_empty() {
            plan.refuse::<()>(
                "binding_with_dns",
                ("needs `broker.use_stdin`, which is false: adapters get no DNS addresses in arguments", "set it to `true`"),
            );
        }
    }
}
