//! A folder in place of `/var/vcap` on a VM: packages, jobs, and what the agent and monit do with them.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{Jobs, RenderedDeployment};
use crate::{Binaries, Process, ProcessTable, RunningProcess};

const BPM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/vm/bpm.rb");

/// Where jobs look for bpm.
const LOCATIONS_OF_BPM: [&str; 2] = ["packages/bpm/bin/bpm", "jobs/bpm/bin/bpm"];

/// The agent's `PATH` for scripts.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Where programs are that this machine does not have as a stemcell has them.
const STEMCELL: &str = "stemcell/bin";

/// Stemcells have the user `vcap`; who runs a test may give nothing away.
const CHOWN: &str = r#"#!/bin/bash
[[ $# -eq 2 && $1 == vcap:vcap && -e $2 ]] || exec /bin/chown "$@"
"#;

/// The same for scripts that become `vcap`: who runs a test stays who he is.
const SETPRIV: &str = r#"#!/bin/bash
[[ ${*:1:4} == "--reuid=vcap --regid=vcap --clear-groups --" ]] || exec /usr/bin/setpriv "$@"
shift 4
exec "$@"
"#;

/// How much of each log a failing test prints.
const PRINTED: usize = 64 * 1024;

/// The time limit of quick steps.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A VM without a machine. Its processes end with it.
#[derive(Debug)]
pub struct Vm {
    root: PathBuf,
    commands: AtomicUsize,
}

#[derive(Debug)]
pub struct UnpackedRelease {
    folder: PathBuf,
}

impl Vm {
    /// One with nothing but bpm. The folder has to exist.
    pub fn in_folder(folder: &Path) -> Self {
        let vm = Self {
            root: folder.join("vcap"),
            commands: AtomicUsize::new(0),
        };
        let script = format!(
            "#!/bin/bash\nexec ruby '{BPM}' '{}' \"$@\"\n",
            vm.root.display()
        );
        for location in LOCATIONS_OF_BPM {
            vm.write_executable(location, &script);
        }
        vm.write_executable(&format!("{STEMCELL}/chown"), CHOWN);
        vm.write_executable(&format!("{STEMCELL}/setpriv"), SETPRIV);
        for folder in ["sys/log", "sys/run", "data", "store", "logs-of-the-test"] {
            make_folder(&vm.root.join(folder));
        }
        vm
    }

    /// The folder in place of `/var/vcap`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Puts an executable there. `path` is below `/var/vcap`, which the text may name.
    pub fn write_executable(&self, path: &str, text: &str) {
        let root = self.root.to_str().expect("the path is in UTF-8");
        let file = self.root.join(path);
        make_folder(file.parent().expect("it is in the folder"));
        fs::write(&file, text.replace("/var/vcap", root))
            .and_then(|()| fs::set_permissions(&file, Permissions::from_mode(0o755)))
            .expect("the test made the folder");
    }

    /// Puts executables under test there as if they were a package.
    pub fn link(&self, package: &str, programs: &[&str]) {
        let folder = self.root.join("packages").join(package).join("bin");
        make_folder(&folder);
        for program in programs {
            symlink(Binaries::find().path(program), folder.join(program))
                .expect("it is there once");
        }
    }

    /// Unpacks a release's tarball with the system's `tar`.
    pub fn unpack(&self, tarball: &Path) -> UnpackedRelease {
        let folder = self.root.join("data/release");
        extract(tarball, &folder);
        for kind in ["jobs", "packages"] {
            for archive in entries(&folder.join(kind)) {
                if archive.extension().is_some_and(|kind| kind == "tgz") {
                    extract(&archive, &archive.with_extension(""));
                }
            }
        }
        UnpackedRelease { folder }
    }

    /// Compiles a package as the agent of a compilation VM does, and puts what comes of it where jobs find it.
    pub async fn install(&self, release: &UnpackedRelease, package: &str) {
        let source = release.folder.join("packages").join(package);
        let target = self.root.join("data/packages").join(package);
        make_folder(&target);
        let mut command = Command::new("bash");
        command
            .args(["-x", "packaging"])
            .current_dir(&source)
            .env_clear()
            .env("PATH", PATH)
            .env("BOSH_COMPILE_TARGET", &source)
            .env("BOSH_INSTALL_TARGET", &target)
            .env("BOSH_PACKAGE_NAME", package)
            .env("BOSH_PACKAGE_VERSION", "0");
        let mut packaging = self.launch(&format!("packaging-{package}"), &mut command);
        let status = packaging.exit(TIMEOUT).await;
        assert!(
            status.success(),
            "`packaging` of `{package}`: {}",
            packaging.errors()
        );
        symlink(&target, self.root.join("packages").join(package)).expect("it is there once");
    }

    /// Puts the rendered jobs of a manifest where the agent puts them, in the place of those that were there.
    pub fn apply(&self, deployment: &RenderedDeployment) {
        let jobs = entries(&self.root.join("jobs"));
        for old in jobs.iter().filter(|job| !job.ends_with("bpm")) {
            fs::remove_dir_all(old).expect("the test made the folder");
        }
        deployment.write_to(&self.root);
    }

    /// Starts a job's script as the agent does: `pre-start`, `post-start`, `drain`, or `run` of an errand.
    pub fn script(&self, job: &str, script: &str) -> Process {
        let arguments: &[&str] = if script == "drain" {
            &["job_shutdown", "hash_unchanged"]
        } else {
            &[]
        };
        self.script_with(job, script, arguments)
    }

    pub fn script_with(&self, job: &str, script: &str, arguments: &[&str]) -> Process {
        let file = self.root.join("jobs").join(job).join("bin").join(script);
        let mut command = Command::new(&file);
        let stemcell = self.root.join(STEMCELL);
        command
            .args(arguments)
            .current_dir("/")
            .env_clear()
            .env("PATH", format!("{}:{PATH}", stemcell.display()))
            .env("BOSH_JOB_STATE", "{}")
            .env("BOSH_JOB_NEXT_STATE", "{}");
        self.launch(&format!("{job}-{script}"), &mut command)
    }

    /// Starts a job's only process as monit does: by the command line in the job's `monit`.
    pub async fn monit_start(&self, job: &str) {
        self.monit(job, "start program").await;
    }

    pub async fn monit_stop(&self, job: &str) {
        self.monit(job, "stop program").await;
    }

    async fn monit(&self, job: &str, directive: &str) {
        let file = self.root.join("jobs").join(job).join("monit");
        let text = fs::read_to_string(&file).expect("every job has a `monit`");
        let line = text.split(directive).nth(1);
        let line = line.and_then(|rest| rest.split('"').nth(1));
        let line = line.unwrap_or_else(|| panic!("there is no `{directive}`: {text}"));
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command line begins with a program");
        let mut command = Command::new(program);
        command.args(words).env_clear().env("PATH", PATH);
        let mut monit = self.launch(&format!("{job}-monit"), &mut command);
        let status = monit.exit(TIMEOUT).await;
        assert!(status.success(), "`{line}`: {}", monit.errors());
    }

    /// The file that names a job's process, by which monit knows it.
    pub fn pid_file(&self, job: &str) -> PathBuf {
        let name = format!("{job}.pid");
        self.root.join("sys/run/bpm").join(job).join(name)
    }

    /// The processes with a file of a job in their arguments, with or without a pid file.
    pub fn processes(&self, job: &str) -> Vec<RunningProcess> {
        let folder = format!("{}/jobs/{job}/", self.root.display());
        let table = ProcessTable::look();
        let found = table.with_argument(&folder).into_iter();
        found.cloned().collect()
    }

    /// A log of a job: a file below `sys/log/JOB`.
    pub fn log(&self, job: &str, name: &str) -> String {
        let file = self.root.join("sys/log").join(job).join(name);
        fs::read_to_string(file).unwrap_or_default()
    }

    #[expect(clippy::print_stderr, reason = "a failing test shows what it knows")]
    fn print_logs(&self) {
        for file in entries(&self.root.join("sys/log"))
            .iter()
            .flat_map(|job| entries(job))
        {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let start = text.ceil_char_boundary(text.len().saturating_sub(PRINTED));
            eprintln!("--- {} ---\n{}", file.display(), &text[start..]);
        }
    }

    fn launch(&self, name: &str, command: &mut Command) -> Process {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let logs = self.root.join("logs-of-the-test");
        Process::start(&format!("{number}-{name}"), command, &logs)
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.print_logs();
        }
        // Independent of pid files: each process has a path of this VM in its arguments.
        let root = self.root.display().to_string();
        for one in ProcessTable::look().with_argument(&root) {
            let id = i32::try_from(one.id).ok().and_then(Pid::from_raw);
            if let Some(id) = id {
                // It may end in between, which is as good.
                let _ = kill_process(id, Signal::KILL);
            }
        }
    }
}

impl UnpackedRelease {
    pub fn jobs(&self) -> Jobs {
        Jobs::in_folder(&self.folder.join("jobs"))
    }
}

fn extract(archive: &Path, folder: &Path) {
    make_folder(folder);
    let status = Command::new("tar")
        .args(["--extract", "--gzip", "--no-same-owner", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(folder)
        .stdin(Stdio::null())
        .status()
        .expect("this is Linux, which has `tar`");
    assert!(status.success(), "could not unpack `{}`", archive.display());
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).collect()
}

fn make_folder(folder: &Path) {
    fs::create_dir_all(folder)
        .unwrap_or_else(|error| panic!("could not make `{}`: {error}", folder.display()));
}
