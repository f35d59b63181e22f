//! Runs an adapter as the protocol wants it (`spec/contracts/adapter-protocol.md`, "Calling an
//! adapter"): arguments and stdin in, stdout for the answer or a message to the platform user,
//! stderr for the operator, one exit code.

use std::any::Any;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use serde::Serialize;

use crate::error::chain;
use crate::protocol::{AdapterInput, Call, ExitCode, Subcommand};
use crate::secrets::has_placeholders;
use crate::{Adapter, AdapterError};

const SECRETS_DROPPED: &str = "the manifest has placeholders `((odb_secret:…))`, and their secrets do not reach a broker that passes arguments";

/// Longest input that is read, in bytes.
pub const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// Runs an adapter in this process, with its arguments and streams; `main` returns what this does.
///
/// Stdout is kept for the answer: what the adapter or a library prints there goes to stderr. A
/// panic is reported with its place and without its message, which may hold values.
pub fn run(adapter: &impl Adapter) -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    run_with_arguments(adapter, &arguments)
}

/// Runs an adapter like [`run`], on arguments that the program has sorted out: the subcommand and
/// what follows it.
pub fn run_with_arguments(adapter: &impl Adapter, arguments: &[String]) -> std::process::ExitCode {
    panic::set_hook(Box::new(report_panic));
    // Not locked: a thread of the adapter that panics reports that there.
    let mut stderr = io::stderr();
    let code = match divert_stdout() {
        Ok(mut stdout) => execute(adapter, arguments, io::stdin(), &mut stdout, &mut stderr),
        Err(_) => execute(
            adapter,
            arguments,
            io::stdin(),
            &mut io::stdout(),
            &mut stderr,
        ),
    };
    code.into()
}

/// Runs an adapter on the given arguments, those after the program's name, and streams.
pub fn execute(
    adapter: &impl Adapter,
    arguments: &[String],
    stdin: impl Read,
    stdout: &mut impl Write,
    stderr: &mut impl Write,
) -> ExitCode {
    let outcome = outcome(adapter, arguments, stdin, stderr);
    let (text, code) = match outcome {
        Ok(answer) => (answer, ExitCode::Success),
        Err(failure) => {
            log(stderr, &failure.for_operator);
            (failure.for_user, failure.code)
        }
    };
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => code,
        Err(error) => {
            log(stderr, &format!("could not write to stdout: {error}"));
            ExitCode::Failure
        }
    }
}

/// Why there is no answer, ready to be printed.
struct Failure {
    code: ExitCode,
    for_user: String,
    for_operator: String,
}

impl Failure {
    /// An error of the caller, which is not for the platform user.
    fn of_the_caller(for_operator: impl Into<String>) -> Self {
        Self {
            code: ExitCode::Failure,
            for_user: String::new(),
            for_operator: for_operator.into(),
        }
    }

    fn of_the_adapter(error: &AdapterError, subcommand: Subcommand) -> Self {
        Self {
            code: error.exit_code(subcommand),
            for_user: error.user_message().unwrap_or_default().to_owned(),
            for_operator: error.operator_message(),
        }
    }
}

fn outcome(
    adapter: &impl Adapter,
    arguments: &[String],
    stdin: impl Read,
    stderr: &mut impl Write,
) -> Result<String, Failure> {
    let (name, rest) = arguments.split_first().ok_or_else(|| {
        Failure::of_the_caller(format!("no subcommand; {}", implemented(adapter)))
    })?;
    log(stderr, &format!("handling {name}"));
    let subcommand: Subcommand = name
        .parse()
        .map_err(|error| Failure::of_the_caller(format!("{error}; {}", implemented(adapter))))?;
    if !adapter.subcommands().contains(&subcommand) {
        return Err(Failure::of_the_adapter(
            &AdapterError::not_implemented(),
            subcommand,
        ));
    }
    let form = if rest.is_empty() {
        Form::Stdin
    } else {
        Form::Arguments
    };
    let call = match form {
        Form::Stdin => call_from_stdin(subcommand, stdin)?,
        Form::Arguments => Call::from_arguments(subcommand, rest)
            .map_err(|error| Failure::of_the_caller(chain(&error)))?,
    };
    let answer = panic::catch_unwind(AssertUnwindSafe(|| answer(adapter, call, form)))
        .unwrap_or_else(|payload| Err(panicked(payload)))
        .map_err(|error| Failure::of_the_adapter(&error, subcommand))?;
    // As in the Go SDK, the manifest is returned nevertheless: for brokers without secrets it is one text.
    let is_bare_manifest = matches!(
        (form, subcommand),
        (Form::Arguments, Subcommand::GenerateManifest)
    );
    if is_bare_manifest && has_placeholders(&answer) {
        log(stderr, SECRETS_DROPPED);
    }
    Ok(answer)
}

/// How the adapter is called, which `generate-manifest` answers differently.
#[derive(Clone, Copy)]
enum Form {
    Stdin,
    Arguments,
}

fn implemented(adapter: &impl Adapter) -> String {
    let mut names: Vec<_> = adapter
        .subcommands()
        .iter()
        .map(|subcommand| subcommand.name())
        .collect();
    names.sort_unstable();
    format!("this adapter implements: {}", names.join(", "))
}

fn call_from_stdin(subcommand: Subcommand, stdin: impl Read) -> Result<Call, Failure> {
    let mut document = String::new();
    let length = stdin
        .take(MAX_INPUT + 1)
        .read_to_string(&mut document)
        .map_err(|error| Failure::of_the_caller(format!("could not read stdin: {error}")))?;
    if length as u64 > MAX_INPUT {
        return Err(Failure::of_the_caller(format!(
            "the input is longer than {MAX_INPUT} bytes"
        )));
    }
    AdapterInput::read(&document, subcommand).map_err(|error| Failure::of_the_caller(chain(&error)))
}

fn answer(adapter: &impl Adapter, call: Call, form: Form) -> Result<String, AdapterError> {
    match call {
        Call::GenerateManifest(call) => {
            let generated = adapter.generate_manifest(*call)?;
            match form {
                Form::Stdin => Ok(serde_json::to_string(&generated)?),
                Form::Arguments => Ok(generated.manifest.into_string()),
            }
        }
        Call::CreateBinding(call) => line(&adapter.create_binding(*call)?),
        Call::DeleteBinding(call) => adapter.delete_binding(*call).map(|()| String::new()),
        Call::DashboardUrl(call) => line(&adapter.dashboard_url(*call)?),
        Call::GeneratePlanSchemas(call) => line(&adapter.generate_plan_schemas(*call)?),
    }
}

fn line(answer: &impl Serialize) -> Result<String, AdapterError> {
    Ok(serde_json::to_string(answer)? + "\n")
}

/// The payload is dropped unseen: its text may hold values.
fn panicked(payload: Box<dyn Any + Send>) -> AdapterError {
    drop(payload);
    AdapterError::for_operator("the adapter panicked")
}

fn report_panic(info: &PanicHookInfo<'_>) {
    if let Some(location) = info.location() {
        log(&mut io::stderr(), &format!("panic at {location}"));
    }
}

/// Sends what is printed to stdout to stderr from now on, and gives back the way to the real one.
fn divert_stdout() -> io::Result<File> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(stdout))
}

/// Writes a line for the operator. A failure to write is ignored.
fn log(stderr: &mut impl Write, message: &str) {
    let _ = writeln!(stderr, "[odb-sdk] {message}");
}
