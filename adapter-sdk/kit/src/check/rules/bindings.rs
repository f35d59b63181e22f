//! Bindings and dashboards.

rules! {
    BINDING_FAILS: Error "B-01" "a binding cannot be created",
        why: "applications cannot use the service",
        remedy: "make `bosh_vms`, `parameters` and secrets in the check's inputs match what a broker sends; stderr names what is missing",
        section: "What an author must do";

    NO_CREDENTIALS: Error "B-02" "a binding has no credentials, or not those that are expected",
        why: "the application starts and finds nothing to connect to",
        remedy: "answer with `credentials`, an object, or with one of the URLs that replace it",
        section: "stdout";

    BINDING_OUTCOME: Error "B-03" "a binding does not end with the exit code that the check's inputs expect",
        why: "the platform maps 49 to 409, 42 to 422 and 41 to 410, and acts on those",
        remedy: "exit with 49 for a binding that exists, 42 for a missing app GUID, 41 for a binding to delete that does not exist",
        section: "Exit codes";

    UNBINDING_FAILS: Error "B-04" "a binding cannot be deleted",
        why: "the binding stays in the platform, and the service instance cannot be deleted",
        remedy: "delete what `create-binding` made, by the binding id; succeed where there is nothing to do",
        section: "What an author must do";

    DASHBOARD_FAILS: Error "B-05" "the dashboard's address cannot be requested",
        why: "an order whose dashboard fails is rejected",
        remedy: "answer with an address from the instance id, plan and manifest alone, or exit with 10",
        section: "Exit codes";

    WRONG_DASHBOARD: Error "B-06" "the dashboard's address is none",
        why: "the platform shows it as a link that leads nowhere",
        remedy: "answer with an absolute `https://` address",
        section: "stdout";
}
