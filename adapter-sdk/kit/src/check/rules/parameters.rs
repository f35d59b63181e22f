//! The users' parameters.

rules! {
    FORGOTTEN: Error "U-01" "what the user chose is lost with the next update or upgrade",
        why: "parameters are sent once and never again; the user's choice turns back into the default, and updates are blocked by pending changes",
        remedy: "take each value from the parameter, else from the previous manifest, else from the plan, else from a default",
        section: "What an author must do";

    VALID_REFUSED: Error "U-02" "valid parameters are refused",
        why: "users cannot order what the documentation offers",
        remedy: "accept them, or remove them from the check's inputs",
        section: "Request parameters";

    INVALID_ACCEPTED: Error "U-03" "unknown or malformed parameters are accepted",
        why: "a typo is accepted silently, and the user does not get what the parameters ask for",
        remedy: "refuse what is not known or has the wrong type, by name",
        section: "What an author must do";

    REFUSED_WITHOUT_TEXT: Error "U-04" "parameters are refused without a text that helps the user",
        why: "the user does not learn what to change, and asks the operator about their own mistake",
        remedy: "print one sentence on stdout that names the parameter and what it expects, and exit with 1",
        section: "Exit codes";

    NOT_AS_EXPECTED: Error "U-05" "a parameter does not have the effect that the check's inputs expect",
        why: "users do not get what they ordered",
        remedy: "write the parameter's value where the job reads it",
        section: "Request parameters";

    PLAN_CHANGE: Error "U-06" "a change of plan does not end as the check's inputs expect",
        why: "users cannot move to the plan that they need, or lose data by moving to one that they must not",
        remedy: "compare `plan` with `previous_plan`; refuse what would lose data, with a text for the user",
        section: "What an author must do";
}
