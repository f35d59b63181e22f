//! The servers that are configured: where each is, and whose certificates are believed there.

use odb_clients::{
    director::Director,
    http::{Trust, Url, address},
};

use crate::{
    config::{
        Address, Bosh, CloudFoundry, CredHubAccess, RuntimeCredHub, Sections, ServiceInstancesApi,
        Verification,
    },
    finding::Finding,
    preflight::{
        certificates::trust,
        cloud_controller::connection as cloud_controller,
        credhub::of_applications as runtime_credhub,
        doctor::{FAULTY, chart::Chart, subject::Probe},
        instances::source as instance_source,
        server::reach::{AddressSource, Belief, Server, SystemStore},
    },
};

/// The Director.
pub(crate) fn server_of_director<'a>(bosh: &'a Bosh, chart: &mut Chart) -> Option<Server<'a>> {
    let key = "bosh.root_ca_cert";
    let root = bosh.root_ca_cert.as_deref();
    let belief = Belief {
        trust: believed(trust::of_the_director(key, root), chart)?,
        configured: root.map(|pem| (key, pem)).into_iter().collect(),
        key,
        system: SystemStore::Instead,
        verification: Verification::On,
    };
    let url = Director::server_at(bosh.url.as_written()).ok()?;
    Some(Server {
        url,
        source: AddressSource::Key("bosh.url"),
        belief,
    })
}

/// The Director's CredHub.
pub(crate) fn server_of_directors_credhub<'a>(
    sections: &Sections,
    access: &'a CredHubAccess,
    chart: &mut Chart,
) -> Option<Server<'a>> {
    let key = "bosh_credhub.root_ca_cert";
    let roots = access.ca_certs.as_deref();
    let bosh = sections.bosh.right();
    let is_the_directors = bosh.and_then(|bosh| bosh.root_ca_cert.as_deref()) == roots;
    let given_by = if is_the_directors {
        "bosh.root_ca_cert"
    } else {
        key
    };
    let belief = Belief {
        trust: believed(trust::of_a_credhub(key, roots), chart)?,
        configured: roots.map(|pem| (given_by, pem)).into_iter().collect(),
        key,
        system: SystemStore::Beside,
        verification: Verification::On,
    };
    server(&access.url, "bosh_credhub.url", belief)
}

/// The CredHub of applications.
pub(crate) fn server_of_runtime_credhub<'a>(
    section: &'a RuntimeCredHub,
    chart: &mut Chart,
) -> Option<Server<'a>> {
    let authorities = [
        ("credhub.ca_cert", &section.ca_cert),
        ("credhub.internal_uaa_ca_cert", &section.uaa_ca_cert),
    ];
    let configured = authorities
        .iter()
        .filter_map(|(key, pem)| Some((*key, pem.as_deref()?)));
    let belief = Belief {
        trust: believed(runtime_credhub::trust_of(section), chart)?,
        configured: configured.collect(),
        key: "credhub.ca_cert",
        system: SystemStore::Beside,
        verification: Verification::On,
    };
    server(&section.url, "credhub.api_url", belief)
}

/// The Cloud Controller, and its UAA.
pub(crate) fn servers_of_cloud_foundry<'a>(
    cf: &'a CloudFoundry,
    chart: &mut Chart,
    of_uaa: &mut Chart,
) -> Option<(Server<'a>, Server<'a>)> {
    let key = "cf.root_ca_cert";
    let root = cf.root_ca_cert.as_deref();
    let trust = believed(cloud_controller::trust_of(cf), chart);
    if trust.is_none() {
        // The same authorities count for both.
        of_uaa.not_asked(Probe::Answer, why_nobody_is_asked(chart));
    }
    let belief = Belief {
        trust: trust?,
        configured: root.map(|pem| (key, pem)).into_iter().collect(),
        key,
        system: SystemStore::Beside,
        verification: cf.verification,
    };
    Some((
        server(&cf.url, "cf.url", belief.clone())?,
        server(&cf.uaa_url, "cf.uaa.url", belief)?,
    ))
}

/// The service instances API.
pub(crate) fn server_of_instances_api<'a>(
    api: &'a ServiceInstancesApi,
    chart: &mut Chart,
) -> Option<Server<'a>> {
    let key = "service_instances_api.root_ca_cert";
    let root = api.root_ca_cert.as_deref();
    let belief = Belief {
        trust: believed(instance_source::trust_of(api), chart)?,
        configured: root.map(|pem| (key, pem)).into_iter().collect(),
        key,
        system: SystemStore::Beside,
        verification: api.verification,
    };
    server(&api.url, "service_instances_api.url", belief)
}

/// The address has been checked with the file; what cannot be called stands among its faults.
fn server<'a>(url: &Address, key: &'static str, belief: Belief<'a>) -> Option<Server<'a>> {
    Some(Server {
        url: address::server(url.as_written()).ok()?,
        source: AddressSource::Key(key),
        belief,
    })
}

/// Without authorities nobody can be believed, and nobody is asked. Those of the file stand among its faults already.
fn believed(trust: Result<Trust, Vec<Finding>>, chart: &mut Chart) -> Option<Trust> {
    match trust {
        Ok(trust) => Some(trust),
        Err(faults) => {
            for fault in faults {
                if fault.is_in_file {
                    if chart.rows.is_empty() {
                        chart.not_asked(Probe::Answer, FAULTY);
                    }
                    continue;
                }
                let finding = Finding {
                    tried: "to read the authorities that are believed".to_owned(),
                    found: fault.found_because(),
                    ..fault
                };
                chart.wrong(Probe::Certificate, None, finding);
            }
            None
        }
    }
}

fn why_nobody_is_asked(chart: &Chart) -> &'static str {
    if chart.findings().next().is_none() {
        FAULTY
    } else {
        "not asked, because there are no authorities that are believed"
    }
}

/// Whether two addresses lead to the same host and port.
pub(crate) fn are_the_same(one: &Url, other: &Url) -> bool {
    let end = |url: &Url| {
        let host = url.host_str().map(str::to_ascii_lowercase);
        (host, url.port_or_known_default())
    };
    end(one) == end(other)
}
