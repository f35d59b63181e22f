//! All findings of a configuration, and the parts that are valid.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Adapter, Bosh, Broker, CloudFoundry, Config, CredHubAccess, Excerpt, Offering, RuntimeCredHub,
    ServiceInstancesApi, ServiceSoftware, TlsFiles, Ui,
    document::{Document, Location, location},
    excerpt::{self, Part},
    findings::{AlreadyReported, ConfigFinding, Message, Problems},
    keys::{FILES, KeyStatus, Keys},
    read,
    section::{Context, Found, Paths, Section, Variables, of_this_process},
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
    /// Every trust root in the file: the full name of its key, and one or more certificates in PEM form.
    pub certificates: Vec<(String, String)>,
    /// The name of the file.
    pub file: PathBuf,
    document: Option<Document>,
}

/// Reads a file of these keys, unless a finding reports why that is impossible. `sections` follows "it must be a map".
pub(super) fn read_map<T>(
    source: &str,
    (findings, paths, variables): (&Problems, Paths, Variables),
    (keys, sections): (&'static Keys, &str),
    read: impl FnOnce(&Section<'_>) -> T,
) -> (Option<T>, Option<Document>) {
    let document = match Document::parse(source) {
        Ok(document) => document,
        Err(error) => {
            let location = Location {
                line: error.line().unwrap_or_default(),
                column: error.column().unwrap_or_default(),
            };
            let wrong = format!("the file cannot be read as YAML: {}", error.message());
            findings.refuse::<()>(location, "", (wrong, "fix it from this place on"));
            return (None, None);
        }
    };
    let value = if let Some(kind) = document.is_no_map() {
        // Then every key is missing; one finding is enough.
        let right = format!("it must be a map{sections}");
        let location = location(&document.root);
        findings.refuse(location, "", (format!("the file is {kind}"), right))
    } else {
        let context = Context {
            document: &document,
            findings,
            paths,
            variables,
        };
        Some(read(&Section::root(context, keys)))
    };
    (value, Some(document))
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

    /// Checks the text of a configuration. `file` is its name in findings.
    pub fn of(file: &Path, source: &str, paths: Paths) -> Self {
        Self::with(file, source, paths, of_this_process)
    }

    pub(super) fn with(file: &Path, source: &str, paths: Paths, variables: Variables) -> Self {
        let findings = Problems::of(file);
        let keys = (&FILES.broker, " of sections such as `broker` and `bosh`");
        let (reading, document) = read_map(source, (&findings, paths, variables), keys, |root| {
            let (sections, tls) = read(root);
            let certificates = root.certificates().into_iter();
            let certificates = certificates.map(|Found { key, value, .. }| (key, value));
            (sections, tls, certificates.collect())
        });
        let (sections, tls, certificates) = reading.unwrap_or_default();
        let (errors, warnings) = findings.into_parts();
        Self {
            sections,
            tls,
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
        excerpt::scalars(document, &FILES.broker)
            .into_iter()
            .filter(|scalar| {
                let status = scalar.declared.map(|key| &key.status);
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
        excerpt::of(self.document.as_ref()?, &FILES.broker, finding)
    }

    /// A finding about the value of a key that is detected outside the file, with its location.
    pub fn finding(&self, key: &str, message: impl Into<Message>) -> ConfigFinding {
        let location = self.document.as_ref().map(|document| document.nearest(key));
        Problems::of(&self.file).finding(location.unwrap_or_default(), key, message.into())
    }
}

/// The value of a part of the file.
#[derive(Debug, Default)]
pub enum Reported<T> {
    /// All that is needed.
    Right(T),
    /// Nothing, without a finding.
    Nothing,
    /// It is invalid; the errors of the file have the reason.
    #[default]
    Wrong,
}

/// The sections of a configuration, right or wrong.
#[derive(Debug, Default)]
pub struct Sections {
    /// How the broker listens, stops and treats its requests.
    pub broker: Reported<Broker>,
    /// The Director.
    pub bosh: Reported<Bosh>,
    /// The Director's CredHub, where secure manifests are on.
    pub bosh_credhub: Reported<CredHubAccess>,
    /// The Cloud Controller.
    pub cloud_foundry: Reported<CloudFoundry>,
    /// The source of service instances without a Cloud Controller. An invalid one counts as absent.
    pub service_instances_api: Reported<ServiceInstancesApi>,
    /// The CredHub of applications.
    pub runtime_credhub: Reported<RuntimeCredHub>,
    /// The service adapter.
    pub adapter: Reported<Adapter>,
    /// The releases and stemcells that adapters build manifests from.
    pub software: Reported<ServiceSoftware>,
    /// The offering in the marketplace.
    pub offering: Reported<Arc<Offering>>,
    /// The page for operators.
    pub ui: Reported<Ui>,
}

impl<T> Reported<T> {
    /// The value, if it is valid.
    pub fn right(&self) -> Option<&T> {
        match self {
            Self::Right(reported) => Some(reported),
            Self::Nothing | Self::Wrong => None,
        }
    }

    /// A reference to the value.
    pub fn as_ref(&self) -> Reported<&T> {
        match self {
            Self::Right(reported) => Reported::Right(reported),
            Self::Nothing => Reported::Nothing,
            Self::Wrong => Reported::Wrong,
        }
    }

    /// A value that may be absent, but not invalid.
    fn optional(self) -> Result<Option<T>, AlreadyReported> {
        match self {
            Self::Right(reported) => Ok(Some(reported)),
            Self::Nothing => Ok(None),
            Self::Wrong => Err(AlreadyReported),
        }
    }

    fn required(self) -> Option<T> {
        self.optional().ok()?
    }
}

impl<T> From<Option<T>> for Reported<T> {
    fn from(read: Option<T>) -> Self {
        read.map_or(Self::Wrong, Self::Right)
    }
}

impl<T> From<Result<Option<T>, AlreadyReported>> for Reported<T> {
    fn from(read: Result<Option<T>, AlreadyReported>) -> Self {
        match read {
            Ok(Some(reported)) => Self::Right(reported),
            Ok(None) => Self::Nothing,
            Err(AlreadyReported) => Self::Wrong,
        }
    }
}

impl Sections {
    /// All of them together, unless one is wrong that is needed.
    pub fn complete(self) -> Option<Config> {
        Some(Config {
            broker: self.broker.required()?,
            bosh: self.bosh.required()?,
            bosh_credhub: self.bosh_credhub.optional().ok()?,
            cloud_foundry: self.cloud_foundry.optional().ok()?,
            service_instances_api: self.service_instances_api.optional().ok()?,
            runtime_credhub: self.runtime_credhub.optional().ok()?,
            adapter: self.adapter.required()?,
            software: self.software.required()?,
            offering: self.offering.required()?,
            ui: self.ui.optional().ok()?,
        })
    }
}
