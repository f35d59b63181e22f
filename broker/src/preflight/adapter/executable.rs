//! The service adapter: that it can be started, and describes its plans where it has to.

use std::{
    env::consts::ARCH,
    ffi::OsString,
    fs::File,
    io::{self, Read},
    path::Path,
};

use odb_api_types::code::Code;
use odb_config::Adapter;
use odb_core::finding::Finding;
use odb_engine_bosh::adapter::ServiceAdapter;

use crate::preflight::{
    adapter,
    chart::{Chart, Probe, Subject},
    context::{BECAUSE_OF_ERRORS, Context, FILE_HAS_ERRORS, timed},
};

const KEY: &str = "service_adapter.path";
/// More than any first line with an interpreter.
const START: usize = 512;
/// The magic number of a Linux executable, and the position of its processor.
const ELF: &[u8] = b"\x7fELF";
const MACHINE: std::ops::Range<usize> = 18..20;

/// Checks the executable, and requests schemas if they are on. No other call is possible without an order.
pub(crate) async fn look(
    context: &Context<'_>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Chart {
    let Some(adapter) = context.adapter else {
        return context.left_out(Subject::Adapter, FILE_HAS_ERRORS);
    };
    let mut chart = context.chart(Subject::Adapter);
    let path = adapter.path.display();
    if let Some((came, remedy)) = unusable(&adapter.path) {
        let tried = format!("to look at `{path}`");
        let finding = Finding::tried(Code::AdapterStart, Some(KEY), tried, came, remedy);
        chart.found(Probe::Executable, None, finding);
    } else {
        chart.fine(Probe::Executable, None, format!("`{path}`"));
        schemas(context, adapter, environment, &mut chart).await;
    }
    chart
}

async fn schemas(
    context: &Context<'_>,
    adapter: &Adapter,
    environment: impl Iterator<Item = (OsString, OsString)>,
    chart: &mut Chart,
) {
    if !adapter.plan_schemas {
        return chart.not_asked(Probe::Schemas, "`broker.enable_plan_schemas` is off");
    }
    let (Some(offering), Some(broker)) = (context.offering, context.broker) else {
        return chart.not_asked(Probe::Schemas, BECAUSE_OF_ERRORS);
    };
    let process = ServiceAdapter::new(adapter, &broker.timings, environment);
    let limit = context.timeouts.work().deadline.remaining();
    let asked = adapter::schemas(adapter, offering, limit, &process);
    let (outcome, took) = timed(asked).await;
    let Err(errors) = outcome else {
        let text = format!("of {} plans", offering.plans.len());
        return chart.fine(Probe::Schemas, took, text);
    };
    for error in errors {
        let finding = Finding {
            tried: "`generate-plan-schemas` for each plan".to_owned(),
            found: error.found_because(),
            cause: String::new(),
            ..error
        };
        chart.found(Probe::Schemas, took, finding);
    }
}

/// Why it cannot be started, with the remedy. The file's existence and mode are checked with the configuration.
fn unusable(path: &Path) -> Option<(String, String)> {
    let start = match start_of(path) {
        Ok(start) => start,
        // An executable file may be unreadable.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
        Err(error) => {
            return Some((
                format!("it cannot be read: {error}"),
                format!("give a readable executable by `{KEY}`"),
            ));
        }
    };
    if let Some(rest) = start.strip_prefix(b"#!") {
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let interpreter = line.split_whitespace().next().unwrap_or_default();
        let wrong = format!("its interpreter `{interpreter}` is not there");
        let remedy =
            "install the interpreter on this machine, or correct the first line of the adapter";
        let is_there = Path::new(interpreter).is_file();
        return (!is_there).then(|| (wrong, remedy.to_owned()));
    }
    if !start.starts_with(ELF) {
        let wrong = "it is neither an executable of this operating system nor a script with an interpreter (`#!`)";
        return Some((wrong.to_owned(), format!("give an executable by `{KEY}`")));
    }
    let machine = start
        .get(MACHINE)?
        .try_into()
        .map(u16::from_le_bytes)
        .ok()?;
    let own = match ARCH {
        "x86_64" => 62,
        "aarch64" => 183,
        _ => return None,
    };
    let wrong = format!("it was built for another processor than this one (`{ARCH}`)");
    let remedy = format!("give an adapter that was built for `{ARCH}`");
    (machine != own).then_some((wrong, remedy))
}

fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?
        .take(START as u64)
        .read_to_end(&mut start)?;
    Ok(start)
}
