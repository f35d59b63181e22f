//! A service author's dev loop: a broker beside the foundation, with the author's adapter and `broker.yml`, restarted
//! whenever one of them changes (`docs/authors/sandbox.md`, "For authors").
//!
//! | module | contents |
//! | --- | --- |
//! | `options` | its part of the command line |
//! | `adapter`, `folder` | the author's adapter, and the project's other executables; the files in the state folder |
//! | `composition`, `supplies` | composes the `broker.yml` of the broker from the author's and the sandbox's own values; the file for the operator's errands |
//! | `inspection` | what that file requires of the foundation; the broker's own check of it |
//! | `broker`, `tied` | the broker's process, which ends with the sandbox; limits how often a broker that ends by itself is restarted |
//! | `gate` | the listener in front of it, where requests wait during a restart |
//! | `log` | the broker's log, the adapter's stderr, and the author's screen |
//! | `watching` | watches for changes |
//! | `service` | the broker in service: behind its listener, registered at the Cloud Controller |
//! | `session` | the loop itself |

mod adapter;
mod broker;
mod composition;
mod folder;
mod gate;
mod inspection;
mod log;
mod options;
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
    #[error("could not make the folder `{}`", folder.display())]
    Folder {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not write to the state folder")]
    File(#[source] FileError),
    #[error("could not open the broker's log")]
    Log(#[source] io::Error),
    #[error("the foundation has no address for the broker")]
    Address(#[source] AddrParseError),
    #[error("could not listen at `{address}`, where the broker is to be")]
    Gate {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("could not watch the author's files")]
    Watch(#[source] notify::Error),
}
