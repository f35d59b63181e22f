//! A complete foundation: its configuration, its start and stop, and its description for clients.

mod bosh;
mod built_in;
mod cf;
mod credhub;
mod description;
mod files;
mod identity;
mod seed;
mod settings;
mod up;

pub use built_in::BuiltInJobs;
pub use description::{
    ClientAccess, CloudControllerAccess, CredHubAccess, Description, DescriptionError,
    DirectorAccess, Location, UserAccess,
};
pub use files::FileError;
pub(crate) use files::write_for_owner;
pub use files::{WipeError, wipe};
pub(crate) use identity::random_secret;
pub use settings::{FoundationSettings, SettingsError};
pub use up::{DESCRIPTION_FILE, Foundation, Persistence, StartError, UpOptions};
