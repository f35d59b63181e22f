//! A terminal at which commands of the command line are typed: each is the calls that it makes.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use reqwest::Method;
use serde_json::Value;

use crate::{
    client::Api,
    platform::{Platform, eventually},
};

/// One call of a command. `{name}` in it is replaced by a value of an earlier answer.
pub(super) struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
    status: u16,
    reads: Vec<(&'static str, Value)>,
    keeps: Vec<(&'static str, &'static str)>,
    follows: bool,
}

fn call(method: Method, path: &str, body: Option<Value>, status: u16) -> Call {
    Call {
        method,
        path: path.to_owned(),
        body,
        status,
        reads: Vec::new(),
        keeps: Vec::new(),
        follows: false,
    }
}

pub(super) fn get(path: &str) -> Call {
    call(Method::GET, path, None, 200)
}

pub(super) fn post(path: &str, body: Value) -> Call {
    call(Method::POST, path, Some(body), 201)
}

/// A change that is done at once.
pub(super) fn patch(path: &str, body: Value) -> Call {
    call(Method::PATCH, path, Some(body), 200)
}

/// A removal that is done at once.
pub(super) fn delete(path: &str) -> Call {
    call(Method::DELETE, path, None, 204)
}

impl Call {
    /// A job carries the change out: 202, and the job is followed to its end.
    pub(super) fn in_a_job(mut self) -> Self {
        self.status = 202;
        self.follows = true;
        self
    }

    pub(super) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The answer has this here.
    pub(super) fn reads(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.reads.push((pointer, value.into()));
        self
    }

    /// Keeps a value of the answer under this name.
    pub(super) fn keeps(mut self, name: &'static str, pointer: &'static str) -> Self {
        self.keeps.push((name, pointer));
        self
    }
}

/// A terminal at which commands are typed.
pub(super) struct Terminal {
    api: Api,
    url: String,
    kept: BTreeMap<&'static str, String>,
}

impl Terminal {
    pub(super) fn of(platform: &Platform, api: &Api) -> Self {
        Self {
            api: api.clone(),
            url: platform.url.clone(),
            kept: BTreeMap::from([
                ("space", platform.space.clone()),
                ("org", platform.organization.clone()),
            ]),
        }
    }

    pub(super) async fn plays(&mut self, command: &str, calls: impl IntoIterator<Item = Call>) {
        for call in calls {
            let path = self.filled(&call.path);
            let body = call.body.map(|body| self.filled(&body.to_string()));
            let what = format!("`{command}`: {} {path}", call.method);
            let answer = self.api.send(call.method, &encoded(&path), body).await;
            assert_eq!(
                answer.status.as_u16(),
                call.status,
                "{what}: {}",
                answer.body
            );
            if call.status == 204 {
                assert_eq!(answer.body, "", "{what} has no body");
            } else if call.status != 202 {
                assert_eq!(
                    answer.header("content-type"),
                    "application/json; charset=utf-8",
                    "{what}"
                );
            }
            if answer.body.get("resources").is_some() {
                self.checks_the_page(&what, &answer.body);
            }
            for (pointer, wanted) in call.reads {
                let wanted: Value =
                    serde_json::from_str(&self.filled(&wanted.to_string())).unwrap();
                let there = answer.body.pointer(pointer);
                assert_eq!(there, Some(&wanted), "{what} at {pointer}: {}", answer.body);
            }
            for (name, pointer) in call.keeps {
                let there = answer.body.pointer(pointer).and_then(Value::as_str);
                self.kept.insert(name, there.expect(&what).to_owned());
            }
            if call.follows {
                self.follows(&what, &answer.location()).await;
            }
        }
    }

    fn checks_the_page(&self, what: &str, body: &Value) {
        let pagination = &body["pagination"];
        assert!(
            pagination["total_pages"].as_u64().unwrap() >= 1,
            "{what}: {pagination}"
        );
        assert_eq!(pagination.get("next"), Some(&Value::Null), "{what}");
        let first = pagination["first"]["href"].as_str().unwrap();
        assert!(first.starts_with(&self.url), "{what}: {first}");
    }

    /// Polls a job as the command line does: at once, at its unchanged `Location`.
    async fn follows(&self, what: &str, location: &str) {
        assert!(
            location.starts_with(&format!("{}/v3/jobs/", self.url)),
            "{what}: `{location}` is not absolute"
        );
        let job = eventually("the job ends", async || {
            let job = self.api.get(location).await.body;
            ["COMPLETE", "FAILED"]
                .contains(&job["state"].as_str().unwrap())
                .then_some(job)
        })
        .await;
        assert_eq!(job["state"], "COMPLETE", "{what}: {job}");
        assert_eq!(job["links"]["self"]["href"], location, "{what}");
        assert!(job["warnings"].is_array() && job["errors"].is_array());
    }

    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.kept {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }
}

/// The query as the command line sends it: brackets and commas percent-encoded.
fn encoded(path: &str) -> String {
    const SEPARATORS: &AsciiSet = &CONTROLS.add(b'[').add(b']').add(b',').add(b' ');
    let Some((path, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let pairs: Vec<_> = query
        .split('&')
        .map(|pair| utf8_percent_encode(pair, SEPARATORS).to_string())
        .collect();
    assert!(
        pairs.is_sorted_by_key(|pair| pair.split_once('=').map(|(key, _)| key.to_owned())),
        "{query} is not in the order of the command line"
    );
    format!("{path}?{}", pairs.join("&"))
}
