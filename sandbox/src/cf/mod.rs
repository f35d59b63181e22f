//! `odb-sandbox cf`: the commands of the cf command line that ordering a service needs, for users and scripts without
//! it.
//!
//! They send the requests of cf CLI v8 (`spec/contracts/platform-apis.md`, "Calls per command, in order"). They differ
//! where that helps a script: `--wait` prints every step that the broker reports, a name in use is an error, and an
//! HTTP error of `curl` is a failure.
//!
//! ```text
//! arguments    the command line as types
//! foundation   the address of the Cloud Controller, and the user
//! client       tokens, calls, lists, changes       exchange  one HTTP exchange: trust, limits, errors
//! wire         the answers of the Cloud Controller parameters, table   input and output
//! lookup       names to resources                  job       polls an operation to its end
//! broker_commands  catalog_commands  access_commands  place_commands         one command group each: for operators,
//! instance_commands  share_commands  binding_commands  key_commands  curl    and for users
//! registration registers the broker that the sandbox itself runs
//! screen       data to stdout, progress to stderr      error     errors with hints
//! ```

mod access_commands;
mod arguments;
mod available;
mod binding_commands;
mod broker_commands;
mod catalog_commands;
mod client;
mod curl;
mod error;
mod exchange;
mod foundation;
mod instance_commands;
mod job;
mod key_commands;
mod lookup;
mod parameters;
mod place_commands;
mod registration;
mod screen;
mod share_commands;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use std::process::ExitCode;

pub use arguments::CfArgs;
use arguments::CfCommand;
use client::Client;
use error::CfError;
use foundation::Foundation;
pub(crate) use registration::{Registration, RegistrationError, make_known};
use screen::Screen;

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
    let client = &mut Client::new(&foundation, args.identity).await?;
    match args.command {
        CfCommand::CreateServiceBroker(broker) => {
            broker_commands::create(client, screen, broker).await
        }
        CfCommand::UpdateServiceBroker(broker) => {
            broker_commands::update(client, screen, broker).await
        }
        CfCommand::ServiceBrokers => broker_commands::list(client, screen).await,
        CfCommand::DeleteServiceBroker(broker) => {
            broker_commands::delete(client, screen, broker).await
        }
        CfCommand::ServiceAccess => access_commands::list(client, screen).await,
        CfCommand::EnableServiceAccess(access) => {
            access_commands::enable(client, screen, access).await
        }
        CfCommand::DisableServiceAccess(access) => {
            access_commands::disable(client, screen, access).await
        }
        CfCommand::CreateOrg(order) => {
            place_commands::create_organization(client, screen, order).await
        }
        CfCommand::CreateSpace(order) => place_commands::create_space(client, screen, order).await,
        CfCommand::CreateApp(app) => place_commands::create_app(client, screen, app).await,
        CfCommand::Marketplace => catalog_commands::marketplace(client, screen).await,
        CfCommand::CreateService(order) => instance_commands::create(client, screen, order).await,
        CfCommand::Services => instance_commands::list(client, screen).await,
        CfCommand::Service(one) if one.guid => {
            instance_commands::show_guid(client, screen, &one.name).await
        }
        CfCommand::Service(one) => instance_commands::show(client, screen, &one.name).await,
        CfCommand::UpdateService(change) => instance_commands::update(client, screen, change).await,
        CfCommand::UpgradeService(upgrade) => {
            instance_commands::upgrade(client, screen, upgrade).await
        }
        CfCommand::ShareService(share) => share_commands::share(client, screen, share).await,
        CfCommand::UnshareService(share) => share_commands::unshare(client, screen, share).await,
        CfCommand::PurgeServiceInstance(instance) => {
            instance_commands::purge(client, screen, &instance.name).await
        }
        CfCommand::BindService(order) => binding_commands::bind(client, screen, order).await,
        CfCommand::UnbindService(order) => binding_commands::unbind(client, screen, order).await,
        CfCommand::DeleteService(deletion) => {
            instance_commands::delete(client, screen, deletion).await
        }
        CfCommand::CreateServiceKey(order) => key_commands::create(client, screen, order).await,
        CfCommand::ServiceKey(key) => key_commands::show(client, screen, key).await,
        CfCommand::DeleteServiceKey(deletion) => {
            key_commands::delete(client, screen, deletion).await
        }
        CfCommand::Curl(request) => curl::run(client, screen, &request.path).await,
    }
}
