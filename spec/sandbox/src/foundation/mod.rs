//! A whole foundation: what it is configured with, how it comes up and goes down, and what clients are told of it.

mod bosh;
mod cf;
mod credhub;
mod description;
mod files;
mod identity;
mod seed;
mod settings;
mod up;
mod wipe;

pub use description::{
    ClientAccess, CloudControllerAccess, CredHubAccess, Description, DescriptionError,
    DirectorAccess, InstanceIdentityAccess, Place, UserAccess,
};
pub use files::FileError;
pub use settings::{FoundationSettings, SettingsError};
pub use up::{DESCRIPTION_FILE, Foundation, Persistence, StartError, UpOptions};
pub use wipe::{WipeError, wipe};
