//! Renders a job's templates and command lines (Tera) for one instance.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use aws_lc_rs::digest;
use serde::Serialize;
use serde_json::Value;
use tera::{Context, Kwargs, State, Tera};

use super::{
    Job, JobName, Process, Program,
    plan::{JobPlan, ProcessPlan},
};

#[derive(Serialize)]
pub struct JobContext {
    /// The declared properties, with defaults.
    pub properties: Value,
    /// The links that the job consumes, by name.
    pub links: Value,
    pub address: Ipv4Addr,
    pub instance: InstanceFacts,
    pub job: JobFolder,
    /// The folder for data: persistent when the VM has a disk.
    pub data: String,
    pub deployment: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct InstanceFacts {
    pub group: String,
    pub index: u32,
    pub id: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct JobFolder {
    pub folder: String,
}

/// A job's files and command lines, ready for one instance. Holds secrets, hence no `Debug`.
#[derive(Clone)]
pub struct RenderedJob {
    pub(super) files: Vec<RenderedFile>,
    pub(super) plan: JobPlan,
}

#[derive(Clone)]
pub(super) struct RenderedFile {
    pub(super) name: String,
    pub(super) mode: u32,
    pub(super) content: String,
}

/// A job does not fit its context. The message names template and place, never values.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error("Error filling in template '{template}'")]
    Template {
        template: String,
        #[source]
        source: Box<tera::Error>,
    },
    #[error("The port of process '{process}' is not a number from 1 to 65535")]
    Port { process: String },
}

pub fn render(job: &Arc<Job>, context: &JobContext) -> Result<RenderedJob, RenderError> {
    let context = Context::from_serialize(context).map_err(|source| RenderError::Template {
        template: job.name.to_string(),
        source: Box::new(source),
    })?;
    let templates = job.templates.iter();
    let files = templates.map(|template| {
        Ok(RenderedFile {
            name: template.to.clone(),
            mode: template.mode,
            content: filled_in(&template.to, &template.text, &context)?,
        })
    });
    let scripts = job.scripts.iter();
    let scripts =
        scripts.map(|(script, program)| Ok((*script, filled_in_program(program, &context)?)));
    let processes = job.processes.iter();
    let processes = processes.map(|process| planned(process, &context));
    let errand = job.errand.as_ref();
    Ok(RenderedJob {
        files: files.collect::<Result<_, RenderError>>()?,
        plan: JobPlan {
            name: job.name.clone(),
            requirements: job.requirements.clone(),
            scripts: scripts.collect::<Result<BTreeMap<_, _>, RenderError>>()?,
            processes: processes.collect::<Result<_, _>>()?,
            errand: errand
                .map(|errand| filled_in_program(errand, &context))
                .transpose()?,
        },
    })
}

impl RenderedJob {
    pub fn name(&self) -> &JobName {
        &self.plan.name
    }

    /// Adds everything that makes this rendering differ from another to a digest.
    pub fn digest(&self, into: &mut digest::Context) {
        let files = self
            .files
            .iter()
            .flat_map(|file| [&file.name, &file.content]);
        for text in files.chain(self.plan.command_lines().flatten()) {
            into.update(&text.len().to_be_bytes());
            into.update(text.as_bytes());
        }
        let modes = self.files.iter().map(|file| file.mode);
        let ports = self
            .plan
            .processes
            .iter()
            .map(|process| process.port.into());
        for number in modes.chain(ports) {
            into.update(&number.to_be_bytes());
        }
    }
}

fn planned(process: &Process, context: &Context) -> Result<ProcessPlan, RenderError> {
    let port = filled_in("port", &process.port, context)?;
    let ready_check = process.ready_check.as_deref();
    Ok(ProcessPlan {
        name: process.name.clone(),
        command: command_line(&process.command, context)?,
        port: port
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| RenderError::Port {
                process: process.name.to_string(),
            })?,
        ready_check: ready_check
            .map(|check| command_line(check, context))
            .transpose()?,
        ready_within: process.ready_within,
        stop_signal: process.stop_signal,
        stop_within: process.stop_within,
    })
}

fn filled_in_program(program: &Program, context: &Context) -> Result<Program, RenderError> {
    Ok(Program {
        command: command_line(&program.command, context)?,
        timeout: program.timeout,
    })
}

fn command_line(templates: &[String], context: &Context) -> Result<Vec<String>, RenderError> {
    let arguments = templates.iter();
    arguments
        .map(|argument| filled_in("command", argument, context))
        .collect()
}

fn filled_in(name: &str, text: &str, context: &Context) -> Result<String, RenderError> {
    let mut tera = Tera::new();
    tera.register_filter("quoted", |text: &str, _: Kwargs, _: &State<'_>| {
        quoted(text)
    });
    tera.register_filter("shell_quoted", |text: &str, _: Kwargs, _: &State<'_>| {
        shell_quoted(text)
    });
    tera.add_raw_template(name, text)
        .and_then(|()| tera.render(name, context))
        .map_err(|source| RenderError::Template {
            template: name.to_owned(),
            source: Box::new(source),
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

/// In single quotes, so that any value stays one word of a shell's command.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_a_script_is_one_word_whatever_is_in_it() {
        assert_eq!(shell_quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

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
