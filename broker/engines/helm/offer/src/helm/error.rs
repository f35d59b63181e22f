//! Helm's exit status is 0 or 1: the cause is in its messages, whose texts differ between the generations.

use std::io;

/// Why a call gave no result.
#[derive(Debug, thiserror::Error)]
pub enum HelmError {
    #[error("helm cannot be started: {0}")]
    Start(#[source] io::Error),
    #[error("helm's folder cannot be written: {0}")]
    Folder(#[source] io::Error),
    #[error("helm's exit status is unknown: {0}")]
    Follow(#[source] io::Error),
    #[error("helm was stopped: it used too much {0}")]
    TooMuch(&'static str),
    #[error("helm was stopped, because its caller ends")]
    Cancelled,
    #[error("{}", .0.text)]
    Failed(HelmFailure),
}

/// What helm said at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmFailure {
    pub class: Class,
    /// The reason without helm's own words around it.
    pub text: String,
    /// The template, as `CHART/templates/FILE`.
    pub place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    pub line: Option<u64>,
    pub column: Option<u64>,
}

/// Causes that a rendering can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A template does not parse or does not run.
    Template,
    /// A template refuses the values: `required` or `fail`.
    Refused,
    /// The output of a template is not YAML.
    Yaml,
    /// The values do not fit the chart's schema.
    Schema,
    /// The chart wants another Kubernetes.
    KubeVersion,
    /// Anything else, with helm's text.
    Failed,
}

impl HelmFailure {
    pub(super) fn of(stderr: &str) -> Self {
        let message = last_error(stderr);
        if message.contains("values don't meet the specifications of the schema") {
            return Self {
                class: Class::Schema,
                text: one_line(&message),
                place: None,
            };
        }
        if let Some((place, text)) = between(&message, "execution error at (", "): ") {
            return Self::at(Class::Refused, place, text);
        }
        if let Some((place, text)) = between(&message, "parse error at (", "): ") {
            return Self::at(Class::Template, place, text);
        }
        if let Some((place, text)) = between(&message, "YAML parse error on ", ": ") {
            return Self::at(Class::Yaml, place, text);
        }
        // The innermost template is named last.
        if let Some(at) = message.rfind("template: ") {
            let (place, text) = located(&message[at + "template: ".len()..]);
            return Self::at(Class::Template, place, text);
        }
        if message.contains("executing \"") {
            let (place, text) = located(&message);
            return Self::at(Class::Template, place, text);
        }
        let is_about_kubernetes = message.contains("chart requires kubeVersion");
        Self {
            class: if is_about_kubernetes {
                Class::KubeVersion
            } else {
                Class::Failed
            },
            text: one_line(&message),
            place: None,
        }
    }

    fn at(class: Class, place: &str, text: &str) -> Self {
        Self {
            class,
            text: reason(text),
            place: Place::read(place),
        }
    }
}

impl Place {
    /// Reads `FILE:LINE:COLUMN`, of which line and column may be absent.
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.trim().splitn(3, ':');
        Some(Self {
            file: parts.next().filter(|file| !file.is_empty())?.to_owned(),
            line: parts.next().and_then(|line| line.parse().ok()),
            column: parts.next().and_then(|column| column.parse().ok()),
        })
    }
}

/// The last message that begins with `Error: `, without the hints after it.
fn last_error(stderr: &str) -> String {
    let start = match stderr.rfind("\nError: ") {
        Some(at) => at + "\nError: ".len(),
        None => stderr.find("Error: ").map_or(0, |at| at + "Error: ".len()),
    };
    let message = &stderr[start..];
    let end = message.find("\n\nUse --debug").unwrap_or(message.len());
    message[..end].trim().to_owned()
}

fn between<'m>(message: &'m str, before: &str, after: &str) -> Option<(&'m str, &'m str)> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once(after)
}

/// `FILE:LINE:COLUMN` and the rest, which follows a colon or, in Helm 4, a line break.
fn located(message: &str) -> (&str, &str) {
    let end = message.find([' ', '\n']).unwrap_or(message.len());
    let (place, rest) = message.split_at(end);
    (place.trim_end_matches(':'), rest)
}

/// The reason in one line, without `executing "FILE" at <EXPRESSION>: `.
fn reason(text: &str) -> String {
    let text = one_line(text);
    let rest = text
        .strip_prefix("executing ")
        .and_then(|rest| rest.split_once(" at <"));
    match rest.and_then(|(_, rest)| rest.split_once(">: ")) {
        Some((expression, reason)) => format!("`{expression}`: {reason}"),
        None => text,
    }
}

fn one_line(text: &str) -> String {
    const LONGEST: usize = 600;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_both_generations_have_class_place_and_reason() {
        let cases = [
            (
                "Error: execution error at (demo/templates/cm.yaml:5:8): give a.c\n\nUse --debug flag to render out invalid YAML\n",
                Class::Refused,
                Some(("demo/templates/cm.yaml", Some(5), Some(8))),
                "give a.c",
            ),
            (
                "WARNING: x\nError: template: demo/templates/cm.yaml:1:13: executing \"demo/templates/cm.yaml\" at <.Values.x.y>: nil pointer evaluating interface {}.y\n",
                Class::Template,
                Some(("demo/templates/cm.yaml", Some(1), Some(13))),
                "`.Values.x.y`: nil pointer evaluating interface {}.y",
            ),
            (
                "Error: demo/templates/cm.yaml:1:13\n  executing \"demo/templates/cm.yaml\" at <.Values.x.y>:\n    nil pointer evaluating interface {}.y\n",
                Class::Template,
                Some(("demo/templates/cm.yaml", Some(1), Some(13))),
                "`.Values.x.y`: nil pointer evaluating interface {}.y",
            ),
            (
                "Error: parse error at (demo/templates/cm.yaml:1): function \"nope\" not defined\n",
                Class::Template,
                Some(("demo/templates/cm.yaml", Some(1), None)),
                "function \"nope\" not defined",
            ),
            (
                "Error: YAML parse error on demo/templates/cm.yaml: error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'\n",
                Class::Yaml,
                Some(("demo/templates/cm.yaml", None, None)),
                "error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'",
            ),
            (
                "Error: template: layer/templates/layer.yaml:1:76: executing \"layer/templates/layer.yaml\" at <tpl (.Files.Get \"layer\") .>: error calling tpl: cannot parse template \"c: {{ if }}\\n\": template: gotpl:3: missing value for if\n",
                Class::Template,
                Some(("gotpl", Some(3), None)),
                "missing value for if",
            ),
            (
                "level=WARN msg=\"x\"\nError: chart requires kubeVersion: >=9.0.0 which is incompatible with Kubernetes v1.31.0\n",
                Class::KubeVersion,
                None,
                "chart requires kubeVersion: >=9.0.0 which is incompatible with Kubernetes v1.31.0",
            ),
            ("", Class::Failed, None, ""),
        ];
        for (stderr, class, place, text) in cases {
            let failure = HelmFailure::of(stderr);
            assert_eq!(
                (failure.class, failure.text.as_str()),
                (class, text),
                "{stderr}"
            );
            let found = failure.place.as_ref();
            let found = found.map(|place| (place.file.as_str(), place.line, place.column));
            assert_eq!(found, place, "{stderr}");
        }
    }
}
