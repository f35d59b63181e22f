use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};
use tera::{Context, Tera};

use super::filters::{self, VALUE, VALUE_OR_NOTHING, percent_encoded};
use super::functions;
use super::names::{self, KnownNames};
use super::rendered::{self, RenderedError};
use super::scan::NameKind;
use super::session::{Session, Stop};
use super::source::{Source, TemplateError};
use super::stand_in::FillError;

const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Most that one template may render, in bytes.
const SIZE_LIMIT: usize = 8 * 1024 * 1024;

/// The templates of a folder, ready to be rendered for one call.
pub(crate) struct Engine {
    tera: Arc<Tera>,
    sources: Arc<BTreeMap<String, Source>>,
    pub(crate) session: Arc<Session>,
}

/// A template before it is loaded.
pub(crate) struct Template {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) known: KnownNames,
    pub(crate) kind: TemplateKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplateKind {
    /// A text with expressions in double braces.
    Text,
    /// One expression, without braces, that may have no value.
    Expression,
}

/// Why a template gives no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RenderError {
    #[error("the template stopped")]
    Stopped(Stop),
    #[error(transparent)]
    Error(#[from] TemplateError),
    #[error("`{template}`")]
    Rendered {
        template: String,
        #[source]
        source: RenderedError,
    },
    #[error("`{template}` renders more than {SIZE_LIMIT} bytes")]
    TooLong { template: String },
    #[error("`{template}` takes longer than {} seconds", TIME_LIMIT.as_secs())]
    TooSlow { template: String },
    #[error("rendering `{template}` panicked")]
    Panicked { template: String },
    #[error("the inputs cannot be handed to `{template}`")]
    Context { template: String },
}

impl Engine {
    /// Reads templates and checks their syntax, names and includes.
    pub(crate) fn load(templates: Vec<Template>) -> Result<Self, TemplateError> {
        let mut sources = BTreeMap::new();
        let mut known = Vec::new();
        for template in templates {
            let source = match template.kind {
                TemplateKind::Text => Source::new(template.name, template.text, VALUE),
                TemplateKind::Expression => Source::new(
                    template.name,
                    format!("{{{{ {} }}}}", template.text),
                    VALUE_OR_NOTHING,
                ),
            };
            known.push((source.name.clone(), template.known));
            sources.insert(source.name.clone(), source);
        }
        let sources = Arc::new(sources);
        let session = Arc::new(Session::new());
        let mut tera = Tera::new();
        // Every expression passes through our own filter. Escaping prevents a missed value from becoming text.
        tera.autoescape_on([""]);
        tera.set_escape_fn(|_, _| Err(io::Error::other("a value that was not taken out")));
        filters::register(&mut tera, &session, &sources);
        functions::register(&mut tera, &session);

        for source in sources.values() {
            // Checks the syntax first: names can be checked only in a valid template.
            Tera::clone(&tera)
                .add_raw_template(&source.name, &source.prepared)
                .or_else(|error| match error.kind() {
                    tera::ErrorKind::SyntaxError(_) => {
                        Err(TemplateError::of_engine(&error, &sources, &source.name))
                    }
                    _ => Ok(()),
                })?;
        }
        let locals: BTreeSet<String> = sources
            .values()
            .flat_map(|source| source.scan.locals.iter().cloned())
            .collect();
        for (name, known) in &known {
            if let Some(source) = sources.get(name) {
                names::check(source, known, &locals)?;
                if let Some(&at) = source.scan.captured.first() {
                    return Err(TemplateError::new(
                        source.location(at),
                        "what `{% set %}…{% endset %}` and `{% filter %}` take cannot hold `{{ … }}`; \
                         write `{% set a = x ~ y %}`, or `{{ x | upper }}`",
                    ));
                }
            }
        }
        let prepared = sources
            .values()
            .map(|source| (source.name.as_str(), source.prepared.as_str()));
        tera.add_raw_templates(prepared)
            .map_err(|error| TemplateError::of_engine(&error, &sources, "adapter.yml"))?;
        Ok(Self {
            tera: Arc::new(tera),
            sources,
            session,
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.sources.contains_key(name)
    }

    pub(crate) fn reads(&self, name: &str) -> bool {
        let names = self.sources.values().flat_map(|source| &source.scan.names);
        let mut values = names.filter(|used| used.kind == NameKind::Value);
        values.any(|used| matches!(used.segments.first(), Some((first, _)) if first == name))
    }

    /// The templates that nothing in the folder includes, apart from those with components.
    pub(crate) fn unincluded(&self) -> impl Iterator<Item = &str> {
        let included: BTreeSet<&str> = self
            .sources
            .values()
            .flat_map(|source| source.scan.includes.iter().map(String::as_str))
            .collect();
        let alone = self
            .sources
            .values()
            .filter(move |source| !source.scan.has_components && !included.contains(&*source.name));
        alone.map(|source| source.name.as_str())
    }

    /// Renders and parses YAML; `None` if the result is only `omit`.
    pub(crate) fn yaml(
        &self,
        name: &str,
        values: &Map<String, Value>,
    ) -> Result<Option<Value>, RenderError> {
        let text = self.rendered(name, values)?;
        rendered::yaml(&text, &self.session.stand_ins()).map_err(not_readable(name))
    }

    pub(crate) fn json(
        &self,
        name: &str,
        values: &Map<String, Value>,
    ) -> Result<Option<Value>, RenderError> {
        let text = self.rendered(name, values)?;
        rendered::json(&text, &self.session.stand_ins()).map_err(not_readable(name))
    }

    /// Renders an address with percent-encoded values and trims surrounding whitespace.
    pub(crate) fn address(
        &self,
        name: &str,
        values: &Map<String, Value>,
    ) -> Result<String, RenderError> {
        let text = self.rendered(name, values)?;
        self.session
            .stand_ins()
            .text(text.trim(), percent_encoded)
            .map_err(|error| not_readable(name)(error.into()))
    }

    /// Renders a text: one lone expression keeps the type of its value.
    pub(crate) fn value(
        &self,
        name: &str,
        values: &Map<String, Value>,
    ) -> Result<Option<Value>, RenderError> {
        let text = self.rendered(name, values)?;
        let stand_ins = self.session.stand_ins();
        match stand_ins.whole(&text) {
            Some(number) => Ok(stand_ins
                .value(number)
                .and_then(|value| stand_ins.without_omissions(value))),
            None => stand_ins
                .text(&text, str::to_owned)
                .map(|text| Some(Value::String(text)))
                .map_err(|error: FillError| not_readable(name)(error.into())),
        }
    }

    /// Renders in a separate thread, so that an endless template ends with the process.
    fn rendered(&self, name: &str, values: &Map<String, Value>) -> Result<String, RenderError> {
        let context = Context::from_serialize(values).map_err(|_| RenderError::Context {
            template: name.to_owned(),
        })?;
        let tera = Arc::clone(&self.tera);
        let template = name.to_owned();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut output = Bounded(Vec::new());
            let outcome = tera.render_to(&template, &context, &mut output);
            // The receiver is gone after the timeout.
            let _ = sender.send(outcome.map(|()| output.0));
        });
        let template = name.to_owned();
        let outcome = receiver
            .recv_timeout(TIME_LIMIT)
            .map_err(|error| match error {
                RecvTimeoutError::Timeout => RenderError::TooSlow { template },
                RecvTimeoutError::Disconnected => RenderError::Panicked { template },
            })?;
        match outcome {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| RenderError::Context {
                template: name.to_owned(),
            }),
            Err(error) => Err(match (self.session.take_stop(), error.kind()) {
                (Some(stop), _) => {
                    let error = TemplateError::of_engine(&error, &self.sources, name);
                    RenderError::Stopped(stop.placed(error.into_place()))
                }
                (None, tera::ErrorKind::Io(io::ErrorKind::FileTooLarge)) => RenderError::TooLong {
                    template: name.to_owned(),
                },
                (None, _) => {
                    TemplateError::of_rendering(&error, &self.sources, name, values).into()
                }
            }),
        }
    }
}

fn not_readable(name: &str) -> impl Fn(RenderedError) -> RenderError {
    move |source| RenderError::Rendered {
        template: name.to_owned(),
        source,
    }
}

/// Takes as much as a manifest may have.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > SIZE_LIMIT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
