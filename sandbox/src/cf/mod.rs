//! `odb-sandbox cf`: the commands of the cf command line that ordering a service needs, for users and scripts without
//! it.
//!
//! They send the requests of cf CLI v8 (`spec/contracts/platform-apis.md`, "Calls per command, in order"). They differ
//! where that helps a script: `--wait` prints every step that the broker reports, a name in use is an error, and an
//! HTTP error of `curl` is a failure.
//!
//! | module | contents |
//! | --- | --- |
//! | `arguments`, `output` | the command line as types; data to stdout, progress to stderr |
//! | `client` | the Cloud Controller: trust, tokens, calls, lists, changes, errors |
//! | `lookup`, `job` | names to resources; an operation to its end |
//! | `brokers`, `places`, `instances`, `bindings` | one group of commands each |
//! | `registration` | registers the broker that the sandbox itself runs |
//! | `foundation`, `error` | address and users; errors with hints |

mod arguments;
mod bindings;
mod brokers;
mod client;
mod error;
mod foundation;
mod instances;
mod job;
mod lookup;
mod output;
mod places;
mod registration;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use serde_json::Value;

pub use arguments::CfArgs;
use arguments::CfCommand;
use client::Client;
use error::CfError;
use foundation::Foundation;
use output::Screen;
pub(crate) use registration::{Registration, RegistrationError, make_known};

/// What commands work with.
struct Cf<'a> {
    client: Client,
    screen: &'a mut Screen,
}

/// Runs one command. Its data goes to stdout, progress to stderr.
///
/// A command that fails has printed the reason when this returns; the exit code is then 1.
///
/// # Errors
///
/// Standard output cannot be written.
pub async fn run(args: CfArgs) -> anyhow::Result<ExitCode> {
    let mut screen = Screen::of_process();
    let ended = execute(args, &mut screen).await;
    report(ended, &mut screen)
}

fn report(ended: Result<(), CfError>, screen: &mut Screen) -> anyhow::Result<ExitCode> {
    match ended {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // The reader closed the pipe because it has read enough.
        Err(CfError::Print { source }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::SUCCESS)
        }
        Err(CfError::Print { source }) => {
            Err(anyhow::Error::new(source).context("could not write to standard output"))
        }
        Err(error) => {
            screen.report_error(&error, error.hint().as_deref());
            Ok(ExitCode::FAILURE)
        }
    }
}

async fn execute(args: CfArgs, screen: &mut Screen) -> Result<(), CfError> {
    let foundation = Foundation::read(&args.foundation).await?;
    let client = Client::new(&foundation, args.identity).await?;
    let cf = &mut Cf { client, screen };
    match args.command {
        CfCommand::CreateServiceBroker(broker) => brokers::create(cf, broker).await,
        CfCommand::UpdateServiceBroker(broker) => brokers::update(cf, broker).await,
        CfCommand::ServiceBrokers => brokers::list(cf).await,
        CfCommand::DeleteServiceBroker(broker) => brokers::delete(cf, broker).await,
        CfCommand::ServiceAccess => brokers::list_access(cf).await,
        CfCommand::EnableServiceAccess(access) => brokers::enable_access(cf, access).await,
        CfCommand::DisableServiceAccess(access) => brokers::disable_access(cf, access).await,
        CfCommand::CreateOrg(order) => places::create_organization(cf, &order.name).await,
        CfCommand::CreateSpace(order) => places::create_space(cf, order).await,
        CfCommand::CreateApp(app) => places::create_app(cf, &app.name).await,
        CfCommand::Marketplace => instances::marketplace(cf).await,
        CfCommand::CreateService(order) => instances::create(cf, order).await,
        CfCommand::Services => instances::list(cf).await,
        CfCommand::Service(one) => instances::show(cf, &one.name, one.guid).await,
        CfCommand::UpdateService(change) => instances::update(cf, change).await,
        CfCommand::UpgradeService(upgrade) => instances::upgrade(cf, upgrade).await,
        CfCommand::ShareService(share) => instances::share(cf, share).await,
        CfCommand::UnshareService(share) => instances::unshare(cf, share).await,
        CfCommand::PurgeServiceInstance(instance) => instances::purge(cf, &instance.name).await,
        CfCommand::BindService(order) => bindings::bind(cf, order).await,
        CfCommand::UnbindService(order) => bindings::unbind(cf, order).await,
        CfCommand::DeleteService(deletion) => instances::delete(cf, deletion).await,
        CfCommand::CreateServiceKey(order) => bindings::create_key(cf, order).await,
        CfCommand::ServiceKey(key) => bindings::show_key(cf, key).await,
        CfCommand::DeleteServiceKey(deletion) => bindings::delete_key(cf, deletion).await,
        CfCommand::Curl(request) => curl(cf, &request.path).await,
    }
}

/// Prints any path of the Cloud Controller.
async fn curl(cf: &mut Cf<'_>, path: &str) -> Result<(), CfError> {
    if !path.starts_with('/') {
        return Err(CfError::NotAPath(path.to_owned()));
    }
    let answer = cf.client.bytes(path).await?;
    cf.screen.print(&answer)
}

/// A text within a resource; empty where there is none.
fn text<'a>(resource: &'a Value, pointer: &str) -> &'a str {
    let found = resource.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn guid(resource: &Value) -> &str {
    text(resource, "/guid")
}
