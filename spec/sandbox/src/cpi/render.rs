//! Renders a job's templates and command line (Tera) for one instance.

use std::net::Ipv4Addr;

use aws_lc_rs::digest;
use serde::Serialize;
use serde_json::Value;
use tera::{Context, Kwargs, State, Tera};

use super::{Errand, Job, JobName, Process, Run};

/// What a job's templates can see.
#[derive(Serialize)]
pub struct JobContext {
    /// The declared properties, with defaults.
    pub properties: Value,
    /// The links that the job consumes, by name.
    pub links: Value,
    /// The VM's address.
    pub address: Ipv4Addr,
    /// Which instance this is.
    pub instance: InstanceFacts,
    /// The job's own folder.
    pub job: JobFolder,
    /// The folder for data: persistent when the instance group has a disk.
    pub data: String,
    /// The deployment's name.
    pub deployment: String,
}

/// Which instance a job runs on.
#[derive(Clone, Debug, Serialize)]
pub struct InstanceFacts {
    /// The instance group.
    pub group: String,
    /// The index within the group.
    pub index: u32,
    /// The instance's id.
    pub id: String,
}

/// Where a job's files are.
#[derive(Clone, Debug, Serialize)]
pub struct JobFolder {
    /// Absolute path.
    pub folder: String,
}

/// A job's files and command line, ready for one instance. Holds secrets, hence no `Debug`.
#[derive(Clone)]
pub struct RenderedJob {
    pub(super) name: JobName,
    pub(super) files: Vec<RenderedFile>,
    pub(super) command: Vec<String>,
    pub(super) ready_check: Option<Vec<String>>,
    pub(super) job: std::sync::Arc<Job>,
}

#[derive(Clone)]
pub(super) struct RenderedFile {
    pub(super) name: String,
    pub(super) content: String,
}

/// A template does not fit its context. The message names template and place, never values.
#[derive(Debug, thiserror::Error)]
#[error("Error filling in template '{template}'")]
pub struct RenderError {
    template: String,
    #[source]
    source: tera::Error,
}

/// Renders a job for one instance.
pub fn render(job: &std::sync::Arc<Job>, context: &JobContext) -> Result<RenderedJob, RenderError> {
    let context = Context::from_serialize(context).map_err(|source| RenderError {
        template: job.name.to_string(),
        source,
    })?;
    let files = job
        .templates
        .iter()
        .map(|template| {
            Ok(RenderedFile {
                name: template.to.clone(),
                content: filled_in(&template.to, &template.text, &context)?,
            })
        })
        .collect::<Result<_, _>>()?;
    let command_line = |templates: &[String]| {
        let arguments = templates.iter();
        arguments
            .map(|argument| filled_in("command", argument, &context))
            .collect::<Result<Vec<_>, _>>()
    };
    let ready_check = match &job.run {
        Run::Process(process) => process
            .ready_check
            .as_deref()
            .map(command_line)
            .transpose()?,
        Run::Errand(_) => None,
    };
    Ok(RenderedJob {
        name: job.name.clone(),
        files,
        command: command_line(job.run.command())?,
        ready_check,
        job: std::sync::Arc::clone(job),
    })
}

impl RenderedJob {
    /// The job's name.
    pub fn name(&self) -> &JobName {
        &self.name
    }

    /// Adds everything that makes this rendering differ from another to a digest.
    pub fn digest(&self, into: &mut digest::Context) {
        let files = self
            .files
            .iter()
            .flat_map(|file| [&file.name, &file.content]);
        let commands = self.command.iter().chain(self.ready_check.iter().flatten());
        for text in files.chain(commands) {
            into.update(&text.len().to_be_bytes());
            into.update(text.as_bytes());
        }
    }

    pub(super) fn process(&self) -> Option<&Process> {
        match &self.job.run {
            Run::Process(process) => Some(process),
            Run::Errand(_) => None,
        }
    }

    pub(super) fn errand(&self) -> Option<&Errand> {
        match &self.job.run {
            Run::Errand(errand) => Some(errand),
            Run::Process(_) => None,
        }
    }
}

fn filled_in(name: &str, text: &str, context: &Context) -> Result<String, RenderError> {
    let mut tera = Tera::new();
    tera.register_filter("quoted", |text: &str, _: Kwargs, _: &State<'_>| {
        quoted(text)
    });
    tera.add_raw_template(name, text)
        .and_then(|()| tera.render(name, context))
        .map_err(|source| RenderError {
            template: name.to_owned(),
            source,
        })
}

/// In double quotes, so that any value stays one word: `\xNN` for what is not printable, as
/// configuration files of the C tradition (Redis' among them) read it.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => quoted.extend(["\\x".to_owned(), format!("{byte:02x}")]),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_value_cannot_begin_another_line() {
        assert_eq!(
            quoted("a\"b\nrename-command X"),
            r#""a\"b\x0arename-command X""#
        );
    }

    #[test]
    fn a_value_that_is_missing_is_an_error_which_names_the_template() {
        let error = filled_in("redis.conf", "{{ properties.port }}", &Context::new()).unwrap_err();
        assert_eq!(error.to_string(), "Error filling in template 'redis.conf'");
    }
}
