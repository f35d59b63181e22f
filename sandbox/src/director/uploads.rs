//! Uploads: those of the settings, and later ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::{UploadedRelease, UploadedStemcell};
use crate::store::{Rows, Store, StoreError};

#[derive(Clone, Debug, Default)]
pub struct Uploads {
    pub releases: Vec<UploadedRelease>,
    pub stemcells: Vec<UploadedStemcell>,
}

/// The same, with room for more.
pub(super) struct UploadTable {
    current: RwLock<Arc<Uploads>>,
    later: Mutex<Later>,
}

/// Uploads that are stored with the state; the others are in the settings of each start.
struct Later {
    releases: Rows<NameAndVersion, UploadedRelease>,
    stemcells: Rows<NameAndVersion, UploadedStemcell>,
}

type NameAndVersion = (String, String);

impl UploadTable {
    /// The uploads of the settings, and those added before.
    pub(super) fn open(store: &Store, mut uploads: Uploads) -> Result<Self, StoreError> {
        let later = Later {
            releases: Rows::open(store, "uploaded_releases")?,
            stemcells: Rows::open(store, "uploaded_stemcells")?,
        };
        for release in later.releases.values() {
            uploads.put_release(release.clone());
        }
        for stemcell in later.stemcells.values() {
            uploads.put_stemcell(stemcell.clone());
        }
        Ok(Self {
            current: RwLock::new(Arc::new(uploads)),
            later: Mutex::new(later),
        })
    }

    /// A snapshot of the uploads. It does not change while a deployment is planned with it.
    pub(super) fn current(&self) -> Arc<Uploads> {
        let current = self.current.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add_release(&self, release: UploadedRelease) {
        let mut later = self.later();
        let key = (release.name.clone(), release.version.clone());
        later.releases.insert(key, release.clone());
        later.releases.save();
        self.change(|uploads| uploads.put_release(release));
    }

    pub(super) fn add_stemcell(&self, stemcell: UploadedStemcell) {
        let mut later = self.later();
        let key = (stemcell.name.clone(), stemcell.version.clone());
        later.stemcells.insert(key, stemcell.clone());
        later.stemcells.save();
        self.change(|uploads| uploads.put_stemcell(stemcell));
    }

    fn change(&self, change: impl FnOnce(&mut Uploads)) {
        let current = self.current.write();
        change(Arc::make_mut(
            &mut current.unwrap_or_else(PoisonError::into_inner),
        ));
    }

    fn later(&self) -> MutexGuard<'_, Later> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Uploads {
    fn put_release(&mut self, release: UploadedRelease) {
        let same =
            |one: &UploadedRelease| (&one.name, &one.version) == (&release.name, &release.version);
        self.releases.retain(|one| !same(one));
        self.releases.push(release);
    }

    fn put_stemcell(&mut self, stemcell: UploadedStemcell) {
        let same = |one: &UploadedStemcell| {
            (&one.name, &one.version) == (&stemcell.name, &stemcell.version)
        };
        self.stemcells.retain(|one| !same(one));
        self.stemcells.push(stemcell);
    }
}
