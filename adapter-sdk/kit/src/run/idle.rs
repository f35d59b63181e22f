use anyhow::{anyhow, bail};
use odb_adapter_sdk::protocol::Subcommand;

use super::{Operation, RunArguments};

/// Rejects options that the subcommand does not use.
pub(super) fn refuse(arguments: &RunArguments) -> anyhow::Result<()> {
    let subcommand = arguments.subcommand;
    for (option, is_given, used_by) in options(arguments) {
        if is_given && arguments.document.is_some() {
            bail!("`{option}` has no effect with `--document`, which is the complete request");
        }
        if is_given && !used_by.contains(&subcommand) {
            bail!("`{option}` has no effect with `{subcommand}`");
        }
    }
    match without_previous_manifest(arguments) {
        Some(option) => Err(anyhow!(
            "`{option}` needs the manifest that is deployed: give it with `--previous-manifest`"
        )),
        None => Ok(()),
    }
}

/// Each option of the request, whether it is given, and the subcommands that use it.
fn options(given: &RunArguments) -> [(&'static str, bool, &'static [Subcommand]); 9] {
    use Subcommand::{CreateBinding, DashboardUrl, DeleteBinding, GenerateManifest};

    const MANIFESTS: &[Subcommand] = &[GenerateManifest];
    const BINDINGS: &[Subcommand] = &[CreateBinding, DeleteBinding];
    const PARAMETERS: &[Subcommand] = &[GenerateManifest, CreateBinding];
    const SECRETS: &[Subcommand] = &[GenerateManifest, CreateBinding, DeleteBinding];
    const DEPLOYED: &[Subcommand] = &[CreateBinding, DeleteBinding, DashboardUrl];
    let previous_manifest = given.previous_manifest.is_some();
    [
        ("--previous-plan", given.previous_plan.is_some(), MANIFESTS),
        ("--previous-manifest", previous_manifest, MANIFESTS),
        ("--operation", given.operation.is_some(), MANIFESTS),
        ("--uaa-client", given.uaa_client.is_some(), MANIFESTS),
        ("--parameters", given.parameters.is_some(), PARAMETERS),
        ("--secrets", given.secrets.is_some(), SECRETS),
        ("--manifest", given.manifest.is_some(), DEPLOYED),
        ("--bosh-vms", given.bosh_vms.is_some(), BINDINGS),
        ("--dns-addresses", given.dns_addresses.is_some(), BINDINGS),
    ]
}

/// The first option about a deployed state, if there is none.
fn without_previous_manifest(arguments: &RunArguments) -> Option<&'static str> {
    if arguments.subcommand != Subcommand::GenerateManifest
        || arguments.previous_manifest.is_some()
        || arguments.document.is_some()
    {
        return None;
    }
    match arguments.operation {
        Some(Operation::Update) => return Some("--operation update"),
        Some(Operation::Search) => return Some("--operation search"),
        Some(Operation::Upgrade) => return Some("--operation upgrade"),
        Some(Operation::Order) | None => {}
    }
    let idle = [
        ("--previous-plan", arguments.previous_plan.is_some()),
        ("--secrets", arguments.secrets.is_some()),
    ];
    idle.into_iter()
        .find_map(|(option, is_given)| is_given.then_some(option))
}
