use std::fmt;

use odb_adapter_sdk::protocol::{ManifestText, Subcommand};
use odb_adapter_sdk::yaml;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use super::answer::{self, Explanation, Form, Response, objection};
use super::masking::Masking;
use super::request::{Request, deployable};
use crate::check::difference::manifest_differences;
use crate::process::{End, Ended};

#[derive(Serialize)]
pub(super) struct Report {
    subcommand: &'static str,
    /// How the process ended.
    end: String,
    exit_code: Option<i32>,
    milliseconds: u128,
    /// Whether there is an answer that a broker takes.
    pub(super) is_an_answer: bool,
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
    pub(super) deployable: Option<String>,
}

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

#[derive(Serialize)]
struct ShownDifference {
    /// The locations that a broker compares when it checks for pending changes.
    locations: Vec<String>,
    /// The two in normal form (keys sorted), line by line.
    lines: String,
}

impl Report {
    pub(super) fn new(request: &Request, ended: &Ended, mut masking: Masking) -> Self {
        masking.learn(request.secrets.iter().map(String::as_str));
        let understood = ended
            .is_success()
            .then(|| Response::of(request.subcommand, request.form, ended));
        if let Some(Ok(Response::Manifest { generated, .. })) = &understood {
            let secrets = generated.secrets.iter().flatten();
            secrets.for_each(|(_, secret)| masking.learn_all_of(secret));
        }
        let words_for_user = words_for_user(ended);
        let (explanation, is_an_answer) = match &understood {
            None => {
                let explanation =
                    answer::failed(request.subcommand, ended.end, words_for_user.is_some());
                (explanation, false)
            }
            Some(understood) => explained(request, understood.as_ref()),
        };
        let answer = understood.and_then(Result::ok);
        Self {
            subcommand: request.subcommand.name(),
            end: ended.end.to_string(),
            exit_code: match ended.end {
                End::Exited(code) => Some(code.code()),
                End::Signalled(_) | End::OutOfTime | End::TooMuchOutput => None,
            },
            milliseconds: ended.duration.as_millis(),
            is_an_answer,
            explanation,
            warnings: warnings(request, ended),
            difference: difference(request, answer.as_ref(), &mut masking),
            deployable: answer.as_ref().and_then(|answer| deployed(request, answer)),
            answer: answer.map(|answer| shown(request.subcommand, answer, &mut masking)),
            for_user: words_for_user.map(|text| masking.text(&text)),
            stderr: masking.text(&ended.stderr_text()),
        }
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
                "none that counts: the check for pending changes would find nothing"
            );
        }
        for location in &self.locations {
            writeln!(f, "{location}")?;
        }
        writeln!(
            f,
            "the check for pending changes would reject updates by users until an operator upgrades the instance"
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
    request: &Request,
    understood: Result<&Response, &anyhow::Error>,
) -> (Explanation, bool) {
    let why = match understood {
        Err(error) => Some(format!("{error:#}")),
        Ok(Response::Manifest { document, .. }) => {
            let deployment = request.deployment.as_ref();
            deployment
                .and_then(|deployment| objection(document, deployment))
                .map(|objection| format!("it refuses the manifest, {objection}"))
        }
        Ok(Response::Document(_) | Response::Nothing) => None,
    };
    match why {
        Some(why) => (answer::not_understood(&why), false),
        None => (answer::answered(request.subcommand), true),
    }
}

/// What stdout says to the user; that of a stopped adapter says nothing.
fn words_for_user(ended: &Ended) -> Option<String> {
    let is_a_rejection = match ended.end {
        End::Exited(_) | End::Signalled(_) => !ended.is_success(),
        End::OutOfTime | End::TooMuchOutput => false,
    };
    let text = ended.stdout_text();
    (is_a_rejection && !text.trim().is_empty()).then_some(text)
}

fn warnings(request: &Request, ended: &Ended) -> Vec<String> {
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
    if request.form == Form::Arguments {
        warnings.push(
            "this form has no secrets, configs, labels, DNS addresses or UAA client".to_owned(),
        );
    }
    warnings
}

fn shown(subcommand: Subcommand, answer: Response, masking: &mut Masking) -> Shown {
    match answer {
        Response::Manifest {
            generated,
            document,
        } => {
            let configs = generated.configs.map(|configs| {
                let configs = configs.into_iter().map(|(kind, text)| {
                    let config = yaml::from_str(&text).unwrap_or(Value::String(text));
                    (kind, masking.document(&config))
                });
                configs.collect()
            });
            Shown::Manifest(Box::new(ShownManifest {
                manifest: masking.document(&document),
                secrets: generated
                    .secrets
                    .map(|secrets| masking.shape(&Value::Object(secrets))),
                configs,
                labels: masking.document(&Value::Object(generated.labels)),
            }))
        }
        Response::Document(document) => Shown::Document(match subcommand {
            Subcommand::CreateBinding => masking.binding(&document),
            Subcommand::GeneratePlanSchemas => masking.public_document(&document),
            _ => masking.document(&document),
        }),
        Response::Nothing => Shown::Nothing(()),
    }
}

fn difference(
    request: &Request,
    answer: Option<&Response>,
    masking: &mut Masking,
) -> Option<ShownDifference> {
    let Some(Response::Manifest { document, .. }) = answer else {
        return None;
    };
    let previous = request.previous_manifest.as_ref().map(ManifestText::as_str);
    let previous: Value = yaml::from_str(previous?).ok()?;
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

fn deployed(request: &Request, answer: &Response) -> Option<String> {
    let Response::Manifest { generated, .. } = answer else {
        return None;
    };
    let secrets = generated.secrets.clone().unwrap_or_default();
    let deployment = request.deployment.as_deref().unwrap_or_default();
    let (manifest, _) = deployable(generated.manifest.as_str(), &secrets, deployment);
    Some(manifest.into_string())
}
