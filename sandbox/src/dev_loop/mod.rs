//! A service author's dev loop: a broker beside the foundation, with the author's adapter and `broker.yml`, started again
//! whenever one of them changes (`docs/authors/sandbox.md`, "For authors").
//!
//! | module | what it does |
//! | --- | --- |
//! | `options` | the command line's part of it |
//! | `adapter`, `executables` | what the author's adapter is, and where the project's other executables are |
//! | `composition`, `supplies` | makes the `broker.yml` that the broker reads, of the author's and the sandbox's own values |
//! | `errands` | what the operator's errands are told of it |
//! | `demands` | what that file demands of the foundation |
//! | `inspection` | what the broker itself says of it |
//! | `broker`, `tied` | the broker's process, which ends with the sandbox |
//! | `gate` | the door to it, at which requests wait while it is started again |
//! | `log`, `adapter_words`, `screen` | what it says, what its adapter says, and what the author sees |
//! | `watching` | when something changes |
//! | `restarts` | how often a broker is started again that ends by itself |
//! | `service` | the broker in service: it runs behind its gate, and the Cloud Controller knows it |
//! | `session` | all of it over time |
//! | `folder` | what is kept in the state folder |

mod adapter;
mod adapter_words;
mod broker;
mod composition;
mod demands;
mod errands;
mod executables;
mod folder;
mod gate;
mod inspection;
mod log;
mod options;
mod restarts;
mod screen;
mod service;
mod session;
mod supplies;
mod tied;
mod watching;

use std::{
    io,
    net::{AddrParseError, SocketAddr},
    path::PathBuf,
};

pub(crate) use self::folder::NAME as FOLDER;
pub use self::{
    options::{DevLoopArgs, DevLoopOptions, OptionsError},
    session::DevLoop,
    tied::{TiedArgs, TiedError},
};
use crate::foundation::FileError;

/// A dev loop cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum DevLoopError {
    /// The folder for the broker's files cannot be made.
    #[error("could not make the folder `{}`", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file in it cannot be written.
    #[error("could not write to the state folder")]
    File(#[source] FileError),
    /// The broker's log cannot be written.
    #[error("could not open the broker's log")]
    Log(#[source] io::Error),
    /// The foundation leaves no address free for it.
    #[error("the foundation has no address for the broker")]
    Address(#[source] AddrParseError),
    /// Nobody could reach the broker.
    #[error("could not listen at `{address}`, where the broker is to be")]
    Gate {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Nobody would tell that something has changed.
    #[error("could not watch the author's files")]
    Watch(#[source] notify::Error),
}
