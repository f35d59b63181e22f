//! The adapter's lines on stderr, which the broker copies to its log: shown once the call is known to have failed.

use std::collections::VecDeque;

use serde_json::{Map, Value};

/// How many lines are kept of calls in progress.
const LINES: usize = 200;

/// The prefix of the codes of adapter failures (`docs/operators/reference/errors.md`).
const FAILURES: &str = "ODB-30";

const ANSWERED: &str = "request answered";

/// The adapters' lines in requests without an answer yet.
#[derive(Debug, Default)]
pub(super) struct AdapterWords {
    said: VecDeque<Words>,
}

#[derive(Debug)]
struct Words {
    /// Empty for the broker's own calls, as at its start.
    request: String,
    text: String,
}

impl AdapterWords {
    /// Records a line of the broker's log. If it reports a failed adapter, returns the adapter's lines.
    pub(super) fn note(&mut self, line: &Map<String, Value>) -> Vec<String> {
        let request = request(line);
        if let Some(text) = of_adapter(line) {
            if self.said.len() == LINES {
                self.said.pop_front();
            }
            let (request, text) = (request.to_owned(), text.to_owned());
            self.said.push_back(Words { request, text });
            return Vec::new();
        }
        let has_failed = if request.is_empty() {
            word(line, "level") == "ERROR"
        } else {
            word(line, "code").starts_with(FAILURES)
        };
        if has_failed {
            return self.take(request);
        }
        if word(line, "message") == ANSWERED {
            self.take(request);
        }
        Vec::new()
    }

    fn take(&mut self, request: &str) -> Vec<String> {
        let mut taken = Vec::new();
        self.said.retain(|words| {
            let is_wanted = words.request == request;
            if is_wanted && !taken.contains(&words.text) {
                taken.push(words.text.clone());
            }
            !is_wanted
        });
        taken
    }
}

/// The adapter's text in a line of the broker's log, if it is such a line.
pub(super) fn of_adapter(line: &Map<String, Value>) -> Option<&str> {
    line.get("adapter.stderr").and_then(Value::as_str)
}

/// The id of the request in which the line was written.
fn request(line: &Map<String, Value>) -> &str {
    word(line, "request.id")
}

fn word<'l>(line: &'l Map<String, Value>, name: &str) -> &'l str {
    line.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn note(words: &mut AdapterWords, request: &str, line: Value) -> Vec<String> {
        let Value::Object(mut line) = line else {
            panic!("lines are objects");
        };
        line.insert("request.id".to_owned(), request.into());
        words.note(&line)
    }

    #[test]
    fn the_words_of_the_call_that_failed_are_reported_and_those_of_no_other() {
        let mut words = AdapterWords::default();
        let says = |text: &str| json!({"level": "INFO", "adapter.stderr": text});
        let failed = || json!({"level": "ERROR", "code": "ODB-3003"});
        for (request, text) in [("one", "a"), ("two", "b"), ("one", "c"), ("one", "a")] {
            assert!(note(&mut words, request, says(text)).is_empty());
        }

        assert_eq!(note(&mut words, "one", failed()), ["a", "c"]);
        assert!(note(&mut words, "one", failed()).is_empty());
        let answered = json!({"level": "INFO", "message": "request answered"});
        assert!(note(&mut words, "two", answered).is_empty());
        assert!(note(&mut words, "two", failed()).is_empty());
    }

    #[test]
    fn a_failure_that_is_not_the_adapters_reports_nothing_of_it() {
        let mut words = AdapterWords::default();
        note(&mut words, "one", json!({"adapter.stderr": "all is well"}));

        let failed = json!({"level": "ERROR", "code": "ODB-4001"});

        assert!(note(&mut words, "one", failed).is_empty());
    }
}
