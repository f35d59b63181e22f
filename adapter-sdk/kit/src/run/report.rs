use std::fmt;

use odb_adapter_sdk::protocol::{GeneratedManifest, ManifestText, Subcommand};
use odb_adapter_sdk::yaml;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use super::adapter_request::AdapterRequest;
use super::answer::{Answer, Form, NoAnswer, objection};
use super::deployed::Deployed;
use super::explanation::{self, Explanation, UserText};
use super::masking::Masking;
use crate::check::difference::manifest_differences;
use crate::process::{End, Ended};

/// The result of a request.
#[derive(Serialize)]
pub(super) struct Report {
    subcommand: &'static str,
    /// How the process ended.
    end: String,
    exit_code: Option<i32>,
    milliseconds: u128,
    is_an_answer: bool,
    /// The reaction of a broker, and the view of its user.
    explanation: Explanation,
    /// Warnings about the call itself.
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<ShownDifference>,
    /// The words for the user, where there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    for_user: Option<String>,
    stderr: String,
    /// The manifest as it would be deployed, secrets and all.
    #[serde(skip)]
    deployable: Option<String>,
}

/// An answer as it may be shown.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown {
    Manifest(Box<ShownManifest>),
    Document(Value),
    Nothing(()),
}

/// A manifest, with the other members of the answer.
#[derive(Serialize)]
struct ShownManifest {
    manifest: Value,
    secrets: Option<Value>,
    configs: Option<Value>,
    labels: Value,
}

/// Where a manifest differs from the previous one.
#[derive(Serialize)]
struct ShownDifference {
    /// The locations that a broker compares when it checks for pending changes.
    locations: Vec<String>,
    /// The two in normal form (keys sorted), line by line.
    lines: String,
}

impl Report {
    pub(super) fn new(
        adapter_request: &AdapterRequest,
        ended: &Ended,
        mut masking: Masking,
    ) -> Self {
        masking.learn(adapter_request.secrets());
        let understood = ended
            .is_success()
            .then(|| Answer::of(adapter_request.subcommand(), adapter_request.form(), ended));
        if let Some(Ok(Answer::Manifest { generated, .. })) = &understood {
            for secret in generated.secrets.iter().flatten() {
                masking.learn_all_of(secret.1);
            }
        }
        let (explanation, is_an_answer) = explained(adapter_request, ended, understood.as_ref());
        let answer = understood.and_then(Result::ok);
        let failed_text = Some(ended.stdout_text()).filter(|_| has_words_for_user(ended));
        Self {
            subcommand: adapter_request.subcommand().name(),
            end: ended.end.to_string(),
            exit_code: exit_code(ended.end),
            milliseconds: ended.duration.as_millis(),
            is_an_answer,
            explanation,
            warnings: warnings(adapter_request, ended),
            difference: difference(adapter_request, answer.as_ref(), &mut masking),
            deployable: deployable(adapter_request, answer.as_ref()),
            answer: answer.map(|answer| shown(adapter_request.subcommand(), answer, &mut masking)),
            for_user: failed_text
                .filter(|text| !text.is_empty())
                .map(|text| masking.text(&text)),
            stderr: masking.text(&ended.stderr_text()),
        }
    }

    /// Whether there is an answer that a broker takes.
    pub(super) fn is_an_answer(&self) -> bool {
        self.is_an_answer
    }

    /// The manifest as it would be deployed, if there is one.
    pub(super) fn deployable(&self) -> Option<&str> {
        self.deployable.as_deref()
    }

    /// The adapter's message to the operator, marked as the adapter's.
    pub(super) fn stderr(&self) -> String {
        let lines = self.stderr.lines();
        lines.flat_map(|line| ["stderr | ", line, "\n"]).collect()
    }

    pub(super) fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a report has texts for keys and is written to memory") + "\n"
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.answer {
            Some(Shown::Manifest(shown)) => write!(f, "{shown}")?,
            Some(Shown::Document(document)) => section(f, "answer", document)?,
            Some(Shown::Nothing(())) | None => {}
        }
        if let Some(difference) = &self.difference {
            write!(f, "{difference}")?;
        }
        if let Some(text) = &self.for_user {
            writeln!(f, "== for the user ==\n{}", text.trim_end())?;
        }
        writeln!(
            f,
            "== {} ==\nthe adapter {} after {} ms",
            self.subcommand, self.end, self.milliseconds
        )?;
        for warning in &self.warnings {
            writeln!(f, "{warning}")?;
        }
        writeln!(f, "the broker {}", self.explanation.broker)?;
        writeln!(f, "the user gets {}", self.explanation.user)
    }
}

impl fmt::Display for ShownManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        section(f, "manifest", &self.manifest)?;
        let parts = [
            ("secrets", self.secrets.as_ref()),
            ("configs", self.configs.as_ref()),
            ("labels", Some(&self.labels)),
        ];
        for (heading, part) in parts {
            if let Some(part) =
                part.filter(|part| part.as_object().is_some_and(|part| !part.is_empty()))
            {
                section(f, heading, part)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for ShownDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "== difference to the previous manifest ==")?;
        f.write_str(&self.lines)?;
        if self.locations.is_empty() {
            return writeln!(
                f,
                "none that counts: a search for pending changes would find nothing"
            );
        }
        for location in &self.locations {
            writeln!(f, "{location}")?;
        }
        writeln!(
            f,
            "in a search for pending changes these would refuse the update"
        )
    }
}

fn section(f: &mut fmt::Formatter<'_>, heading: &str, document: &Value) -> fmt::Result {
    writeln!(f, "== {heading} ==\n{}", as_yaml(document).trim_end())
}

fn as_yaml(document: &Value) -> String {
    yaml::to_string(document).unwrap_or_else(|_| document.to_string())
}

fn explained(
    adapter_request: &AdapterRequest,
    ended: &Ended,
    understood: Option<&Result<Answer, NoAnswer>>,
) -> (Explanation, bool) {
    let subcommand = adapter_request.subcommand();
    match understood {
        None => {
            let text = if has_words_for_user(ended) {
                UserText::Some
            } else {
                UserText::None
            };
            (explanation::failed(subcommand, ended.end, text), false)
        }
        Some(Err(error)) => (explanation::not_understood(&chain(error)), false),
        Some(Ok(Answer::Manifest { document, .. })) => {
            let objection = adapter_request
                .deployment()
                .and_then(|deployment| objection(document, deployment));
            match objection {
                Some(objection) => {
                    let why = format!("it refuses the manifest, {objection}");
                    (explanation::not_understood(&why), false)
                }
                None => (explanation::answered(subcommand), true),
            }
        }
        Some(Ok(Answer::Document(_) | Answer::Nothing)) => {
            (explanation::answered(subcommand), true)
        }
    }
}

/// Whether stdout is for the user; that of a stopped adapter is not.
fn has_words_for_user(ended: &Ended) -> bool {
    let is_a_rejection = match ended.end {
        End::Exited(_) | End::Signalled(_) => !ended.is_success(),
        End::OutOfTime | End::TooMuchOutput => false,
    };
    is_a_rejection && !ended.stdout_text().trim().is_empty()
}

fn warnings(adapter_request: &AdapterRequest, ended: &Ended) -> Vec<String> {
    let mut warnings = Vec::new();
    if ended.left_behind > 0 {
        warnings.push(format!(
            "it left {} processes behind, which were ended with it",
            ended.left_behind
        ));
    }
    if ended.left_input_unread {
        warnings.push("it did not read its stdin to the end".to_owned());
    }
    if adapter_request.form() == Form::Arguments {
        warnings.push(
            "this form has no secrets, configs, labels, DNS addresses or UAA client".to_owned(),
        );
    }
    warnings
}

fn shown(subcommand: Subcommand, answer: Answer, masking: &mut Masking) -> Shown {
    match answer {
        Answer::Manifest {
            generated,
            document,
        } => {
            let GeneratedManifest {
                secrets,
                configs,
                labels,
                ..
            } = *generated;
            let configs = configs.map(|configs| {
                let configs = configs.into_iter().map(|(kind, text)| {
                    let config = yaml::from_str(&text).unwrap_or(Value::String(text));
                    (kind, masking.document(&config))
                });
                configs.collect()
            });
            Shown::Manifest(Box::new(ShownManifest {
                manifest: masking.document(&document),
                secrets: secrets.map(|secrets| masking.shape(&Value::Object(secrets))),
                configs,
                labels: masking.document(&Value::Object(labels)),
            }))
        }
        Answer::Document(document) => Shown::Document(match subcommand {
            Subcommand::CreateBinding => masking.binding(&document),
            Subcommand::GeneratePlanSchemas => masking.public_document(&document),
            _ => masking.document(&document),
        }),
        Answer::Nothing => Shown::Nothing(()),
    }
}

fn difference(
    adapter_request: &AdapterRequest,
    answer: Option<&Answer>,
    masking: &mut Masking,
) -> Option<ShownDifference> {
    let Some(Answer::Manifest { document, .. }) = answer else {
        return None;
    };
    let previous = adapter_request
        .previous_manifest()
        .map(ManifestText::as_str)?;
    let previous: Value = yaml::from_str(previous).ok()?;
    let (before, after) = (
        normal_form(masking.document(&previous)),
        normal_form(masking.document(document)),
    );
    let lines = TextDiff::from_lines(&before, &after)
        .unified_diff()
        .header("previous", "new")
        .to_string();
    Some(ShownDifference {
        locations: manifest_differences(&previous, document)
            .iter()
            .map(ToString::to_string)
            .collect(),
        lines,
    })
}

/// The order of keys says nothing.
fn normal_form(mut document: Value) -> String {
    document.sort_all_objects();
    as_yaml(&document)
}

fn deployable(adapter_request: &AdapterRequest, answer: Option<&Answer>) -> Option<String> {
    let Some(Answer::Manifest { generated, .. }) = answer else {
        return None;
    };
    let deployment = adapter_request.deployment().unwrap_or_default();
    Some(Deployed::of(generated, deployment).manifest.into_string())
}

fn exit_code(end: End) -> Option<i32> {
    match end {
        End::Exited(code) => Some(code.code()),
        End::Signalled(_) | End::OutOfTime | End::TooMuchOutput => None,
    }
}

/// An error and its causes, joined by colons.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
