//! A whole foundation: what it is configured with, how it comes up and goes down, and what clients are told of it.

mod bosh;
mod cf;
mod description;
mod files;
mod seed;
mod settings;
mod up;

pub use description::{ClientAccess, Description, Place, UserAccess};
pub use files::FileError;
pub use settings::{FoundationSettings, SettingsError};
pub use up::{Foundation, StartError, UpOptions};
