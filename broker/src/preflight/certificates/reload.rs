//! The broker's own certificate and key while it serves: re-read when their files change, and monitored until they expire.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path, sync::Arc, time::Duration};

use jiff::Timestamp;
use odb_api_types::code::Code;
use odb_config::TlsFiles;
use odb_core::{metrics::metrics, operations::Lifecycle};
use odb_redaction::Chain;
use rustls::ServerConfig;
use tokio::{
    sync::watch,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval},
};

use crate::{
    api::{CertificateError, OldClients, OwnCertificate, OwnTls, ServedTls, load_tls},
    preflight::certificates::{
        days_left,
        own::{CERTIFICATE_KEY, first_to_expire},
    },
};

const DAY: Duration = Duration::from_hours(24);

/// How often the files are compared.
const POLL: Duration = Duration::from_secs(2);

/// Serves a pair until the files have another one that is usable. Open connections keep theirs.
///
/// Shows when the chain in use ends among the metrics, and warns of it once a day while that is near.
pub(crate) fn watch(tls: OwnTls, files: TlsFiles, lifecycle: &Lifecycle) -> ServedTls {
    let (sender, served) = watch::channel(Arc::new(tls.config.clone()));
    report(&tls);
    metrics().certificate_reload_failed(CERTIFICATE_KEY, false);
    let pair = Pair {
        files: Arc::new(files),
        // The files may have changed since they were read.
        changes: Changes::default(),
        used: tls,
        sender,
    };
    let stopping = lifecycle.stopping();
    lifecycle.runtime().spawn(async move {
        stopping.run_until_cancelled(pair.monitored()).await;
    });
    served
}

/// Certificate and key in use.
struct Pair {
    files: Arc<TlsFiles>,
    changes: Changes,
    used: OwnTls,
    sender: watch::Sender<Arc<ServerConfig>>,
}

impl Pair {
    async fn monitored(mut self) {
        let (mut daily, mut polls) = (interval(DAY), interval(POLL));
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = daily.tick() => {
                    for certificate in &self.used.chain {
                        warn_of(certificate, Timestamp::now());
                    }
                }
                _ = polls.tick() => {
                    if let Some(read) = self.changed().await && self.replace(read) {
                        daily.reset_immediately();
                    }
                }
            }
        }
    }

    /// The pair in the files, if they have changed.
    async fn changed(&mut self) -> Option<Result<OwnTls, CertificateError>> {
        let files = self.files.clone();
        let found = spawn_blocking(move || Found::at(&files)).await.ok()?;
        if !self.changes.are_complete(found) {
            return None;
        }
        let files = self.files.clone();
        spawn_blocking(move || load_tls(&files)).await.ok()
    }

    /// Uses another pair for new connections, unless it is unusable or the same.
    fn replace(&mut self, read: Result<OwnTls, CertificateError>) -> bool {
        metrics().certificate_reload_failed(CERTIFICATE_KEY, read.is_err());
        let tls = match read {
            Ok(tls) => tls,
            Err(error) => {
                tracing::error!(
                    code = %Code::Certificate, error = %Chain(&error),
                    "the changed files of `broker.tls` cannot be used, the previous certificate stays in use: {}", error.remedy()
                );
                return false;
            }
        };
        if tls.certificates == self.used.certificates {
            return false;
        }
        self.sender.send_replace(Arc::new(tls.config.clone()));
        report(&tls);
        if let Some(own) = tls.chain.first() {
            tracing::info!(subject = %own.subject, expiry = %own.not_after, "new connections use the changed certificate");
        }
        self.used = tls;
        true
    }
}

/// What is new about a pair in use.
fn report(tls: &OwnTls) {
    if tls.old_clients == OldClients::LeftOut {
        tracing::warn!(
            code = %Code::CertificateKind,
            "the key in `broker.tls.key_file` is not an RSA key, which TLS 1.2 needs here: clients without TLS 1.3 cannot connect; \
             give an RSA certificate if there are such clients"
        );
    }
    if let Some(first) = first_to_expire(&tls.chain) {
        metrics().certificate_expires(CERTIFICATE_KEY, first.not_after.as_second());
    }
}

fn warn_of(certificate: &OwnCertificate, now: Timestamp) {
    let Some(days) = days_left(certificate.not_after, now) else {
        return;
    };
    let (subject, expiry) = (&certificate.subject, certificate.not_after);
    if days < 0 {
        tracing::error!(
            code = %Code::CertificateExpiry, %subject, %expiry,
            "a certificate in `{CERTIFICATE_KEY}` has expired: clients do not connect any more; renew it (BOSH: \
             `tls.certificate` of the job, then deploy)"
        );
    } else {
        tracing::warn!(
            code = %Code::CertificateExpiry, %subject, %expiry, days,
            "a certificate in `{CERTIFICATE_KEY}` expires soon; renew it (BOSH: `tls.certificate` of the job, then deploy)"
        );
    }
}

/// The files at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    certificate: Option<FileState>,
    key: Option<FileState>,
}

/// What differs after a file was written or replaced. Links are followed: Kubernetes replaces the link to a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Found {
    fn at(files: &TlsFiles) -> Self {
        let state = |file: &Path| -> io::Result<FileState> {
            let found = fs::metadata(file)?;
            Ok(FileState {
                device: found.dev(),
                inode: found.ino(),
                length: found.len(),
                modified: (found.mtime(), found.mtime_nsec()),
                changed: (found.ctime(), found.ctime_nsec()),
            })
        };
        Self {
            certificate: state(&files.certificate).ok(),
            key: state(&files.key).ok(),
        }
    }
}

/// Detects changes of the files. Certificate and key are written one after the other: a change is complete when nothing
/// has changed between two polls.
#[derive(Debug, Default)]
struct Changes {
    handled: Found,
    last: Found,
}

impl Changes {
    fn are_complete(&mut self, found: Found) -> bool {
        let is_complete = found == self.last && found != self.handled;
        if is_complete {
            self.handled = found.clone();
        }
        self.last = found;
        is_complete
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_change_is_complete_once_when_nothing_more_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let files = TlsFiles {
            certificate: file("broker.crt"),
            key: file("broker.key"),
        };
        fs::write(&files.certificate, "one").unwrap();
        fs::write(&files.key, "one").unwrap();
        let mut changes = Changes::default();
        let mut polled = || changes.are_complete(Found::at(&files));
        assert_eq!([polled(), polled(), polled()], [false, true, false]);

        fs::write(&files.certificate, "two, longer").unwrap();
        assert!(!polled());
        fs::write(&files.key, "two, longer").unwrap();
        assert_eq!([polled(), polled(), polled()], [false, true, false]);

        fs::remove_file(&files.key).unwrap();
        assert_eq!([polled(), polled(), polled()], [false, true, false]);
    }

    #[test]
    fn a_link_to_another_folder_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for version in ["1", "2"] {
            fs::create_dir(file(version)).unwrap();
            fs::write(file(version).join("broker.crt"), "same").unwrap();
            fs::write(file(version).join("broker.key"), "same").unwrap();
        }
        symlink("1", file("data")).unwrap();
        let files = TlsFiles {
            certificate: file("data/broker.crt"),
            key: file("data/broker.key"),
        };
        let before = Found::at(&files);
        assert_eq!(before, Found::at(&files));

        symlink("2", file("new")).unwrap();
        fs::rename(file("new"), file("data")).unwrap();

        let after = Found::at(&files);
        assert_ne!(after.certificate, before.certificate);
        assert_ne!(after.key, before.key);
    }
}
