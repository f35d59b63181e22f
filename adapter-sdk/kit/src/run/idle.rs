use odb_adapter_sdk::protocol::Subcommand;

use super::command::RunArguments;
use super::request::Operation;

/// Options that would be passed over.
#[derive(Debug, thiserror::Error)]
pub(super) enum IdleOption {
    #[error("`{option}` means nothing to `{subcommand}`")]
    OfAnotherSubcommand {
        option: &'static str,
        subcommand: Subcommand,
    },
    #[error("`{option}` has no effect with `--document`, which is the complete request")]
    BesideDocument { option: &'static str },
    #[error("`{option}` needs the manifest that is deployed: give it with `--previous-manifest`")]
    WithoutPreviousManifest { option: &'static str },
}

/// Rejects options that the subcommand does not use.
pub(super) fn refuse(arguments: &RunArguments) -> Result<(), IdleOption> {
    let subcommand = arguments.subcommand;
    for (option, is_given, used_by) in options(arguments) {
        if is_given && arguments.document.is_some() {
            return Err(IdleOption::BesideDocument { option });
        }
        if is_given && !used_by.contains(&subcommand) {
            return Err(IdleOption::OfAnotherSubcommand { option, subcommand });
        }
    }
    match without_previous_manifest(arguments) {
        Some(option) => Err(IdleOption::WithoutPreviousManifest { option }),
        None => Ok(()),
    }
}

/// Each option of the request, whether it is given, and the subcommands that use it.
fn options(arguments: &RunArguments) -> [(&'static str, bool, &'static [Subcommand]); 9] {
    use Subcommand::{CreateBinding, DashboardUrl, DeleteBinding, GenerateManifest};

    const OF_MANIFESTS: &[Subcommand] = &[GenerateManifest];
    const OF_BINDINGS: &[Subcommand] = &[CreateBinding, DeleteBinding];
    [
        (
            "--previous-plan",
            arguments.previous_plan.is_some(),
            OF_MANIFESTS,
        ),
        (
            "--previous-manifest",
            arguments.previous_manifest.is_some(),
            OF_MANIFESTS,
        ),
        ("--operation", arguments.operation.is_some(), OF_MANIFESTS),
        ("--uaa-client", arguments.uaa_client.is_some(), OF_MANIFESTS),
        (
            "--parameters",
            arguments.parameters.is_some(),
            &[GenerateManifest, CreateBinding],
        ),
        (
            "--secrets",
            arguments.secrets.is_some(),
            &[GenerateManifest, CreateBinding, DeleteBinding],
        ),
        (
            "--manifest",
            arguments.manifest.is_some(),
            &[CreateBinding, DeleteBinding, DashboardUrl],
        ),
        ("--bosh-vms", arguments.bosh_vms.is_some(), OF_BINDINGS),
        (
            "--dns-addresses",
            arguments.dns_addresses.is_some(),
            OF_BINDINGS,
        ),
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
