//! All findings of a configuration, and the parts that are valid.

use std::path::{Path, PathBuf};

use super::{
    Excerpt, Reading, Sections, TlsFiles,
    document::{Document, Location, location},
    excerpt,
    findings::{ConfigFinding, Message, Problems},
    keys::{self, KeyStatus, Kind},
    read,
    scalars::{self, Part},
    section::{Context, Found, Paths, Section},
};

/// The content of a configuration, valid or not.
#[derive(Debug)]
pub struct Inspection {
    /// The sections of the configuration. The complete configuration is valid only without errors.
    pub sections: Sections,
    /// Certificate and key of the broker, even if other parts are invalid.
    pub tls: Option<TlsFiles>,
    /// Everything that is wrong, in the order of the checks.
    pub errors: Vec<ConfigFinding>,
    /// The warnings.
    pub warnings: Vec<ConfigFinding>,
    /// Every trust root in the file.
    pub certificates: Vec<CertificateText>,
    file: PathBuf,
    document: Option<Document>,
}

/// A key whose values are certificates in PEM form.
#[derive(Debug)]
pub struct CertificateText {
    /// The full name of the key.
    pub key: String,
    /// The certificates.
    pub pem: String,
}

/// Parses a file, or notes why that is not possible.
pub(super) fn parse(source: &str, findings: &Problems) -> Option<Document> {
    match Document::parse(source) {
        Ok(document) => Some(document),
        Err(error) => {
            let location = Location {
                line: error.line().unwrap_or_default(),
                column: error.column().unwrap_or_default(),
            };
            let text = (
                format!("the file cannot be read as YAML: {}", error.message()),
                "fix it from this place on",
            );
            findings.refuse(location, "", text)
        }
    }
}

impl Inspection {
    /// There was nothing to look at.
    pub fn unreadable(file: &Path, message: impl Into<Message>) -> Self {
        Self {
            sections: Sections::default(),
            tls: None,
            errors: vec![ConfigFinding::of_file(file, message)],
            warnings: Vec::new(),
            certificates: Vec::new(),
            file: file.to_owned(),
            document: None,
        }
    }

    /// The name of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Checks the text of a configuration. `file` is its name in findings.
    pub fn of(file: &Path, source: &str, paths: Paths) -> Self {
        let findings = Problems::of(file);
        let document = parse(source, &findings);
        let (mut reading, mut certificates) = (Reading::default(), Vec::new());
        if let Some(document) = &document {
            let context = Context {
                document,
                findings: &findings,
                paths,
            };
            if let Some(kind) = document.is_no_map() {
                // Then every key is missing; one finding is enough.
                let location = location(&document.root);
                let text = (
                    format!("the file is {kind}"),
                    "it must be a map of sections such as `broker` and `bosh`",
                );
                findings.refuse::<()>(location, "", text);
            } else {
                let root = Section::root(context, &keys::ROOT);
                reading = read(&root);
                certificates = root
                    .texts_below(|key| matches!(key.kind, Kind::Certificates))
                    .into_iter()
                    .map(|Found { key, value, .. }| CertificateText { key, pem: value })
                    .collect();
            }
        }
        let (errors, warnings) = findings.into_parts();
        Self {
            sections: reading.sections,
            tls: reading.tls,
            errors,
            warnings,
            certificates,
            file: file.to_owned(),
            document,
        }
    }

    /// The texts of the file that the broker itself reads: full names of keys, and values. Values for adapters or
    /// platforms are not among them.
    pub fn texts(&self) -> Vec<(String, String)> {
        let Some(document) = &self.document else {
            return Vec::new();
        };
        scalars::all(document, &keys::ROOT)
            .into_iter()
            .filter(|scalar| {
                let status = scalar.declared.map(|key| key.status);
                status.is_some_and(|status| !matches!(status, KeyStatus::Deprecated(_)))
            })
            .filter_map(|scalar| match scalar.part {
                Part::Value(node) => Some((scalar.key, document.spelling(node)?)),
                Part::Name(_) => None,
            })
            .collect()
    }

    /// The line of a finding, without secrets.
    pub fn excerpt(&self, finding: &ConfigFinding) -> Option<Excerpt> {
        excerpt::of(self.document.as_ref()?, &keys::ROOT, finding)
    }

    /// A finding about the value of a key that is detected outside the file, with its location.
    pub fn finding(&self, key: &str, message: impl Into<Message>) -> ConfigFinding {
        let location = self.document.as_ref().map(|document| document.nearest(key));
        Problems::of(&self.file).finding(location.unwrap_or_default(), key, message.into())
    }
}
