//! The folder that defines an adapter.
//!
//! | file | holds |
//! | --- | --- |
//! | here | reading the complete folder |
//! | `description` | `adapter.yml` |
//! | `settings` | what operators override |
//! | `schemas` | `schemas/*.json`, and whether values of `adapter.yml` match them |
//! | `known` | the names that its templates may use |

mod description;
mod known;
mod schemas;
mod settings;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Map, Value};

pub(crate) use self::description::{
    Description, Encoding, Generation, KeptValue, ReleaseNeed, SecretDescription, Storage,
};
pub(crate) use self::schemas::Schemas;

use crate::near::NearNames;
use crate::template::{Engine, KnownNames, Template, TemplateKind};

pub(crate) const DESCRIPTION: &str = "adapter.yml";
pub(crate) const MANIFEST: &str = "manifest.yml.tera";
pub(crate) const BINDING: &str = "binding.json.tera";
pub(crate) const UNBINDING: &str = "unbinding.tera";
pub(crate) const DASHBOARD: &str = "dashboard.tera";

/// Types of BOSH configs, each with its template.
const CONFIGS: [(&str, &str); 3] = [
    ("cloud", "configs.cloud.yml.tera"),
    ("cpi", "configs.cpi.yml.tera"),
    ("runtime", "configs.runtime.yml.tera"),
];

/// A folder, read and checked.
pub(crate) struct Folder {
    pub(crate) description: Description,
    pub(crate) settings: Map<String, Value>,
    pub(crate) schemas: Schemas,
    pub(crate) engine: Engine,
}

/// Longest file that is read, in bytes.
const LONGEST_FILE: u64 = 1024 * 1024;

const DEEPEST: usize = 4;

impl Folder {
    /// Reads and checks a complete folder, so that an error is reported at every call. No error holds a value.
    pub(crate) fn load(folder: &Path) -> anyhow::Result<Self> {
        let description = Description::read(&read(&folder.join(DESCRIPTION))?)?;
        if let Some((first, second)) = description.equal_secret_names() {
            bail!(
                "`{DESCRIPTION}`: secrets `{first}` and `{second}` have one name for the broker; give one of them another `name`"
            );
        }
        let settings = settings::load(&description.settings, description.settings_file.as_deref())?;
        let schemas = Schemas::load(folder)?;
        schemas.check_values(&description)?;

        let manifests = known::in_manifests(&description, &settings, &schemas);
        let bindings = known::in_bindings(&settings, &schemas);
        let dashboards = known::in_dashboards(&settings, &schemas);
        let shared = known::anywhere([manifests.clone(), bindings.clone(), dashboards.clone()]);

        let mut templates = Vec::new();
        for (name, text) in files(folder)? {
            let known = match &*name {
                MANIFEST => &manifests,
                BINDING | UNBINDING => &bindings,
                DASHBOARD => &dashboards,
                name if CONFIGS.iter().any(|(_, config)| *config == name) => &manifests,
                _ => &shared,
            };
            templates.push(Template {
                name,
                text,
                known: known.clone(),
                kind: TemplateKind::Text,
            });
        }
        templates.extend(in_description(
            &description,
            &manifests,
            &known::in_locations(&settings),
        ));
        let engine = Engine::load(templates)?;
        ensure!(
            engine.has(MANIFEST),
            "`{}` has no `{MANIFEST}`",
            folder.display()
        );
        let rendered: Vec<&str> = [MANIFEST, BINDING, UNBINDING, DASHBOARD]
            .into_iter()
            .chain(CONFIGS.map(|(_, config)| config))
            .collect();
        let unused = engine.unincluded().find(|name| {
            let is_at_the_top = !name.contains('/') && !name.starts_with(DESCRIPTION);
            is_at_the_top && !rendered.contains(name)
        });
        if let Some(name) = unused {
            let near = NearNames::to(name, rendered);
            bail!("`{name}` is not rendered and not included; {near}");
        }
        Ok(Self {
            description,
            settings,
            schemas,
            engine,
        })
    }

    /// The types of configs that the folder has templates of, each with its template.
    pub(crate) fn configs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = CONFIGS.into_iter();
        all.filter(|(_, template)| self.engine.has(template))
    }
}

/// The name of the template under a key of `adapter.yml`.
pub(crate) fn item(key: &str) -> String {
    format!("{DESCRIPTION}, `{key}`")
}

/// The templates and expressions in `adapter.yml`.
fn in_description(
    description: &Description,
    known: &KnownNames,
    in_locations: &KnownNames,
) -> Vec<Template> {
    let mut templates = Vec::new();
    let mut add = |key: String, text: &String, known: &KnownNames, kind| {
        templates.push(Template {
            name: item(&key),
            text: text.clone(),
            known: known.clone(),
            kind,
        });
    };
    for (number, group) in description.plan.instance_groups.iter().enumerate() {
        let key = format!("plan.instance_groups[{number}]");
        add(key, group, known, TemplateKind::Text);
    }
    for (name, label) in &description.labels {
        if let Value::String(text) = label {
            add(format!("labels.{name}"), text, known, TemplateKind::Text);
        }
    }
    let values = description.values.iter();
    let values = values.map(|(name, value)| (format!("values.{name}"), &value.kept_at));
    let secrets = description.secrets.iter();
    let secrets = secrets.map(|(name, secret)| (format!("secrets.{name}"), &secret.kept_at));
    for (key, kept_at) in values.chain(secrets) {
        for (number, location) in kept_at.0.iter().enumerate() {
            let key = format!("{key}.kept_at[{number}]");
            add(key, location, in_locations, TemplateKind::Text);
        }
    }
    for (name, secret) in &description.secrets {
        for (member, expression) in [
            ("when", &secret.when),
            ("value", &secret.value),
            ("initial", &secret.initial),
            ("renew", &secret.renew),
        ] {
            if let Some(expression) = expression {
                let key = format!("secrets.{name}.{member}");
                add(key, expression, known, TemplateKind::Expression);
            }
        }
    }
    templates
}

/// The templates of a folder, by their path in it.
fn files(folder: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(unreadable(&folder))? {
            let entry = entry.with_context(unreadable(&folder))?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                // Files of editors and version control, possibly broken links.
                continue;
            }
            if path.is_dir() {
                if depth < DEEPEST {
                    folders.push((path, format!("{name}/"), depth + 1));
                }
            } else if path.extension().is_some_and(|end| end == "tera") {
                found.insert(name, read(&path)?);
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let length = fs::metadata(path).with_context(unreadable(path))?.len();
    ensure!(
        length <= LONGEST_FILE,
        "`{}` is longer than {LONGEST_FILE} bytes",
        path.display()
    );
    fs::read_to_string(path).with_context(unreadable(path))
}

fn unreadable(path: &Path) -> impl Fn() -> String {
    move || format!("could not read `{}`", path.display())
}
