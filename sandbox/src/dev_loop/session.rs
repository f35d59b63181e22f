//! The loop: applies changes and supervises the broker.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::Value;
use tokio::time::sleep;

use super::{
    DevLoopError, DevLoopOptions,
    adapter::Adapter,
    broker::{Ended, Restarts},
    composition::{Composition, CompositionError, compose},
    folder::Folder,
    inspection::{Demands, InspectionError, inspect},
    log::{Log, chain, report, report_all},
    service::{Down, Service},
    supplies::{Dependencies, LEFT_OUT},
    watching::{Difference, Look, Materials, Watch},
};
use crate::{
    cpi::{CatalogError, JobCatalog},
    foundation::{FileError, Foundation},
};

/// A broker beside a foundation, and what the author works on.
pub struct DevLoop<'f> {
    foundation: &'f Foundation,
    options: DevLoopOptions,
    folder: Folder,
    materials: Materials,
    watch: Watch,
    service: Service<'f>,
    log: Log,
    /// How the materials were when they were last taken up.
    look: Look,
    /// The composition of the running broker, if it ever started.
    served: Option<Composition>,
    /// Which keys the author knows to be replaced.
    reported: Vec<String>,
    restarts: Restarts,
}

/// A `broker.yml` cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("could not read it")]
    Read(#[source] io::Error),
    #[error("could not read the certificate of the foundation")]
    Authority(#[source] io::Error),
    #[error(transparent)]
    Composition(CompositionError),
    #[error("could not read the job catalog")]
    Jobs(#[source] CatalogError),
    #[error("could not write to the state folder")]
    Write(#[source] FileError),
    #[error("could not write the executable for the adapter")]
    Adapter(#[source] io::Error),
    #[error("could not check it")]
    Inspection(#[source] InspectionError),
    #[error("{}", errors.join("; "))]
    Faults {
        errors: Vec<String>,
        /// Whether the adapter did not do what it should.
        is_adapters: bool,
        adapter_words: Vec<String>,
    },
}

impl<'f> DevLoop<'f> {
    /// Prepares everything. The broker does not run yet.
    pub fn new(foundation: &'f Foundation, options: DevLoopOptions) -> Result<Self, DevLoopError> {
        let folder = Folder::open(&options.state)?;
        let materials = Materials {
            broker_file: options.broker_file.clone(),
            adapter: options.adapter.path().to_owned(),
            jobs: options.jobs.clone(),
            state: options.state.clone(),
        };
        let log = Log::open(&folder.log()).map_err(DevLoopError::Log)?;
        Ok(Self {
            foundation,
            watch: Watch::start(materials.clone()).map_err(DevLoopError::Watch)?,
            service: Service::new(foundation, options.executable.clone(), log.clone())?,
            log,
            folder,
            materials,
            options,
            look: Look::default(),
            served: None,
            reported: Vec::new(),
            restarts: Restarts::default(),
        })
    }

    /// Returns when the broker serves requests and is registered at the Cloud Controller. Errors are printed, and the
    /// loop waits for the author's next change.
    pub async fn ready(&mut self) {
        self.take_up_everything().await;
        while self.served.is_none() {
            report("not up yet; change what is wrong, and it is tried again");
            while self.materials.look().since(&self.look).is_nothing() {
                self.watch.changed().await;
            }
            self.take_up_everything().await;
        }
    }

    /// Takes up every change, and starts the broker again when it ends by itself. Runs until it is dropped.
    pub async fn keep_up(&mut self) {
        loop {
            let ended = tokio::select! {
                () = self.watch.changed() => None,
                ended = self.service.ended() => Some(ended),
            };
            match ended {
                Some(ended) => self.pick_up(ended).await,
                None => self.take_up_changes().await,
            }
        }
    }

    /// Ends the broker. Operations in progress are the Director's; a later broker follows them to their end.
    pub async fn stop(mut self) {
        self.service.end().await;
    }

    async fn take_up_everything(&mut self) {
        self.look = self.materials.look();
        self.restarts = Restarts::default();
        match self.prepared().await {
            Ok(composition) => self.put_in_service(composition).await,
            Err(error) => self.refuse(&error),
        }
    }

    async fn take_up_changes(&mut self) {
        let look = self.materials.look();
        let difference = look.since(&self.look);
        if difference.is_nothing() {
            return;
        }
        if difference.adapter && !self.options.adapter.is_whole() {
            let path = self.options.adapter.path().display();
            report(&format!(
                "the adapter `{path}` cannot be called now; waiting until it can"
            ));
            return;
        }
        self.look = look;
        self.restarts = Restarts::default();
        report(&format!("{} changed", named(difference)));
        let composition = match self.prepared().await {
            Ok(composition) => composition,
            Err(error) => return self.refuse(&error),
        };
        if self.goes_on_with(&composition, difference) {
            report("in force from the next order");
            return;
        }
        self.put_in_service(composition).await;
    }

    /// Whether the running broker needs no restart. It starts the adapter for each request, and caches only the schemas
    /// of its plans.
    fn goes_on_with(&self, composition: &Composition, difference: Difference) -> bool {
        let served = self.served.as_ref().map(|served| &served.text);
        let has_schemas = composition.document["broker"]["enable_plan_schemas"] == true;
        let is_executable = matches!(self.options.adapter, Adapter::Executable(_));
        self.service.is_running()
            && served == Some(&composition.text)
            && !(difference.adapter && (has_schemas || is_executable))
    }

    /// Reads the author's file, adds to the foundation what it demands, and has the broker check the result.
    async fn prepared(&mut self) -> Result<Composition, Unusable> {
        let composition = self.composed()?;
        let author = self.author_file();
        if self.reported != composition.replaced && !composition.replaced.is_empty() {
            let keys = composition.replaced.join(", ");
            report(&format!(
                "{keys} of {author} have no effect here: the sandbox has its own"
            ));
        }
        self.reported.clone_from(&composition.replaced);
        let jobs = JobCatalog::load_all(&self.options.jobs()).map_err(Unusable::Jobs)?;
        let director = self.foundation.director();
        let demands = Demands::of(&composition.document, director, &jobs);
        let candidate = self.folder.candidate();
        let written = self.folder.write(&candidate, &composition.text);
        written.map_err(Unusable::Write)?;
        let executable = &self.options.executable;
        let findings = inspect(executable, &candidate, &composition, &author, &self.log).await;
        let findings = findings.map_err(Unusable::Inspection)?;
        for warning in &findings.warnings {
            report(&format!("warning: {warning}"));
        }
        let demanded = demands
            .errors
            .iter()
            .map(|fault| format!("{author}: {fault}"));
        let errors: Vec<String> = findings.errors.into_iter().chain(demanded).collect();
        if !errors.is_empty() {
            return Err(Unusable::Faults {
                errors,
                is_adapters: findings.is_adapters,
                adapter_words: findings.adapter_words,
            });
        }
        self.foundation.cpi().set_catalog(jobs);
        self.add(demands);
        Ok(composition)
    }

    fn composed(&self) -> Result<Composition, Unusable> {
        let author = fs::read_to_string(&self.options.broker_file).map_err(Unusable::Read)?;
        let description = self.foundation.description();
        let authority = fs::read_to_string(&description.ca_certificate);
        let adapter = self.options.adapter.executable(&self.folder.adapter());
        let dependencies = Dependencies {
            description,
            authority: &authority.map_err(Unusable::Authority)?,
            state: &self.options.state,
            password: self.folder.password(),
            adapter: &adapter.map_err(Unusable::Adapter)?,
        };
        // A first look: whether there is the section.
        let bare = compose(&author, Vec::new(), &[]).map_err(Unusable::Composition)?;
        let credhub = bare.document.get("credhub");
        let has_credhub = credhub.is_some_and(|section| *section != Value::Bool(false));
        let supplies = dependencies.supplies(has_credhub);
        compose(&author, supplies, &LEFT_OUT).map_err(Unusable::Composition)
    }

    fn add(&self, demands: Demands) {
        let director = self.foundation.director();
        for release in demands.releases {
            let jobs: Vec<_> = release.jobs.iter().map(ToString::to_string).collect();
            let (name, version) = (&release.name, &release.version);
            report(&format!(
                "release {name}/{version} uploaded, with {}",
                jobs.join(", ")
            ));
            director.upload_release(release);
        }
        for stemcell in demands.stemcells {
            let (name, version) = (&stemcell.name, &stemcell.version);
            report(&format!("stemcell {name}/{version} uploaded"));
            director.upload_stemcell(stemcell);
        }
    }

    /// Lets another broker take the place of the one that runs; when it does not come up, the former one comes back.
    async fn put_in_service(&mut self, composition: Composition) {
        let replaced = self.service.replace(&self.folder, &composition).await;
        let Err(error) = replaced else {
            self.restarts.came_up(Instant::now());
            self.served = Some(composition);
            return;
        };
        error.report();
        let previous = self.served.take();
        let previous = previous.filter(|previous| previous.text != composition.text);
        if let Some(previous) = previous {
            match self.service.replace(&self.folder, &previous).await {
                Ok(()) => {
                    // The adapter is called as it is, whatever the broker was started with.
                    report("the broker keeps running with the earlier broker.yml");
                    self.restarts.came_up(Instant::now());
                    self.served = Some(previous);
                    return;
                }
                Err(error) => error.report(),
            }
        }
        self.service.end().await;
    }

    /// Starts a broker again that has ended by itself, with what it had.
    async fn pick_up(&mut self, ended: Ended) {
        Down::Ended(ended).report();
        self.restarts.ended(Instant::now());
        if let Some(composition) = self.served.clone() {
            while let Some(pause) = self.restarts.next() {
                sleep(pause).await;
                match self.service.replace(&self.folder, &composition).await {
                    Ok(()) => return self.restarts.came_up(Instant::now()),
                    Err(error) => error.report(),
                }
            }
        }
        report("given up; it is started again when something changes");
        self.service.end().await;
    }

    fn refuse(&self, error: &Unusable) {
        let author = self.author_file();
        let is_adapters = match error {
            Unusable::Faults {
                errors,
                is_adapters,
                adapter_words,
            } => {
                report_all(errors);
                report_all(adapter_words);
                *is_adapters
            }
            Unusable::Jobs(_) => {
                report(&chain(error));
                false
            }
            other => {
                report(&format!("{author}: {}", chain(other)));
                false
            }
        };
        if !self.service.is_running() {
            return;
        }
        // The broker calls the adapter anew for each request, and there is no other than the one that is broken.
        if is_adapters {
            return report("the adapter cannot be used; orders fail until it is fixed");
        }
        let is_jobs = matches!(error, Unusable::Jobs(_));
        let unusable = if is_jobs { "jobs" } else { author.as_str() };
        report(&format!(
            "{unusable} cannot be used; the broker keeps running with the earlier version"
        ));
    }

    fn author_file(&self) -> String {
        let file = &self.options.broker_file;
        let here = std::env::current_dir().ok();
        let name = here.and_then(|here| file.strip_prefix(here).ok().map(Path::to_owned));
        let name: &PathBuf = name.as_ref().unwrap_or(file);
        name.display().to_string()
    }
}

fn named(difference: Difference) -> String {
    let names = [
        (difference.broker_file, "broker.yml"),
        (difference.adapter, "the adapter"),
        (difference.jobs, "jobs"),
    ];
    let names = names.iter().filter(|(changed, _)| *changed);
    names
        .map(|(_, name)| *name)
        .collect::<Vec<_>>()
        .join(" and ")
}
