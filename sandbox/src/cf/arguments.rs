//! The command line as types.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::value::RawValue;
use url::Url;

use super::error::CfError;

/// Orders, binds and deletes services of a running sandbox, as the cf command line does.
#[derive(Debug, Args)]
pub struct CfArgs {
    /// The `foundation.json` that `odb-sandbox up` wrote.
    #[arg(
        long,
        global = true,
        env = "ODB_FOUNDATION",
        value_name = "FILE",
        default_value = "foundation.json"
    )]
    pub(super) foundation: PathBuf,

    /// User of the requests.
    #[arg(long = "as", global = true, value_enum, value_name = "USER", default_value_t = Identity::Developer)]
    pub(super) identity: Identity,

    #[command(subcommand)]
    pub(super) command: CfCommand,
}

/// The two users of the foundation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Identity {
    /// Orders services in the foundation's space and sees public plans.
    Developer,
    /// Registers brokers and decides who sees their plans.
    Admin,
}

#[derive(Debug, Subcommand)]
pub(super) enum CfCommand {
    /// Register a service broker; its password is read from standard input or a file.
    CreateServiceBroker(CreateServiceBroker),
    /// Read the catalog of a service broker again, from another address if given.
    UpdateServiceBroker(CreateServiceBroker),
    /// Remove a service broker that has no service instances.
    DeleteServiceBroker(DeleteServiceBroker),
    /// List the service brokers.
    ServiceBrokers,
    /// List which organizations see which plan.
    ServiceAccess,
    /// Show plans of an offering to every organization, or to one.
    EnableServiceAccess(ServiceAccess),
    /// Hide plans of an offering from every organization, or from one.
    DisableServiceAccess(ServiceAccess),
    /// Create an organization.
    CreateOrg(CreateOrg),
    /// Create a space in which its user may work.
    CreateSpace(CreateSpace),
    /// Create an app to bind to, which never runs.
    CreateApp(NamedApp),
    /// List the plans that users can order.
    Marketplace,
    /// Order a service instance.
    CreateService(CreateService),
    /// List the service instances of the space.
    Services,
    /// Show one service instance.
    Service(ShowService),
    /// Change parameters or plan of a service instance.
    UpdateService(UpdateService),
    /// Upgrade a service instance to the current version of its plan.
    UpgradeService(WholeInstance),
    /// Share a service instance with another space.
    ShareService(ShareService),
    /// Stop sharing a service instance with another space.
    UnshareService(ShareService),
    /// Delete a service instance.
    DeleteService(WholeInstance),
    /// Remove a service instance without a request to its broker.
    PurgeServiceInstance(NamedInstance),
    /// Bind an app to a service instance.
    BindService(BindService),
    /// Remove the binding of an app to a service instance.
    UnbindService(UnbindService),
    /// Create credentials for a service instance.
    CreateServiceKey(CreateServiceKey),
    /// Print the credentials of a service key.
    ServiceKey(ShowServiceKey),
    /// Delete a service key.
    DeleteServiceKey(DeleteServiceKey),
    /// Print the Cloud Controller's answer to a GET request.
    Curl(Curl),
}

#[derive(Debug, Args)]
pub(super) struct CreateServiceBroker {
    /// The broker's name in the foundation.
    pub(super) name: String,
    /// The user name that the broker expects.
    pub(super) username: String,
    /// Where the broker listens.
    pub(super) url: Url,
    /// Holds the password that the broker expects; without it, standard input does.
    #[arg(long, value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) polling: Polling,
}

#[derive(Debug, Args)]
pub(super) struct DeleteServiceBroker {
    /// The broker's name in the foundation.
    pub(super) name: String,
    #[command(flatten)]
    pub(super) polling: Polling,
}

#[derive(Debug, Args)]
pub(super) struct ServiceAccess {
    /// The offering's name in the marketplace.
    pub(super) offering: String,
    /// Only this plan of it.
    #[arg(short = 'p', value_name = "PLAN")]
    pub(super) plan: Option<String>,
    /// Only for this organization.
    #[arg(short = 'o', value_name = "ORG")]
    pub(super) organization: Option<String>,
    /// The broker of the offering, where several have one of that name.
    #[arg(short = 'b', value_name = "BROKER")]
    pub(super) broker: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct CreateOrg {
    /// The name of the new organization
    pub(super) name: String,
}

#[derive(Debug, Args)]
pub(super) struct CreateSpace {
    /// The name of the new space
    pub(super) name: String,
    /// The organization that it is to belong to.
    #[arg(short = 'o', value_name = "ORG")]
    pub(super) organization: String,
}

#[derive(Debug, Args)]
pub(super) struct NamedApp {
    /// The app's name.
    pub(super) name: String,
}

#[derive(Debug, Args)]
pub(super) struct CreateService {
    /// The offering's name in the marketplace.
    pub(super) offering: String,
    /// The plan's name.
    pub(super) plan: String,
    /// The name of the new service instance
    pub(super) name: String,
    /// Parameters for the broker: a JSON object, or a file that holds one.
    #[arg(short = 'c', value_name = "JSON")]
    pub(super) parameters: Option<String>,
    /// Its tags, separated by commas.
    #[arg(short = 't', value_name = "TAGS", value_delimiter = ',')]
    pub(super) tags: Option<Vec<String>>,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

#[derive(Debug, Args)]
pub(super) struct NamedInstance {
    /// The service instance's name.
    pub(super) name: String,
}

#[derive(Debug, Args)]
pub(super) struct ShowService {
    /// The service instance's name.
    pub(super) name: String,
    /// Print its guid and nothing else.
    #[arg(long)]
    pub(super) guid: bool,
}

#[derive(Debug, Args)]
#[group(id = "change", required = true, multiple = true, args = ["parameters", "plan", "tags"])]
pub(super) struct UpdateService {
    /// The service instance's name.
    pub(super) name: String,
    /// Parameters for the broker: a JSON object, or a file that holds one.
    #[arg(short = 'c', value_name = "JSON")]
    pub(super) parameters: Option<String>,
    /// The plan to change to.
    #[arg(short = 'p', value_name = "PLAN")]
    pub(super) plan: Option<String>,
    /// The tags that it is to have, separated by commas.
    #[arg(short = 't', value_name = "TAGS", value_delimiter = ',')]
    pub(super) tags: Option<Vec<String>>,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

#[derive(Debug, Args)]
pub(super) struct ShareService {
    /// The service instance's name.
    pub(super) name: String,
    /// The other space.
    #[arg(short = 's', value_name = "SPACE")]
    pub(super) space: String,
}

#[derive(Debug, Args)]
pub(super) struct BindService {
    /// The app's name.
    pub(super) app: String,
    /// The service instance's name.
    pub(super) instance: String,
    /// Parameters for the broker: a JSON object, or a file that holds one.
    #[arg(short = 'c', value_name = "JSON")]
    pub(super) parameters: Option<String>,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

#[derive(Debug, Args)]
pub(super) struct UnbindService {
    /// The app's name.
    pub(super) app: String,
    /// The service instance's name.
    pub(super) instance: String,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

#[derive(Debug, Args)]
pub(super) struct WholeInstance {
    /// The service instance's name.
    pub(super) name: String,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

#[derive(Debug, Args)]
pub(super) struct CreateServiceKey {
    /// The service instance's name.
    pub(super) instance: String,
    /// The name of the new key
    pub(super) key: String,
    /// Parameters for the broker: a JSON object, or a file that holds one.
    #[arg(short = 'c', value_name = "JSON")]
    pub(super) parameters: Option<String>,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

#[derive(Debug, Args)]
pub(super) struct ShowServiceKey {
    /// The service instance's name.
    pub(super) instance: String,
    /// The key's name.
    pub(super) key: String,
    /// Print one JSON object on one line, for programs.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct DeleteServiceKey {
    /// The service instance's name.
    pub(super) instance: String,
    /// The key's name.
    pub(super) key: String,
    #[command(flatten)]
    pub(super) waiting: Waiting,
}

#[derive(Debug, Args)]
pub(super) struct Curl {
    /// Path and query, such as `/v3/service_instances?names=cache`.
    pub(super) path: String,
}

/// Whether a command stays until its operation has ended.
#[derive(Debug, Args)]
pub(super) struct Waiting {
    /// Wait until the operation ends, and print its steps.
    #[arg(long)]
    pub(super) wait: bool,
    #[command(flatten)]
    pub(super) polling: Polling,
}

/// How long a command follows an operation.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Polling {
    /// Stop waiting after this many seconds; the operation continues
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(super) timeout: Duration,
}

fn seconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse::<std::num::NonZeroU32>()
        .map(|seconds| Duration::from_secs(u64::from(seconds.get())))
}

/// Reads the argument of `-c`: a JSON object, or the name of a file that holds one. It is passed on letter by letter.
pub(super) async fn parameters(argument: Option<String>) -> Result<Option<Box<RawValue>>, CfError> {
    let Some(argument) = argument else {
        return Ok(None);
    };
    let text = if argument.trim_start().starts_with('{') {
        argument
    } else {
        let path = PathBuf::from(argument);
        tokio::fs::read_to_string(&path)
            .await
            .map_err(|source| CfError::ReadParameters { path, source })?
    };
    object(&text)
        .map(Some)
        .map_err(|source| CfError::Parameters { source })
}

fn object(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)?;
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::object;

    #[test]
    fn parameters_pass_letter_by_letter() {
        let text = r#"{"maxclients": 1e2, "big": 12345678901234567890123}"#;
        assert_eq!(object(text).unwrap().get(), text);
    }

    #[test]
    fn only_an_object_is_taken_as_parameters() {
        for text in ["[]", "1", "{", "{} {}", ""] {
            assert!(object(text).is_err(), "{text}");
        }
    }
}
