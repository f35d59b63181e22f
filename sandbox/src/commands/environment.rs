//! `odb-sandbox env`: what shells and command lines need.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::{Args, ValueEnum};
use rustix::fs::{FileType, Mode, fstat};
use secrecy::ExposeSecret;

use crate::foundation::{DESCRIPTION_FILE, Description};

/// Prints what the command lines `bosh`, `credhub`, `cf` and `uaa` need, for `eval "$(odb-sandbox env)"`.
#[derive(Debug, Args)]
pub struct EnvArgs {
    /// The `foundation.json` that `odb-sandbox up` wrote.
    #[arg(
        long,
        env = "ODB_FOUNDATION",
        value_name = "FILE",
        default_value = "foundation.json"
    )]
    foundation: PathBuf,
    /// State folder with `foundation.json`.
    #[arg(long, value_name = "DIR", conflicts_with = "foundation")]
    state: Option<PathBuf>,
    /// Owner of the credentials.
    #[arg(long = "as", value_enum, value_name = "WHO", default_value_t)]
    who: Who,
    /// Print even into a file that other users of the machine can read.
    #[arg(long)]
    readable_by_others: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Who {
    /// Those who may do everything.
    #[default]
    Admin,
    /// The client of the broker's team, and the user who orders services.
    Developer,
}

impl EnvArgs {
    /// Does what the arguments say.
    pub fn run(self) -> anyhow::Result<()> {
        if !self.readable_by_others && others_can_read(&io::stdout())? {
            bail!(
                "the output contains secrets, and other users can read its file; \
                 `umask 077` makes files that they cannot, --readable-by-others prints anyway"
            );
        }
        let file = match self.state {
            Some(state) => state.join(DESCRIPTION_FILE),
            None => self.foundation,
        };
        let file = std::path::absolute(file)?;
        let description = Description::read(&file)?;
        let text = exports(&file, &description, self.who);
        match io::stdout().lock().write_all(text.as_bytes()) {
            // The reader closed the pipe because it has read enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Pipes and terminals are private; a file can be read later by others.
fn others_can_read(out: &io::Stdout) -> io::Result<bool> {
    let status = fstat(out)?;
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    let others = Mode::RGRP | Mode::ROTH;
    Ok(is_file && Mode::from_raw_mode(status.st_mode).intersects(others))
}

fn exports(file: &Path, description: &Description, who: Who) -> String {
    let (director, cloud_controller) = (&description.director, &description.cloud_controller);
    let (client, user) = match who {
        Who::Admin => (&director.admin_client, &cloud_controller.admin_user),
        Who::Developer => (&director.team_client, &cloud_controller.user),
    };
    // A Director with users of its own refuses clients. It knows no teams: each user may do everything.
    let (bosh_client, bosh_secret) = match director.local_users.first() {
        Some(user) => (&user.name, &user.password),
        None => (&client.id, &client.secret),
    };
    let authority = description.ca_certificate.to_string_lossy();
    let cf_home = file.with_file_name("cf-home");
    let (file, cf_home) = (file.to_string_lossy(), cf_home.to_string_lossy());
    let mut variables = vec![
        ("ODB_FOUNDATION", &*file),
        ("BOSH_ENVIRONMENT", &director.url),
        ("BOSH_CLIENT", bosh_client),
        ("BOSH_CLIENT_SECRET", bosh_secret.expose_secret()),
        ("BOSH_CA_CERT", &authority),
        ("CF_HOME", &*cf_home),
        ("CF_USERNAME", &user.name),
        ("CF_PASSWORD", user.password.expose_secret()),
    ];
    if let Some(credhub) = &director.credhub {
        let client = match who {
            Who::Admin => &credhub.admin_client,
            Who::Developer => &credhub.client,
        };
        variables.extend([
            ("CREDHUB_SERVER", &*credhub.url),
            ("CREDHUB_CLIENT", &client.id),
            ("CREDHUB_SECRET", client.secret.expose_secret()),
            ("CREDHUB_CA_CERT", &authority),
        ]);
    }
    let mut text = String::new();
    for (name, value) in variables {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "export {name}={}", quoted(value));
    }
    let _ = write!(
        text,
        "# cf and uaa have no variable for the authority: export SSL_CERT_FILE={authority}\n\
         # Then: cf api {} && cf auth && cf target -o {} -s {}\n\
         # UAA of the Director: uaa target {} && uaa get-client-credentials-token {} -s {}\n",
        cloud_controller.url,
        quoted(&cloud_controller.organization.name),
        quoted(&cloud_controller.space.name),
        director.uaa_url,
        quoted(&client.id),
        quoted(client.secret.expose_secret()),
        authority = quoted(&authority),
    );
    text
}

/// As a POSIX shell takes it for one word, whatever is in it.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_quoted_value_as_it_is() {
        assert_eq!(quoted("plain"), "'plain'");
        assert_eq!(quoted("it's $HOME `x`"), r"'it'\''s $HOME `x`'");
    }
}
