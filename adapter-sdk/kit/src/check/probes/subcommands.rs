use odb_adapter_sdk::protocol::ExitCode;

use crate::check::report::Area;
use crate::check::rules::process;
use crate::check::session::{Manners, Session};
use crate::process::ProcessCall;

/// Calls the adapter without a subcommand, and with an unknown one.
pub(in crate::check) fn check_subcommands(session: &mut Session<'_>) {
    session.begin(Area::Subcommands);
    let none = ProcessCall::of(Vec::new());
    let unknown = ProcessCall::of(vec!["odb-adapter-check-unknown".to_owned()]);
    for (what, call) in [("no subcommand", none), ("an unknown subcommand", unknown)] {
        let Some(called) = session.call(None, what, call, Manners::Rough) else {
            continue;
        };
        let is_refused = matches!(called.code, ExitCode::Failure | ExitCode::Other(_));
        if !is_refused {
            let detail = format!("it ends with exit code {}", called.code.code());
            session.find(
                &process::ACCEPTS_ANY_SUBCOMMAND,
                what,
                detail,
                Some(called.id),
            );
        }
    }
}
