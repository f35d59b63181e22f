use odb_adapter_sdk::protocol::ExitCode;

use super::report::Area;
use super::rules::process;
use super::session::{Manners, Session};
use crate::process::ProcessCall;

impl Session<'_> {
    /// Calls the adapter without a subcommand, and with one that there is not.
    pub(super) fn check_subcommands(&mut self) {
        self.begin(Area::Subcommands);
        let none = ProcessCall::of(Vec::new());
        let unknown = ProcessCall::of(vec!["odb-adapter-check-unknown".to_owned()]);
        for (what, call) in [("no subcommand", none), ("an unknown subcommand", unknown)] {
            let Some(called) = self.call(None, what, call, Manners::Rough) else {
                continue;
            };
            let is_refused = matches!(called.code, ExitCode::Failure | ExitCode::Other(_));
            if !is_refused {
                let detail = format!("it ends with exit code {}", called.code.code());
                self.find(
                    &process::ACCEPTS_ANY_SUBCOMMAND,
                    what,
                    detail,
                    Some(called.id),
                );
            }
        }
    }
}
