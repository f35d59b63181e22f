//! Runs an adapter as the protocol wants it (`spec/contracts/adapter-protocol.md`, "Calling an
//! adapter"): arguments and stdin in, stdout for the answer or a message to the platform user,
//! stderr for the operator, one exit code.

use std::any::Any;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use serde::Serialize;

use crate::protocol::{AdapterInput, Call, ExitCode, Subcommand, UnknownSubcommand};
use crate::secrets::has_placeholders;
use crate::{Adapter, AdapterError};

const SECRETS_DROPPED: &str = "the manifest has placeholders `((odb_secret:…))`, and their secrets do not reach a broker that passes arguments";

/// The one argument that is no subcommand.
pub const VERSION_OPTION: &str = "--version";

/// The name and version of the package that it is written in, such as `my-adapter 1.2.0`.
#[macro_export]
macro_rules! version {
    () => {
        concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"))
    };
}

/// Longest input that is read, in bytes.
pub const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// Runs an adapter in this process, with its arguments and streams; `main` returns what this does.
///
/// Stdout is kept for the answer: what the adapter or a library prints there goes to stderr. A
/// panic is reported with its place and without its message, which may hold values.
///
/// `version` is the answer to `--version`: [`version!`](crate::version!) is that of the package.
pub fn run(adapter: &impl Adapter, version: &str) -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    run_with_arguments(adapter, version, &arguments)
}

/// Runs an adapter like [`run`], on arguments that the program has sorted out: the subcommand and
/// what follows it.
pub fn run_with_arguments(
    adapter: &impl Adapter,
    version: &str,
    arguments: &[String],
) -> std::process::ExitCode {
    if let [option] = arguments
        && option == VERSION_OPTION
    {
        return print_version(version);
    }
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

/// Answers [`VERSION_OPTION`]. A program that reads its settings before it calls [`run`] answers it earlier.
pub fn print_version(version: &str) -> std::process::ExitCode {
    match writeln!(io::stdout(), "{version}") {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

/// Runs an adapter on the given arguments, those after the program's name, and streams.
pub fn execute(
    adapter: &impl Adapter,
    arguments: &[String],
    stdin: impl Read,
    stdout: &mut impl Write,
    stderr: &mut impl Write,
) -> ExitCode {
    let outcome = match requested(adapter, arguments, stderr) {
        Ok((subcommand, rest)) => answered(adapter, subcommand, rest, stdin, stderr)
            .map_err(|error| (error.exit_code(subcommand), error)),
        Err(error) => Err((ExitCode::Failure, error)),
    };
    let (text, code) = match outcome {
        Ok(answer) => (answer, ExitCode::Success),
        Err((code, error)) => {
            log(stderr, &error.operator_message());
            (error.user_message().unwrap_or_default().to_owned(), code)
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

/// The subcommand that is asked for, and the arguments after it.
fn requested<'a>(
    adapter: &impl Adapter,
    arguments: &'a [String],
    stderr: &mut impl Write,
) -> Result<(Subcommand, &'a [String]), AdapterError> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(format!("no subcommand; {}", implemented(adapter)).into());
    };
    log(stderr, &format!("handling {name}"));
    let subcommand = name
        .parse()
        .map_err(|error: UnknownSubcommand| format!("{error}; {}", implemented(adapter)))?;
    Ok((subcommand, rest))
}

fn answered(
    adapter: &impl Adapter,
    subcommand: Subcommand,
    rest: &[String],
    stdin: impl Read,
    stderr: &mut impl Write,
) -> Result<String, AdapterError> {
    if !adapter.subcommands().contains(&subcommand) {
        return Err(AdapterError::not_implemented());
    }
    let (form, call) = if rest.is_empty() {
        (Form::Stdin, call_from_stdin(subcommand, stdin)?)
    } else {
        (Form::Arguments, Call::from_arguments(subcommand, rest)?)
    };
    let answer = panic::catch_unwind(AssertUnwindSafe(|| answer(adapter, call, form)))
        .unwrap_or_else(|payload| Err(panicked(payload)))?;
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

fn call_from_stdin(subcommand: Subcommand, stdin: impl Read) -> Result<Call, AdapterError> {
    let mut document = String::new();
    let length = stdin
        .take(MAX_INPUT + 1)
        .read_to_string(&mut document)
        .map_err(|error| format!("could not read stdin: {error}"))?;
    if length as u64 > MAX_INPUT {
        return Err(format!("the input is longer than {MAX_INPUT} bytes").into());
    }
    Ok(AdapterInput::read(&document, subcommand)?)
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
