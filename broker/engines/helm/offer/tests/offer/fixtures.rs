//! Packages and charts in a compact form.

use std::{fs, io::Write};

use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use odb_offer::{
    check::{self, Options},
    findings::Findings,
    helm::Helm,
    offer::Offer,
};

/// Names and contents.
pub(crate) type Files<'f> = &'f [(&'f str, &'f str)];

/// A chart whose only template shows its values.
pub(crate) const DEMO: Files<'_> = &[
    (
        "Chart.yaml",
        "apiVersion: v2\nname: demo\nversion: 1.0.0\ndescription: A demo\n",
    ),
    (
        "values.yaml",
        "replicaCount: 1\nmaster:\n  size: 1\n  image: {registry: docker.io, tag: a}\nsubnets: {}\nglobal: {imageRegistry: \"\"}\n",
    ),
    (
        "templates/values.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {values: {{ .Values | toJson | quote }}}\n",
    ),
];

/// The demo chart with other files, or files more.
pub(crate) fn demo_with(files: Files<'_>) -> Vec<(&str, &str)> {
    let kept = DEMO
        .iter()
        .filter(|(name, _)| files.iter().all(|(other, _)| other != name));
    kept.chain(files).copied().collect()
}

/// A gzipped tar with these files below a folder.
pub(crate) fn packed(folder: &str, files: Files<'_>) -> Vec<u8> {
    let entries = files
        .iter()
        .map(|(name, text)| (format!("{folder}/{name}"), text.as_bytes()));
    tgz(&entries
        .map(|(name, text)| entry(&name, tar::EntryType::Regular, text))
        .collect::<Vec<_>>())
}

pub(crate) type Entry = (tar::Header, Vec<u8>);

/// An entry whose name is written as it is.
pub(crate) fn entry(name: &str, kind: tar::EntryType, content: &[u8]) -> Entry {
    let mut header = tar::Header::new_gnu();
    let field = &mut header.as_old_mut().name;
    field[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    (header, content.to_vec())
}

pub(crate) fn tgz(entries: &[Entry]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (header, content) in entries {
        archive.append(header, content.as_slice()).unwrap();
    }
    gzipped(&archive.into_inner().unwrap())
}

pub(crate) fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// A folder with a package `offer`, and charts beside it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn of(package: Files<'_>, charts: &[(&str, Vec<u8>)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("offer/.keep", b"");
        for (name, text) in package {
            folder.write(&format!("offer/{name}"), text.as_bytes());
        }
        for (name, bytes) in charts {
            folder.write(name, bytes);
        }
        folder
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Reads and renders, as `odb offer check` does.
    pub(crate) fn check(&self, charts: &[&str], helm: Option<&Helm>) -> (Option<Offer>, Findings) {
        self.check_at("offer", charts, helm)
    }

    /// The same of a package elsewhere.
    pub(crate) fn check_at(
        &self,
        package: &str,
        charts: &[&str],
        helm: Option<&Helm>,
    ) -> (Option<Offer>, Findings) {
        let mut findings = Findings::default();
        let charts: Vec<_> = charts.iter().map(|name| self.0.path().join(name)).collect();
        let options = Options {
            helm: helm.cloned(),
            kube_version: Some("1.33.0".to_owned()),
            clusters: Some(vec!["prod".to_owned(), "test".to_owned()]),
        };
        let offer = check::open(
            &self.0.path().join(package),
            &charts,
            &options,
            &mut findings,
        );
        if let Some(offer) = &offer
            && findings.errors() == 0
        {
            check::render_plans(offer, &options, &mut findings);
        }
        (offer, findings)
    }

    /// The findings as lines, without the folder.
    pub(crate) fn lines(&self, findings: &Findings) -> String {
        let folder = format!("{}/", self.0.path().display());
        let lines: Vec<String> = findings
            .lines()
            .map(|line| line.replace(&folder, ""))
            .collect();
        lines.join("\n")
    }
}
