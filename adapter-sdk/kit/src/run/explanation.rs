use odb_adapter_sdk::protocol::{ExitCode, Subcommand};
use serde::Serialize;

use crate::process::End;

/// The result of a call (`spec/contracts/adapter-protocol.md`, "Exit codes").
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Explanation {
    /// The broker's reaction.
    pub(super) broker: String,
    /// The user's view.
    pub(super) user: String,
}

/// The message of a failing adapter for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserText {
    /// Something, on stdout.
    Some,
    /// Nothing: stdout was empty.
    None,
}

const GENERIC: &str = "that the operation failed, and an id to quote; the operator finds stderr in the log under this id";

/// A call that gave an answer which a broker takes.
pub(super) fn answered(subcommand: Subcommand) -> Explanation {
    let (broker, user) = match subcommand {
        Subcommand::GenerateManifest => (
            "stores secrets and configs and hands the manifest to the Director",
            "that the operation is in progress",
        ),
        Subcommand::CreateBinding => ("hands the credentials on", "the credentials"),
        Subcommand::DeleteBinding => ("has nothing left to do", "that the binding does not exist"),
        Subcommand::DashboardUrl => ("hands the address on", "the address"),
        Subcommand::GeneratePlanSchemas => (
            "shows the schemas in the catalog and validates parameters with them",
            "the schemas",
        ),
    };
    explanation(broker, user)
}

/// A call that ended well and gave no answer that a broker could use.
pub(super) fn not_understood(why: &str) -> Explanation {
    explanation(format!("fails the operation: {why}"), GENERIC)
}

/// A call that ended otherwise.
pub(super) fn failed(subcommand: Subcommand, end: End, text: UserText) -> Explanation {
    let End::Exited(code) = end else {
        return explanation(
            format!("fails the operation: the adapter {end}"),
            what_the_user_reads(text),
        );
    };
    match (code, subcommand) {
        (ExitCode::NotImplemented, Subcommand::DashboardUrl) => {
            explanation("continues without a dashboard", "nothing of it")
        }
        (ExitCode::NotImplemented, Subcommand::GeneratePlanSchemas) => explanation(
            "cannot use the adapter with `enable_plan_schemas`: it refuses to start, the Go broker fails with the first catalog",
            "no catalog",
        ),
        (ExitCode::NotImplemented, _) => explanation(
            format!("fails the operation, for which it needs `{subcommand}`"),
            GENERIC,
        ),
        (ExitCode::BindingNotFound, Subcommand::DeleteBinding) => explanation(
            "answers 410: the binding does not exist",
            "that the binding does not exist",
        ),
        (ExitCode::AppGuidRequired, Subcommand::CreateBinding) => explanation(
            "answers 422 `RequiresApp`",
            "that the service can be bound to applications only",
        ),
        (ExitCode::BindingExists, Subcommand::CreateBinding) => {
            explanation("answers 409", "that the binding already exists")
        }
        (ExitCode::BindingNotFound | ExitCode::AppGuidRequired | ExitCode::BindingExists, _) => {
            explanation(
                format!(
                    "fails the operation: code {} is not for `{subcommand}`; the Go broker answers as if it were",
                    code.code()
                ),
                what_the_user_reads(text),
            )
        }
        _ => explanation("fails the operation", what_the_user_reads(text)),
    }
}

const fn what_the_user_reads(text: UserText) -> &'static str {
    match text {
        UserText::Some => "stdout, as it is",
        UserText::None => GENERIC,
    }
}

fn explanation(broker: impl Into<String>, user: impl Into<String>) -> Explanation {
    Explanation {
        broker: broker.into(),
        user: user.into(),
    }
}

#[cfg(test)]
mod tests {
    use odb_adapter_sdk::protocol::{ExitCode, Subcommand};

    use super::{UserText, failed};
    use crate::process::End;

    fn broker(subcommand: Subcommand, code: ExitCode) -> String {
        failed(subcommand, End::Exited(code), UserText::None).broker
    }

    #[test]
    fn a_code_means_what_it_means_for_its_own_subcommand_only() {
        use ExitCode as E;
        use Subcommand as S;
        assert!(broker(S::DeleteBinding, E::BindingNotFound).contains("410"));
        assert!(broker(S::CreateBinding, E::BindingExists).contains("409"));
        assert!(broker(S::CreateBinding, E::AppGuidRequired).contains("RequiresApp"));
        assert!(broker(S::CreateBinding, E::BindingNotFound).contains("is not for"));
        assert!(broker(S::GenerateManifest, E::BindingExists).contains("is not for"));
        assert!(broker(S::DashboardUrl, E::NotImplemented).contains("without a dashboard"));
        assert!(broker(S::CreateBinding, E::NotImplemented).contains("fails"));
    }

    #[test]
    fn users_read_stdout_where_there_is_any() {
        let read = |end, text| failed(Subcommand::GenerateManifest, end, text).user;
        let failure = End::Exited(ExitCode::Failure);
        assert!(read(failure, UserText::Some).contains("stdout"));
        assert!(read(failure, UserText::None).contains("operator"));
        assert!(read(End::Signalled(11), UserText::None).contains("operator"));
    }
}
