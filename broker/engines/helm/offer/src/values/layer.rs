//! The layers that authors write: overrides and plan files. They are templates over the release and `.Values.odb`.

use base64::{Engine, prelude::BASE64_STANDARD};
use odb_api_types::finding::Location;
use serde_json::{Value, json};

use crate::{
    findings::Findings,
    helm::{Class, Helm, HelmError, Rendering},
    near,
    section::File,
};

use super::{Values, paths};

const CHART: &str = "apiVersion: v2\nname: layer\nversion: 1.0.0\n";

/// Helm's engine on the text of the layer; in base64, because it prints YAML.
const TEMPLATE: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: layer}, data: {layer: {{ tpl (.Files.Get \"layer\") . | b64enc | quote }}}}\n";

const RELEASE: &[&str] = &[
    "Name",
    "Namespace",
    "Service",
    "IsInstall",
    "IsUpgrade",
    "Revision",
];

/// Functions that read the clock.
const CLOCK: &[&str] = &["now", "ago"];

const UNSTABLE: &str =
    "take a fixed value, or let the chart generate it once and keep it in its own Secret";

/// What a layer is rendered for.
#[derive(Clone, Debug)]
pub struct Subject {
    pub instance_id: String,
    pub release: String,
    pub namespace: String,
    pub offer: String,
    pub plan: String,
    pub organization: String,
    pub space: String,
    pub instance_name: String,
    pub cluster: String,
}

impl Subject {
    /// What a template reads as `.Values.odb`.
    fn facts(&self) -> [(&'static str, &str); 7] {
        [
            ("instance_id", &self.instance_id),
            ("plan", &self.plan),
            ("offer", &self.offer),
            ("organization", &self.organization),
            ("space", &self.space),
            ("instance_name", &self.instance_name),
            ("cluster", &self.cluster),
        ]
    }
}

/// How layers are rendered.
#[derive(Clone, Copy, Debug)]
pub struct Renderer<'h> {
    /// None renders only what is no template.
    pub helm: Option<&'h Helm>,
    pub kube_version: Option<&'h str>,
}

/// A file of values before it is rendered.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Its name in findings.
    pub file: String,
    pub text: String,
}

/// The values of a layer, with the places of their keys.
#[derive(Debug)]
pub struct RenderedLayer {
    pub values: Values,
    file: File,
}

impl RenderedLayer {
    /// Where a key stands; in a rendered layer, where it stands after rendering.
    pub(crate) fn at(&self, path: &[&str]) -> Location {
        self.file.key_at(path)
    }
}

impl Layer {
    /// Whether it is a template; a layer that is none needs no helm.
    pub fn is_template(&self) -> bool {
        self.text.contains("{{")
    }

    /// The values of the layer; none after an error, or without helm.
    pub fn render(
        &self,
        renderer: Renderer<'_>,
        subject: &Subject,
        findings: &mut Findings,
    ) -> Option<RenderedLayer> {
        let text = self.render_text(renderer, subject, findings)?;
        self.read(&text, findings)
    }

    /// The same, twice: an error if the values differ.
    pub(crate) fn render_stably(
        &self,
        renderer: Renderer<'_>,
        subject: &Subject,
        findings: &mut Findings,
    ) -> Option<RenderedLayer> {
        let before = findings.errors();
        self.check_names(subject, findings);
        if findings.errors() > before {
            return None;
        }
        let text = self.render_text(renderer, subject, findings)?;
        let layer = self.read(&text, findings)?;
        if self.is_template() {
            let again = self.render_text(renderer, subject, findings)?;
            if again != text {
                let again = self.read(&again, findings)?;
                Self::report_unstable(&layer, &again, findings);
                return None;
            }
        }
        Some(layer)
    }

    fn render_text(
        &self,
        renderer: Renderer<'_>,
        subject: &Subject,
        findings: &mut Findings,
    ) -> Option<String> {
        if !self.is_template() {
            return Some(self.text.clone());
        }
        let helm = renderer.helm?;
        let facts: Values = subject
            .facts()
            .into_iter()
            .map(|(name, fact)| (name.to_owned(), fact.into()))
            .collect();
        let values = Values::from_iter([("odb".to_owned(), Value::Object(facts))]);
        let files = [
            ("Chart.yaml", CHART),
            ("templates/layer.yaml", TEMPLATE),
            ("layer", &self.text),
        ];
        let rendering = Rendering {
            release: &subject.release,
            namespace: &subject.namespace,
            kube_version: renderer.kube_version,
        };
        match helm.template_files(&files, &values, rendering) {
            Ok(output) => match decoded(&output) {
                Some(text) => Some(text),
                None => self.fail(
                    None,
                    None,
                    "helm printed something else than the layer",
                    findings,
                ),
            },
            Err(HelmError::Failed(failure)) => {
                // The layer is the template that Helm does not know by a name.
                let place = failure.place.filter(|place| place.file == "gotpl");
                let line = place.as_ref().and_then(|place| place.line);
                let column = place
                    .and_then(|place| place.column)
                    .map(|column| column + 1);
                let what = match failure.class {
                    Class::Refused => "the template refuses to be rendered",
                    _ => "the template cannot be rendered",
                };
                self.fail(line, column, &format!("{what}: {}", failure.text), findings)
            }
            Err(error) => self.fail(
                None,
                None,
                &format!("the template cannot be rendered: {error}"),
                findings,
            ),
        }
    }

    fn read(&self, text: &str, findings: &mut Findings) -> Option<RenderedLayer> {
        let file = File::parse(&self.file, text.as_bytes(), findings)?;
        file.map(findings)?;
        let values = match file.document.root.value.to_json() {
            Value::Object(values) => values,
            // An empty file.
            _ => Values::new(),
        };
        Some(RenderedLayer { values, file })
    }

    fn fail<T>(
        &self,
        line: Option<u64>,
        column: Option<u64>,
        found: &str,
        findings: &mut Findings,
    ) -> Option<T> {
        let at = Location {
            file: self.file.clone(),
            line,
            column,
        };
        findings.error(at, None, found, "");
        None
    }

    /// Helm renders a name that is not there as nothing, and no second rendering shows the clock.
    fn check_names(&self, subject: &Subject, findings: &mut Findings) {
        for (offset, action) in actions(&self.text) {
            let mut error = |at: usize, found: String, remedy: String| {
                findings.error(self.location(offset + at), None, found, remedy);
            };
            for (at, name) in names_after(action, ".Release.") {
                if !RELEASE.contains(&name) {
                    let remedy = near::remedy(name, RELEASE);
                    error(at, format!("`.Release.{name}` has no value"), remedy);
                }
            }
            for (at, name) in names_after(action, ".Values.") {
                if name != "odb" {
                    let found = format!(
                        "`.Values.{name}` has no value: a layer sees `.Values.odb` and no values of the chart"
                    );
                    error(at, found, String::new());
                }
            }
            let facts = subject.facts().map(|(name, _)| name);
            for (at, name) in names_after(action, ".Values.odb.") {
                if !facts.contains(&name) {
                    let remedy = near::remedy(name, &facts);
                    error(at, format!("`.Values.odb.{name}` has no value"), remedy);
                }
            }
            for (at, word) in words(action) {
                if CLOCK.contains(&word) {
                    let found = format!("`{word}` gives another value at each rendering");
                    error(at, found, UNSTABLE.to_owned());
                }
            }
        }
    }

    fn report_unstable(one: &RenderedLayer, other: &RenderedLayer, findings: &mut Findings) {
        let mut differing = Vec::new();
        paths::leaves(&one.values, &mut |path, leaf| {
            if paths::at(&other.values, path) != Some(leaf) {
                differing.push(path.join("."));
            }
        });
        let key = differing.first().cloned().unwrap_or_default();
        let path: Vec<&str> = key.split('.').collect();
        let found = format!(
            "`{key}` has another value at each rendering: every update of an instance would change it"
        );
        findings.error(one.at(&path), Some(&key), found, UNSTABLE);
    }

    fn location(&self, offset: usize) -> Location {
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Location {
            file: self.file.clone(),
            line: Some(before.matches('\n').count() as u64 + 1),
            column: Some(before[line_start..].chars().count() as u64 + 1),
        }
    }
}

/// The layer in what helm prints.
fn decoded(output: &str) -> Option<String> {
    let manifest = output.lines().find(|line| line.starts_with('{'))?;
    let manifest: Value = odb_adapter_sdk::yaml::from_str(manifest).ok()?;
    let layer = manifest
        .pointer("/data/layer")
        .unwrap_or(&json!(""))
        .as_str()?
        .to_owned();
    String::from_utf8(BASE64_STANDARD.decode(layer).ok()?).ok()
}

/// What stands between `{{` and `}}`, comments left out, with its offset.
fn actions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("{{").filter_map(|(at, _)| {
        let start = at + 2;
        let end = text[start..]
            .find("}}")
            .map_or(text.len(), |end| start + end);
        let action = &text[start..end];
        let is_comment = action
            .trim_start_matches('-')
            .trim_start()
            .starts_with("/*");
        (!is_comment).then_some((start, action))
    })
}

/// The words of an action that are no part of a path or text.
fn words(action: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_quoted = false;
    let mut start = None;
    let mut found = Vec::new();
    for (at, letter) in action.char_indices().chain([(action.len(), ' ')]) {
        if matches!(letter, '"' | '`') {
            is_quoted = !is_quoted;
        }
        let is_name = letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$');
        match (start, is_name && !is_quoted) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                found.push((from, &action[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    found.into_iter()
}

/// The names that follow a prefix such as `.Release.`, with the place of the whole.
fn names_after<'a>(action: &'a str, prefix: &str) -> Vec<(usize, &'a str)> {
    let whole = words(action).filter_map(|(at, word)| {
        let rest = word.trim_start_matches('$').strip_prefix(prefix)?;
        let name = rest.split('.').next().unwrap_or_default();
        Some((at, name))
    });
    whole.collect()
}
