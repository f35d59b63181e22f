//! The UAA clients of service instances: that we may administer them, where they are defined.

use odb_api_types::code::Code;
use odb_clients::uaa::{ClientAdministration, ClientRights, Token};
use odb_config::{ClientDefinition, CloudFoundry, Config};
use odb_core::finding::Finding;
use odb_engine_bosh::instance_clients::InstanceClients;

/// Whether the token allows what the definition needs. Without a definition nothing is needed.
pub(crate) fn check_rights(cf: &CloudFoundry, token: &Token) -> Option<Finding> {
    let definition = cf.client_definition.as_ref()?;
    match ClientRights::of(token) {
        ClientRights::All | ClientRights::Unknown => None,
        ClientRights::Lacking => Some(Finding::error(
            Code::ClientRights,
            "cf.uaa.authentication",
            format!(
                "the UAA at `{}` does not let us administer clients, which `cf.uaa.client_definition` needs",
                cf.uaa_url
            ),
            "give the client of `cf.uaa.authentication.client_credentials` `clients.admin`, or `clients.read` and `clients.write`",
        )),
        ClientRights::Limited => {
            warn_limits(definition);
            None
        }
    }
}

/// The clients of service instances.
pub(crate) fn of(config: &Config, administration: Option<ClientAdministration>) -> InstanceClients {
    let cf = config.cloud_foundry.as_ref();
    let definition = cf.and_then(|cf| cf.client_definition.clone());
    InstanceClients::new(administration, definition, config.offering.id.clone())
}

/// A client that may write clients but not administer them cannot grant what it does not have
/// (`spec/contracts/platform-apis.md` §1.5).
fn warn_limits(definition: &ClientDefinition) {
    if definition.needs_an_administrator() {
        tracing::warn!(
            code = %Code::ClientRights,
            "the client of `cf.uaa.authentication` has `clients.write` and not `clients.admin`, so that the UAA rejects authorities, \
             the grant `password` and scopes that it has not itself in `cf.uaa.client_definition`; give it `clients.admin`"
        );
    }
}
