//! Errands: list, run.

use actix_web::{
    HttpRequest, HttpResponse,
    http::StatusCode,
    web::{Bytes, Data, Path},
};
use serde_json::{Value, json};

use super::{
    Rejection, answer,
    caller::Caller,
    submission::{Submission, context_id, deployment, submit},
};
use crate::director::{
    Director,
    deploy::{AfterErrand, ErrandOrder, RunWhen, errand_names},
    tasks::{TaskKind, Work},
};

pub(super) async fn list(
    director: Data<Director>,
    caller: Caller,
    name: Path<String>,
) -> Result<HttpResponse, Rejection> {
    let (_, row) = deployment(&director, name.into_inner())?;
    caller.may_read(&row)?;
    let names = errand_names(&director, &row).map_err(Rejection::Planning)?;
    let shown: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    Ok(answer::json_as_html(StatusCode::OK, &shown))
}

/// Starts an errand. Whether there is one of this name, the task will find out.
pub(super) async fn run(
    request: HttpRequest,
    director: Data<Director>,
    caller: Caller,
    path: Path<(String, String)>,
    body: Bytes,
) -> Result<HttpResponse, Rejection> {
    let (name, errand) = path.into_inner();
    let (name, row) = deployment(&director, name)?;
    caller.may_change(&row)?;
    let options: Value = serde_json::from_slice(&body).map_err(|_| Rejection::Unreadable)?;
    let is_set = |key: &str| options.get(key).and_then(Value::as_bool).unwrap_or(false);
    let selectors = options
        .get("instances")
        .cloned()
        .unwrap_or_else(|| json!([]));
    let order = ErrandOrder {
        errand: errand.clone(),
        selectors: serde_json::from_value(selectors).map_err(|_| Rejection::Unreadable)?,
        vms: if is_set("keep-alive") {
            AfterErrand::KeepVms
        } else {
            AfterErrand::DeleteVms
        },
        when: if is_set("when-changed") {
            RunWhen::Changed
        } else {
            RunWhen::Always
        },
    };
    let submission = Submission {
        kind: TaskKind::RunErrand,
        description: format!("run errand {errand} from deployment {name}"),
        deployment: name,
        teams: row.teams.clone(),
        context_id: context_id(&request)?,
        work: Work::RunErrand(order),
    };
    submit(&director, &request, caller, submission)
}
